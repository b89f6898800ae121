#include <functional>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "engine/kernel/compile/compile_cache.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/log.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

// Answers as told and counts how often it is asked.
class FakeCompiler final : public Compiler {
 public:
  explicit FakeCompiler(std::string version = "fake 1") : version_(std::move(version)) {}

  CompileOutcome compile(const CompileRequest& request) override {
    ++*calls;
    if (meanwhile) meanwhile(request.source.text);
    if (request.source.text == "bad")
      return std::unexpected(CompileFailure{"k.cu(1): error: bad", "a long log"});
    if (request.source.text == "slow")
      return std::unexpected(CompileFailure{"no memory", "", false});
    Compiled compiled;
    compiled.image = {request.kind,
                      request.arch,
                      request.source.kernel,
                      std::string("bytes\0\n of ", 11) + request.source.text,
                      {32, 4, 8, 16, 1024}};
    compiled.warnings = {"C7510: serialized", ""};
    compiled.code_hash = sha256(request.source.text);
    compiled.milliseconds = 12;
    return compiled;
  }
  std::string version() const override { return version_; }

  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  std::function<void(const std::string& text)> meanwhile;

 private:
  std::string version_;
};

CompileRequest request(const std::string& text) {
  return {{text, "k", sha256(text)}, "sm_89", BinaryKind::cubin, {"-lineinfo"}};
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

struct Cached {
  explicit Cached(const fs::path& folder, const std::string& version = "fake 1") {
    auto fake = std::make_unique<FakeCompiler>(version);
    calls = fake->calls;
    compiler = with_cache(std::move(fake), folder);
  }
  std::shared_ptr<std::atomic<int>> calls;
  std::unique_ptr<Compiler> compiler;
};

}  // namespace

TEST_CASE("cache: the second asking, in another process as it were, gives the same for nothing") {
  const ScratchFolder folder;
  const CompileOutcome first = Cached(folder.path() / "new").compiler->compile(request("good"));
  REQUIRE(first.has_value());
  CHECK_FALSE(first->from_cache);
  Cached again(folder.path() / "new");
  const CompileOutcome second = again.compiler->compile(request("good"));
  CHECK(*again.calls == 0);
  REQUIRE(second.has_value());
  CHECK(second->from_cache);
  CHECK(second->milliseconds == 0);
  CHECK(second->image.bytes == first->image.bytes);
  CHECK(second->image.kind == first->image.kind);
  CHECK(second->image.arch == "sm_89");
  CHECK(second->image.kernel == "k");
  CHECK(second->image.resources.registers == 32);
  CHECK(second->image.resources.spill_store_bytes == 4);
  CHECK(second->image.resources.spill_load_bytes == 8);
  CHECK(second->image.resources.stack_bytes == 16);
  CHECK(second->image.resources.static_shared_bytes == 1024);
  CHECK(second->warnings == first->warnings);
  CHECK(second->code_hash == first->code_hash);
}

TEST_CASE("cache: failures are remembered, save those that another try may mend") {
  const ScratchFolder folder;
  Cached cached(folder.path());
  for (int i = 0; i < 2; ++i) {
    const CompileOutcome bad = cached.compiler->compile(request("bad"));
    REQUIRE_FALSE(bad.has_value());
    CHECK(bad.error().message == "k.cu(1): error: bad");
    CHECK(bad.error().log == "a long log");
  }
  CHECK(*cached.calls == 1);
  for (int i = 0; i < 2; ++i) CHECK_FALSE(cached.compiler->compile(request("slow")).has_value());
  CHECK(*cached.calls == 3);
}

TEST_CASE("cache: of equal requests at the same time one is compiled, others are not held up") {
  const ScratchFolder folder;
  auto fake = std::make_unique<FakeCompiler>();
  const auto calls = fake->calls;
  std::promise<void> go_on;
  fake->meanwhile = [wait = go_on.get_future().share()](const std::string& text) {
    if (text == "good") wait.wait();
  };
  const auto compiler = with_cache(std::move(fake), folder.path());
  std::vector<std::future<CompileOutcome>> equal;
  for (int i = 0; i < 4; ++i)
    equal.push_back(
        std::async(std::launch::async, [&] { return compiler->compile(request("good")); }));
  CHECK(compiler->compile(request("other")).has_value());
  // Time for a second one to slip through.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go_on.set_value();
  int from_cache = 0;
  for (auto& each : equal) from_cache += each.get()->from_cache;
  CHECK(from_cache == 3);
  CHECK(*calls == 2);
}

TEST_CASE("cache: source, kernel, architecture, kind, options and compiler make different keys") {
  const ScratchFolder folder;
  Cached cached(folder.path());
  (void)cached.compiler->compile(request("good"));
  std::vector<CompileRequest> others(6, request("good"));
  others[0].source.text = "good ";
  others[1].source.kernel = "l";
  others[2].arch = "sm_90";
  others[3].kind = BinaryKind::ptx;
  others[4].options = {"-line", "info"};
  others[5].options = {};
  for (const CompileRequest& other : others) (void)cached.compiler->compile(other);
  CHECK(*cached.calls == 7);
  Cached newer(folder.path(), "fake 2");
  (void)newer.compiler->compile(request("good"));
  CHECK(*newer.calls == 1);
}

TEST_CASE("cache: an entry cut or changed at any byte is compiled anew and mended") {
  const ScratchFolder folder;
  const CompileOutcome good = Cached(folder.path()).compiler->compile(request("good"));
  const std::vector<fs::path> files = files_in(folder.path());
  REQUIRE(files.size() == 1);
  const std::string entry = read_file(files[0]);
  const std::string key = cache_key(request("good"), "fake 1");
  REQUIRE(decode_entry(key, entry).has_value());
  CHECK_FALSE(decode_entry(cache_key(request("bad"), "fake 1"), entry).has_value());
  for (std::size_t at = 0; at < entry.size(); ++at) {
    CHECK_FALSE(decode_entry(key, std::string(entry.data(), at)).has_value());
    for (const unsigned flip : {0x01u, 0x80u}) {
      std::string changed = entry;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
      CHECK_FALSE(decode_entry(key, changed).has_value());
    }
  }
  CHECK_FALSE(decode_entry(key, entry + "x").has_value());

  for (const std::string& damaged :
       {entry.substr(0, entry.size() / 2), entry + "x", std::string()}) {
    write_file(files[0], damaged);
    Cached cached(folder.path());
    const CompileOutcome outcome = cached.compiler->compile(request("good"));
    REQUIRE(outcome.has_value());
    CHECK(*cached.calls == 1);
    CHECK(outcome->image.bytes == good->image.bytes);
    CHECK(read_file(files[0]) == entry);
  }
}

TEST_CASE("cache: a folder that cannot be written does not stop the work") {
  const ScratchFolder folder;
  write_file(folder.path() / "file", "not a folder");
  set_log_level(LogLevel::error);
  Cached cached(folder.path() / "file");
  CHECK(cached.compiler->compile(request("good")).has_value());
  CHECK(cached.compiler->compile(request("good")).has_value());
  CHECK(*cached.calls == 2);
  set_log_level(LogLevel::info);
}

TEST_CASE("cache: many threads and two caches on one folder agree") {
  const ScratchFolder folder;
  Cached a(folder.path());
  Cached b(folder.path());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 40; ++i) {
          const std::string text = "source " + std::to_string(i % 10);
          const auto outcome = (t % 2 == 0 ? a : b).compiler->compile(request(text));
          if (!outcome || outcome->code_hash != sha256(text)) ++wrong;
        }
      });
  }
  CHECK(wrong == 0);
  CHECK(files_in(folder.path()).size() == 10);
}

}  // namespace fa_tune::test
