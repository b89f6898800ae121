// The gate's proof on the emulator: the faults and cheats of kernel_templates/attention/faults are
// refused, and the kernels they were planted in are accepted. A usual run plants every cheat, and of
// each kind of fault the first.

#include <set>

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/self_test/self_test.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

using Sort = SelfTestRow::Sort;

SelfTestResult run(const std::vector<std::string>& spaces, const SelfTestOptions& options) {
  std::vector<SpaceFile> files;
  for (const std::string& name : spaces) files.push_back(load_space_file(name, test::root()));
  // Faulty kernels may write one place from two blocks. On an emulator that runs blocks on several
  // threads, that is a race of this process too, so here it runs them on one.
  const DeviceOpener open = [](const DeviceProfile& target) { return open_emulator(target, 1); };
  return self_test(files, test::root(), open, test::cached_nvrtc(), 2, options,
                   [](const SelfTestResult& until_now, int) {
                     const SelfTestRow& row = until_now.rows.back();
                     CHECK_MESSAGE(row.passed, to_text(row.sort), " '", row.name,
                                   "': ", row.rejection.finding, ", ", row.rejection.message);
                   });
}

}  // namespace

TEST_CASE("planted faults and cheats are refused, and what they were planted in is accepted") {
  const SelfTestResult result =
      run({"h100", "h100_short", "l4", "ladder", "decode"},
          {.seed = 1, .variants = 2, .faults = -1, .kinds_once = !test::thorough()});
  CHECK(result.passed());
  CHECK(result.count(Sort::fault) >= (test::thorough() ? 100 : 20));
  CHECK(result.count(Sort::cheat) >= 15);
  CHECK(result.count(Sort::twin) >= 3);
  CHECK(result.count(Sort::variant) == 2);

  std::set<std::string> kinds, findings;
  for (const SelfTestRow& row : result.rows) {
    kinds.insert(row.kind);
    findings.insert(row.rejection.finding);
  }
  for (const char* kind : {"rescale",
                           "mask",
                           "barrier",
                           "wait",
                           "tile_skipped",
                           "sums_in_16_bits",
                           "zero_output",
                           "copied_input",
                           "stale_output",
                           "nan",
                           "transposed",
                           "wrong_head",
                           "written_twice",
                           "kept_result",
                           "reference_memory",
                           "other_stream",
                           "earlier_launch",
                           "input_changed",
                           "idle_under_the_clock",
                           "constant_output"})
    CHECK_MESSAGE(kinds.contains(kind), kind);
  // Each way of refusing is needed by some fault; imprecise ones are the host kernels' affair
  // (tests/engine/gate).
  for (const char* finding : {"fault", "not_finite", "wrong", "guard_damaged", "input_changed",
                              "stale", "keeps_state", "lives_on_memory", "not_bound"})
    CHECK_MESSAGE(findings.contains(finding), finding);
}

TEST_CASE("so many faults as are asked for, spread evenly; other seeds, other shapes") {
  const SelfTestResult result = run({"l4"}, {.seed = 2, .variants = 0, .faults = 3});
  CHECK(result.count(Sort::fault) + result.count(Sort::cheat) == 3);
  CHECK(result.count(Sort::variant) == 0);
}

}  // namespace fa_tune::test
