#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/file.hpp"

namespace {

const std::string kRoot = std::string(FA_TUNE_ROOT) + "/engine/device/emulator";
const std::string kOwn = "#include \"engine/device/emulator/";

struct Include {
  std::string folder;
  std::string line;
};

// Of every source: its folder, and what it includes of the engine.
std::vector<Include> includes(int& files) {
  std::vector<Include> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    ++files;
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with("#include \"engine/")) continue;
      found.push_back({entry.path().parent_path().filename().string(), line});
    }
  }
  return found;
}

// The folders as the README's table of parts has them, the lowest first.
std::vector<std::string> folders() {
  std::istringstream readme(fa_tune::read_file(kRoot + "/README.md"));
  std::vector<std::string> names;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("## ") && !names.empty()) break;
    if (!line.starts_with("| `")) continue;
    std::istringstream words(line.substr(2, line.find('|', 2) - 2));
    for (std::string name; words >> name;) names.push_back(name.substr(1, name.rfind('`') - 1));
  }
  return names;
}

}  // namespace

// The emulator is meant to be taken out and used alone: it includes nothing of the engine but
// itself.
TEST_CASE("the emulator depends on nothing else of the engine") {
  int files = 0;
  for (const Include& each : includes(files)) {
    INFO(each.folder, ": ", each.line);
    CHECK(each.line.starts_with(kOwn));
  }
  CHECK(files > 100);
}

TEST_CASE("no folder of the emulator includes one above it") {
  const std::vector<std::string> order = folders();
  const auto level = [&](const std::string& folder) {
    return std::find(order.begin(), order.end(), folder) - order.begin();
  };
  int files = 0;
  for (const Include& each : includes(files)) {
    const std::string path = each.line.substr(kOwn.size());
    INFO(each.folder, ": ", each.line);
    CHECK(level(each.folder) < std::ssize(order));
    CHECK(level(path.substr(0, path.find('/'))) <= level(each.folder));
  }
  CHECK(order.size() > 10);
}
