#include "engine/worker/remote_compiler.hpp"

#include <set>

#include <doctest/doctest.h>

#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::worker;

namespace {

RemoteCompilerOptions compiler_options() { return {test::bad_worker({"--compile"})}; }

CompileRequest cuda_source(const std::string& text) {
  return {{text, "kernel", ""}, "sm_89", BinaryKind::ptx, {}};
}

}  // namespace

TEST_CASE("a compiler in another process is the compiler") {
  const auto compiler = open_remote_compiler(compiler_options());
  CHECK(compiler->version() == "bad 1");
  const auto one = compiler->compile(cuda_source("one"));
  const auto two = compiler->compile(cuda_source("two"));
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  CHECK(one->image.bytes == "one");
  CHECK(two->image.kernel == "kernel");
  // The same process: it says which it is.
  CHECK(one->code_hash == two->code_hash);
}

TEST_CASE("a source that ends its compiler is refused, the others are not") {
  const WorkerMemory memory;
  const auto compiler = open_remote_compiler(compiler_options());
  CompilePool pool(*compiler, 3);
  const std::vector<std::string> texts = {
      "a",         "segfault",      "b",        "c", "exit",  "d",     "garbage",
      "mid_frame", "segfault_once", "long_log", "e", "throw", "flood", "f"};
  std::vector<std::future<CompileOutcome>> outcomes;
  for (const std::string& text : texts) outcomes.push_back(pool.submit(cuda_source(text)));
  const std::set<std::string> bad = {"segfault",  "exit",     "garbage",
                                     "mid_frame", "long_log", "throw"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    const CompileOutcome outcome = outcomes[i].get();
    REQUIRE(outcome.has_value() == !bad.contains(texts[i]));
    if (outcome) {
      CHECK(outcome->image.bytes == texts[i]);
      continue;
    }
    CHECK_FALSE(outcome.error().lasting);
    if (texts[i] == "throw")
      CHECK(outcome.error().message == "thrown over it");
    else
      CHECK(test::has(outcome.error().message, "the compiler ended over it, twice: "));
  }
}

TEST_CASE("a source over which the compiler hangs is refused at its deadline") {
  RemoteCompilerOptions impatient = compiler_options();
  impatient.deadline = std::chrono::milliseconds(1000);
  const auto compiler = open_remote_compiler(impatient);
  const auto outcome = compiler->compile(cuda_source("hang"));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message == "the compiler ended over it, twice: no answer in 1000 ms");
  CHECK_FALSE(outcome.error().lasting);
}

TEST_CASE("a compiler that makes other kernels than it was asked for is not believed") {
  const auto compiler = open_remote_compiler(compiler_options());
  const auto outcome = compiler->compile(cuda_source("one_more"));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message == "the compiler made other kernels of it");
  CHECK_FALSE(outcome.error().lasting);
}

TEST_CASE("a source that is too large for a message is the source's fault") {
  const auto compiler = open_remote_compiler(compiler_options());
  const auto outcome = compiler->compile(cuda_source(std::string(std::size_t{100} << 20, ' ')));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message ==
        "the source has 104857600 bytes; a compiler takes at most 33554432");
  CHECK(compiler->compile(cuda_source("next")).has_value());
}

}  // namespace fa_tune::test
