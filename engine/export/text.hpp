#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace fa_tune::exports {

// Names and messages come from strangers: whatever they hold, they end up within the comment or the
// string that they are written into.

// One line of printable ASCII that ends no comment of C++ or Python and joins no lines.
std::string comment_text(std::string_view text);

// Lines of at most 100 columns, each behind `mark` ("# ", "// ").
std::string comment_lines(std::string_view text, std::string_view mark);

// JSON, or the same as a literal of Python: what does not fit in a line over several, those after
// the first indented by `indent` spaces. ASCII alone.
enum class Notation { json, python };
std::string literal(const nlohmann::ordered_json& json, Notation notation, std::size_t indent = 0);

// A string literal of C++ (and of C), without the line breaks of raw ones.
std::string cxx_literal(std::string_view text);

// A file's name as one of a namespace.
std::string identifier(std::string_view name);

std::string base64(std::string_view bytes);

// What every export of a form has in common, as it stands in python/ and cxx/: code that works on
// the figures that stand before it in the file.
std::string_view python_driver_part();
std::string_view python_attention_part();
std::string_view python_function_part();
std::string_view python_sizes_part();
std::string_view python_queue_part();
std::string_view cxx_launch_part();
std::string_view cxx_number_part();
std::string_view cxx_queue_part();
std::string_view cxx_dispatch_part();

}  // namespace fa_tune::exports
