#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/file.hpp"

namespace {

const std::string root = std::string(FA_TUNE_ROOT) + "/engine/device/emulator";
const std::string own = "#include \"engine/device/emulator/";

struct Include {
  std::string folder;
  std::string line;
};

// Of every source: its folder, and what it includes of the engine.
std::vector<Include> includes(int& files) {
  std::vector<Include> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
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

// The folders as the build adds them, the lowest first.
std::vector<std::string> folders() {
  const std::string text = fa_tune::read_file(root + "/CMakeLists.txt");
  const std::string begin = "set(folders ";
  const std::size_t at = text.find(begin) + begin.size();
  std::istringstream words(text.substr(at, text.find(')', at) - at));
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

}  // namespace

// The emulator is meant to be taken out and used alone: it includes nothing of the engine but
// itself.
TEST_CASE("the emulator depends on nothing else of the engine") {
  int files = 0;
  for (const Include& each : includes(files)) {
    INFO(each.folder, ": ", each.line);
    CHECK(each.line.starts_with(own));
  }
  CHECK(files > 100);
}

// The linker sees only arrows that a symbol goes along.
TEST_CASE("no folder of the emulator includes one above it") {
  const std::vector<std::string> order = folders();
  const auto level = [&](const std::string& folder) {
    return std::find(order.begin(), order.end(), folder) - order.begin();
  };
  int files = 0;
  for (const Include& each : includes(files)) {
    const std::string path = each.line.substr(own.size());
    INFO(each.folder, ": ", each.line);
    CHECK(level(each.folder) < std::ssize(order));
    CHECK(level(path.substr(0, path.find('/'))) <= level(each.folder));
  }
  CHECK(order.size() > 10);
}
