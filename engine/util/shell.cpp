#include "engine/util/shell.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <unistd.h>

#include "engine/util/environment.hpp"

namespace fa_tune {
namespace {

constexpr const char* kName = "fa-tune";

std::string& name() {
  static std::string instance = kName;
  return instance;
}

// What a shell starts for "fa-tune"; empty if nothing.
std::filesystem::path found_on_path() {
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = std::filesystem::path(folder.empty() ? "." : folder) / kName;
    std::error_code error;
    if (access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, error))
      return file;
  }
  return {};
}

}  // namespace

void set_program_name(const std::string& typed) {
  std::error_code error;
  const auto found = found_on_path();
  const bool same = !found.empty() && std::filesystem::equivalent(found, typed, error) && !error;
  name() = same || typed.empty() ? kName : shell_word(typed);
}

const std::string& program_name() { return name(); }

std::string shell_word(const std::string& text) {
  const auto harmless = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/' || c == ':' ||
           c == ',' || c == '+' || c == '=' || c == '@';
  };
  if (!text.empty() && std::ranges::all_of(text, harmless)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace fa_tune
