// The spaces of problems that are not attention: their faults are refused, their kernels are right,
// and a search ends.

#include <doctest/doctest.h>

#include "engine/device/emulated.hpp"
#include "engine/run/evolve.hpp"
#include "engine/run/self_test.hpp"
#include "engine/space/space_settings.hpp"
#include "tests/engine/run/fixture.hpp"

using namespace fa_tune;

namespace {

using Sort = SelfTestRow::Sort;

struct Quiet : EvolveListener {
  void on_trial(const TrialRow&, const Tally&) override {}
  void on_final(const TrialRow&, int, int) override {}
};

Compiler& compiler() {
  static const auto instance = open_nvrtc();
  return *instance;
}

// The best right trial and the first preset, by their predicted times.
void check_search(const std::string& space, const std::vector<std::string>& settings) {
  const Project project =
      open_project(with_settings(load_space_file(space, test::root()), settings), test::root());
  const auto device = open_emulator(project.target);
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  EvolveOptions options;
  options.trials = 6;
  options.jobs = 2;
  Quiet quiet;
  const std::atomic<bool> stop{false};
  const EvolveResult result = evolve(project, *device, compiler(), store, options, quiet, stop);
  CHECK(result.tally.right >= 2);
  CHECK(result.tally.right + result.tally.duplicate == result.tally.trials);
  REQUIRE(result.tally.baseline.has_value());
  REQUIRE(result.tally.best.has_value());
  CHECK(*result.tally.best->time_us < *result.tally.baseline->time_us);
}

}  // namespace

TEST_CASE("examples: planted faults are refused, and what they were planted in accepted") {
  std::vector<SpaceFile> files;
  for (const char* name : {"softmax", "convolution"})
    files.push_back(load_space_file(name, test::root()));
  const DeviceOpener open = [](const DeviceProfile& target) { return open_emulator(target, 1); };
  const SelfTestResult result =
      self_test(files, test::root(), open, compiler(), 2, {.seed = 1, .variants = 4, .faults = -1},
                [](const SelfTestResult& until_now, int) {
                  const SelfTestRow& row = until_now.rows.back();
                  CHECK_MESSAGE(row.passed, to_text(row.sort), " '", row.name, "': ", row.finding,
                                ", ", row.message);
                });
  CHECK(result.passed());
  CHECK(result.count(Sort::fault) >= 18);
  CHECK(result.count(Sort::cheat) >= 3);
  CHECK(result.count(Sort::variant) == 4);
}

TEST_CASE("examples: searches end with something faster than the plain preset") {
  check_search("softmax", {"sizes.rows=64", "sizes.columns=512"});
  check_search("convolution", {"sizes.width=96", "sizes.height=64"});
}
