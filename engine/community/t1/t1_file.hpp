#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "engine/space/space.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::community {

// A T1 file, the autotuning community's format for a tuning problem:
//
//   {"General": {"BenchmarkName": "hotspot"},
//    "ConfigurationSpace": {
//      "TuningParameters": [
//        {"Name": "block_size_x", "Type": "int", "Values": "[2**i for i in range(5, 11)]",
//         "Default": 32}, ...],
//      "Conditions": [
//        {"Expression": "32 <= block_size_x * block_size_y <= 1024", "Parameters": [...]}, ...]},
//    "KernelSpecification": {"KernelName": ..., "KernelFile": ..., ...}}
//
// Its space is read, and what it says of the kernel for people; the kernel itself is not needed.
// Values may be an expression (python_expression.hpp) or a JSON list, conditions may be missing or
// stand as plain text, and names in conditions that are no parameters are looked up among the
// numbers of BenchmarkConfig. Where every parameter has a Default and together they are valid, they
// are the preset 'default'.
struct T1File {
  std::filesystem::path path;
  space::SpaceParts parts;
  std::string benchmark;  // these three as the file says, may be empty
  std::string kernel_name;
  std::string kernel_file;
  std::map<std::string, std::int64_t> config_numbers;  // the whole ones of BenchmarkConfig
};

// Whether a text is meant as a T1 file: a JSON object with a ConfigurationSpace.
bool looks_like_t1(const std::string& text);

// Throws UserError with line and column for whatever does not fit.
T1File parse_t1(const std::string& text, const std::filesystem::path& path);

// What a T1 file says of one argument of its kernel, as a space of ours says it. Throws UserError
// with the place of what does not fit.

// The value of `key`, nothing where it is missing or null.
const YamlNode* t1_given(const YamlNode& map, std::string_view key);
// "f32" for float, float32 or float*, "u8" for uint8.
std::string t1_type(const YamlNode& node);
// Whether a type is an integer, or bool.
bool t1_is_whole(const std::string& type);
// The text of a number of a type, which may stand in quotes.
std::string t1_number(const YamlNode& node, const std::string& type);
// "{uniform: [0, 2]}": what an argument's FillType and FillValue ask for.
std::string t1_fill(const YamlNode& argument, const std::string& type);

}  // namespace fa_tune::community
