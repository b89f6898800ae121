#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::report {

// An exported variant is one .cu file that nvcc and NVRTC build alike. On top it says in comments
// where it came from; then, between two marker lines, JSON that `verify` reads back; then the body:
// the #define lines and the flat source, byte for byte what was compiled and gated.
//
// Every line above the body starts with "//", and JSON has no line breaks inside its strings, so no
// manifest, however hostile, can end the comment; "*/" is written "*\/" besides, for those who wrap
// the file in a comment of their own.

// The marker lines round the block that is read back: "// fa-tune export 1 begin". The number is
// the format's, and goes up when a reader of the old one would be misled.
inline constexpr int kExportFormat = 1;
inline constexpr std::string_view kExportMarker = "// fa-tune export ";
inline constexpr std::string_view kExportBegin = "// fa-tune export 1 begin";
inline constexpr std::string_view kExportEnd = "// fa-tune export 1 end";

// What a host passes, in the kernel's order: a name, and what it is.
using ArgumentNotes = std::vector<std::pair<std::string, std::string>>;

// One of several that are launched one after another.
struct StepFacts {
  PlannedStep step;
  std::string kernel = {};  // the function's name, where it is a kernel
  ArgumentNotes arguments = {};
};

struct ExportFacts {
  // Provenance, for a person.
  std::string version;  // of fa-tune
  std::string space;
  std::string space_hash;
  std::int64_t trial = 0;   // id
  std::int64_t number = 0;  // within the run
  std::int64_t run = 0;
  std::uint64_t seed = 0;
  std::string device;
  std::string device_name;
  std::string driver;
  std::string arch;  // "sm_89"
  std::string target;
  std::string compiler;
  std::string when;  // the trial's, UTC
  std::string stage;
  std::optional<Interval> time;  // us
  std::string time_kind;         // "measured", "predicted"
  std::string verdict;           // "passed", "failed: spill"
  std::string left_open = {};    // what its gate did not see; empty if nothing
  int gate_cases = 0;
  double worst_ratio = 0;  // error over what is allowed
  LaunchConfig launch;     // for the timed shape
  ArgumentNotes arguments;
  std::vector<StepFacts> steps = {};  // if any, these stand for the two above
  std::vector<PlannedWorkspace> workspaces = {};
  KernelResources resources;
  std::string any_size = {};  // exports::any_size_json, where it is for any sizes

  // What `verify` needs.
  std::string template_name;
  std::string manifest_text;
  std::string kernel;  // the function's name
  Config config;
  std::string problem;                                  // kind
  std::vector<std::pair<std::string, Value>> settings;  // as make_problem takes them
  Constants shape;                                      // the timed one

  std::string body;       // Source::text
  std::string code_hash;  // of what was gated and timed; not written into files
};

// The facts the store knows; left to fill in: version, launch, arguments, template_name,
// manifest_text, kernel, settings and body (unless the store has the trial's source). Throws
// UserError for an unknown trial.
ExportFacts export_facts(const db::Store& store, std::int64_t trial);

// Throws UserError where the manifest is not UTF-8 or is no manifest.
std::string export_text(const ExportFacts& facts);

struct Exported {
  std::string template_name;
  std::string manifest_text;
  std::string kernel;
  std::string arch;
  std::string target;     // the profile whose limits held
  std::string cuda_text;  // the body, its #define lines included
  std::string file;       // where that was read, and its first line there
  int body_line = 1;
  Config config;
  std::string problem;
  std::vector<std::pair<std::string, Value>> settings;
  Constants shape;
  bool edited = false;  // the body is not what was exported: a fact to tell, not an error
};

// The inverse. Throws UserError with file and line for a file that export_text did not make, is of
// another format number, or whose block between the markers was damaged.
Exported parse_exported(const std::string& text, const std::string& file);
Exported read_exported(const std::filesystem::path& path);

}  // namespace fa_tune::report
