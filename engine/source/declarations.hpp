#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::source {

// What a CUDA text declares, as far as it can be seen without its grammar and without expanding
// macros. In one pass; the text may be a stranger's, of any length. Lines are counted from 1.

struct KernelDeclaration {
  std::string name;
  int line = 0;
  std::string parameters;  // what stands between its parentheses, comments and line ends gone
  // How many there are; nothing where a macro or a directive among them may make others.
  std::optional<std::size_t> count = {};
  bool is_template = false;
};

// Where the text names something that a kernel cannot have as it is.
struct Use {
  std::string name;
  int line = 0, column = 0;
  bool conditional = false;  // between #if and #endif, so that not every config may have it
};

struct Declarations {
  // Those of __global__ functions, in the text's order.
  std::vector<KernelDeclaration> kernels;
  // Names in `template <...>` lists, where each is first.
  std::map<std::string, int> template_parameters;
  std::map<std::string, int> macros;  // by #define, where each is first
  // Of each macro the names in whose #ifndef it is defined there; nothing for another #if.
  std::map<std::string, std::vector<std::string>> unless;
  std::map<std::string, int> conditions;  // words of #if, #elif, #ifdef and #ifndef lines
  std::set<std::string> undefined;        // by #undef
  std::set<std::string> includes;         // what is named, without < > or quotes
  // A texture or a surface: the first that is not conditional, else the first.
  std::optional<Use> texture;
  // `this_grid` or `grid_group` of cooperative groups, where something is called `sync` behind it.
  std::optional<Use> grid_sync;
  // Whether a macro may make kernels that are not among those above: its text names __global__ or
  // pastes words, or one is what stands where a kernel's name would.
  bool may_hide_kernels = false;
};

Declarations declarations(std::string_view text);

}  // namespace fa_tune::source
