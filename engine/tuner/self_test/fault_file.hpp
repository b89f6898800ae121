#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernel/template/template.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::tuner {

// A change of a template's text, made after its includes were made flat, or of its manifest, that
// makes a wrong kernel of it.
struct PlantedFault {
  std::string name;
  std::string kind;    // "rescale", "mask", "barrier", ...: an identifier, for counting
  bool cheat = false;  // made to look correct or fast, rather than a slip
  // False if it cannot be built at all, which shows that a cheat is impossible. Every other fault
  // that does not build is a mistake of the fault file.
  bool builds = true;
  std::string says;  // a word that a device which checks must give as its reason; may be empty
  std::vector<std::pair<std::string, std::string>> changes;           // each found exactly once
  std::vector<std::pair<std::string, std::string>> manifest_changes;  // in the same way
  std::string append;                                                 // behind the changed text
  Config config;                                       // complete: the template's base with changes
  std::vector<std::pair<std::string, Value>> problem;  // settings, over those of the space
  Mark mark;
};

// The faults that prove the gate for one template: `faults/` beside its manifest, under the same
// name.
//
//   problem: {shape: {B: 1, H: 2, Lq: 96, Lk: 80}, causal: false}   # over the space's settings
//   base: {BLOCK_M: 32, BLOCK_N: 32, WARPS: 4}                      # a config of the template
//   faults:
//     - name: end mask off by one
//       kind: mask
//       change: [{from: "key >= lk", to: "key > lk"}]
//       config: {BLOCK_N: 64}                                       # over `base`
//       problem: {causal: true}                                     # over `problem`
//     - name: a step left out
//       kind: order
//       manifest: [{from: "  - {set: counts, value: 0}", to: ""}]  # with `change`, or in its place
//   cheats:                                                         # the same form
//     - {name: ..., kind: ..., change: ..., append: ..., builds: false}
//
// Throws UserError with file, line and column.
std::vector<PlantedFault> parse_fault_file(const std::string& text,
                                           const std::filesystem::path& path,
                                           const std::string& template_name);

// The place of a manifest's fault file, whether there is one or not.
std::filesystem::path fault_file_of(const std::filesystem::path& manifest);

// The template with the fault in it. Throws UserError at the fault's place if a text to change is
// not there exactly once: a fault whose place has moved must be noticed.
kernel::Template plant(const kernel::Template& sound, const PlantedFault& fault);

}  // namespace fa_tune::tuner
