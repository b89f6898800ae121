#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/source/source_lines.hpp"
#include "engine/space/space.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {

// A search space as its YAML file says it, before device facts and template manifests join it.
//
//   space: l4
//   target: l4                      # a device profile; its limits hold on every device; or auto
//   problem:                        # `kind` names the problem, the rest is its own
//     kind: attention
//     shape: {B: 1, H: 8, Lq: 512, Lk: 512, D: 64}
//     causal: false
//     dtype: fp16
//   templates:                      # name: manifest, relative to kernel_templates
//     mma: attention/mma.yaml
//     mine:                           # or the manifest itself (Template::written_out), whose
//       source: mine.cu               # source is a file of the space's own folder
//       kernel: mine
//       launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}
//   parameters:
//     BLOCK_M: [16, 32, 64, 128]
//     STAGES: {values: [1, 2, 3], when: "template == 'mma'"}
//   derived:
//     ROWS_PER_WARP: BLOCK_M / WARPS
//   constraints:
//     - BLOCK_M % 16 == 0
//     - {expr: "ROWS_PER_WARP >= 16", because: "an mma tile has 16 rows"}
//     - {python: "32 <= BLOCK_M * WARPS <= 1024"}    # as T1 files have them
//   presets:
//     fa2: {template: mma, BLOCK_M: 128}
//     wide: {when: problem.D == 128, template: mma, BLOCK_M: 64}   # for such problems alone
//   known_best:                     # timed beside a run's best, and no start: configs as presets
//     evolved: {template: mma, BLOCK_M: 64}
//   budget: {trials: 120}           # and/or minutes: 3; what `evolve` takes when not told
//   otherwise
//
// Every name in `templates` becomes a value of the first parameter, `template`. What `files` is
// for, space_files.hpp says.
struct SpaceFile {
  std::filesystem::path path;
  std::string text;  // the file as read, kept with a run
  std::string name;
  std::string target;
  Mark target_mark;
  std::string problem_kind;
  Mark problem_mark;
  // Every leaf under `problem` but `kind`, by dotted path: "shape.B" -> 1, "causal" -> false. Of a
  // custom problem one setting, `custom_text`: the text of the whole space, which it reads itself.
  std::vector<std::pair<std::string, Value>> problem_settings;
  std::vector<std::pair<std::string, std::string>> templates;
  std::map<std::string, Mark> template_marks;
  // Those whose manifest is written out: `templates` has no path for them.
  struct OwnTemplate {
    YamlNode manifest;
    std::string cuda_text;  // includes made flat
  };
  std::map<std::string, OwnTemplate> own_templates;
  source::SourceMaps source_lines;    // of sources that were read from files, for messages alone
  std::vector<Parameter> parameters;  // `template` first
  std::vector<Derived> derived;
  std::vector<Constraint> constraints;
  std::vector<Preset> presets;
  std::vector<Preset> known_best;
  std::optional<int> budget_trials;
  std::optional<double> budget_seconds;
};

// The kind of problem that a space describes itself (engine/problem/custom), and its one setting.
constexpr const char* kCustomProblem = "custom";
constexpr const char* kCustomText = "space";

// Finds NAME as given, then under root/search_spaces, with or without its .yaml. Throws UserError
// that lists the shipped spaces where there is no such file.
std::filesystem::path find_space_file(const std::string& name, const std::filesystem::path& root);
// Throws UserError with line and column for anything unexpected; an unknown key is answered with
// the nearest known one, a T1 file (t1_file.hpp) with what can be done with it.
SpaceFile load_space_file(const std::string& name, const std::filesystem::path& root);
// The same of a text that carries the files it names.
SpaceFile parse_space_file(const std::string& text, const std::filesystem::path& path);

}  // namespace fa_tune::space
