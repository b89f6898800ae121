#include "engine/kernel/compile/nvrtc_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

// An environment variable for as long as this lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) before_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

bool lists(const std::vector<std::string>& list, const std::string& part) {
  return std::ranges::any_of(
      list, [&](const std::string& entry) { return entry.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("NVRTC: the file a person names is the only one tried") {
  const Setting setting("FA_TUNE_NVRTC", "/no/such/libnvrtc.so");
  CHECK(nvrtc_candidates() == std::vector<std::string>{"/no/such/libnvrtc.so"});
  const NvrtcFacts facts = describe_nvrtc();
  CHECK_FALSE(facts.found);
  CHECK(facts.problem.find("/no/such/libnvrtc.so") != std::string::npos);
  CHECK_THROWS_WITH_AS(open_nvrtc(), doctest::Contains("/no/such/libnvrtc.so"), MachineError);
}

TEST_CASE("NVRTC: a library that is another is refused") {
  const Setting setting("FA_TUNE_NVRTC", "libm.so.6");
  CHECK_THROWS_WITH_AS(open_nvrtc(), doctest::Contains("is not an NVRTC"), MachineError);
}

TEST_CASE("NVRTC: wheels of the local environment are found, the newest first, toolkits hidden") {
  const ScratchFolder root;
  const fs::path nvidia = root.path() / ".venv/lib/python3.11/site-packages/nvidia";
  for (const char* folder : {"cuda_nvrtc/lib", "cu13/lib", "cu9/lib"}) {
    fs::create_directories(nvidia / folder);
    write_file(nvidia / folder / "libnvrtc.so.13", "");
    write_file(nvidia / folder / "libnvrtc-builtins.so.13.0", "");
  }
  write_file(nvidia / "cu13/lib/libnvrtc.so.9", "");
  const Setting where("FA_TUNE_ROOT", root.path().string());
  const Setting no_file("FA_TUNE_NVRTC", "");
  {
    const Setting hide("FA_TUNE_HIDE_TOOLKIT", "1");
    CHECK(nvrtc_candidates() ==
          std::vector<std::string>{(nvidia / "cu13/lib/libnvrtc.so.13").string(),
                                   (nvidia / "cu13/lib/libnvrtc.so.9").string(),
                                   (nvidia / "cuda_nvrtc/lib/libnvrtc.so.13").string()});
    // None of these empty files is a library.
    CHECK_FALSE(describe_nvrtc().found);
  }
  const Setting show("FA_TUNE_HIDE_TOOLKIT", "");
  const auto list = nvrtc_candidates();
  CHECK(list.front() == "libnvrtc.so.13");
  CHECK(lists(list, "cu13/lib/libnvrtc.so.13"));
}

TEST_CASE("NVRTC: the library it opens by bare name is loaded from its own folder beforehand") {
  const auto library = load_nvrtc();
  if (!library) FAIL(library.error());
  int beside = 0, loaded = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(library->path).parent_path())) {
    if (!entry.path().filename().string().starts_with("libnvrtc-builtins.so")) continue;
    ++beside;
    if (dlopen(entry.path().c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) ++loaded;
  }
  CHECK(beside > 0);
  CHECK(loaded > 0);
}

}  // namespace fa_tune::test
