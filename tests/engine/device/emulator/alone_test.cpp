#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

// The emulator is meant to be taken out and used alone: it includes nothing of the engine but
// itself.
TEST_CASE("the emulator depends on nothing else of the engine") {
  const std::string own = "#include \"engine/device/emulator/";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(FA_TUNE_ROOT) + "/engine/device/emulator")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    ++files;
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with("#include \"engine/")) continue;
      INFO(entry.path().string(), ": ", line);
      CHECK(line.starts_with(own));
    }
  }
  CHECK(files > 100);
}
