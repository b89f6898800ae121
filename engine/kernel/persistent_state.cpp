#include "engine/kernel/persistent_state.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace fa_tune {
namespace {

constexpr std::string_view kKeepsState = "keeps device memory from launch to launch: ";

// The name of a variable that a line of PTX declares in global memory (PTX ISA, "State Spaces"); no
// instruction begins with a state space.
std::optional<std::string> declared_global(const std::string& line) {
  std::istringstream words(line);
  std::string word, last;
  bool global = false;
  while (words >> word && word != "=") {
    const bool linking =
        word == ".visible" || word == ".weak" || word == ".extern" || word == ".common";
    if (!global && !linking && word != ".global") return std::nullopt;
    global = global || word == ".global";
    last = word;
  }
  if (!global) return std::nullopt;
  return last.substr(0, last.find_first_of("[;="));
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

// How often a name stands in a text as a word of its own.
int mentions(std::string_view text, const std::string& name) {
  int count = 0;
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_name_character(text[at - 1]);
    if (begins && (end == text.size() || !is_name_character(text[end]))) ++count;
  }
  return count;
}

}  // namespace

std::optional<std::string> persistent_variables(std::string_view ptx) {
  std::string names;
  std::istringstream lines{std::string(ptx)};
  for (std::string line; std::getline(lines, line);) {
    const auto name = declared_global(line);
    // NVRTC declares every constexpr of a source too; those are known to the code as numbers and
    // stand in no instruction.
    if (name && mentions(ptx, *name) > 1) names += (names.empty() ? "" : ", ") + *name;
  }
  if (names.empty()) return std::nullopt;
  return names;
}

std::string keeps_state_warning(const std::string& variables) {
  return std::string(kKeepsState) + variables +
         " (a kernel under test may have no memory, and tables belong into __constant__)";
}

std::optional<std::string> keeps_state(const Compiled& compiled) {
  const auto found = std::ranges::find_if(compiled.warnings, [](const std::string& warning) {
    return warning.starts_with(kKeepsState);
  });
  if (found == compiled.warnings.end()) return std::nullopt;
  return *found;
}

}  // namespace fa_tune
