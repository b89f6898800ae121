// Compilers that come while a search runs, and that go with their machines: what is found is what
// one compiler finds.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/compiler_group.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::kernel;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

constexpr int kSearchTrials = 60;

// The toy's compiler, whose machine is gone at the `sources`-th source that it is asked for.
class MortalCompiler final : public Compiler {
 public:
  explicit MortalCompiler(int sources, std::function<void()> on_end = {})
      : inner_(toy_compiler()), left_(sources), on_end_(std::move(on_end)) {}

  CompileOutcome compile(const CompileRequest& request) override {
    const int left = --left_;
    if (left == 0 && on_end_) on_end_();
    if (left <= 0) throw CompilerGone("its machine is gone");
    return inner_->compile(request);
  }
  std::string version() const override { return inner_->version(); }

 private:
  std::unique_ptr<Compiler> inner_;
  std::atomic<int> left_;
  std::function<void()> on_end_;
};

struct Search {
  ScratchFolder folder{memory_folder()};
  Store store{folder / "a.db", Store::Mode::write};
  std::atomic<bool> stop{false};
  WatchingListener listener;

  EvolveResult run(Compiler& compiler, CompilerGroup* group,
                   std::optional<std::int64_t> resume = {}) {
    EvolveOptions options;
    options.trials = kSearchTrials;
    options.seed = 3;
    options.compilers = group;
    options.resume = resume;
    const auto device = device::open_device("emulator:l4", toy().target, test::root());
    return evolve(toy(), *device, compiler, store, options, listener, stop);
  }
};

const std::vector<std::string>& with_one_compiler() {
  static const std::vector<std::string> fingerprint = [] {
    Search search;
    const auto compiler = toy_compiler();
    search.run(*compiler, nullptr);
    return run_fingerprint_lines(search.store, 1);
  }();
  return fingerprint;
}

// More sources than there are.
constexpr int kMore = 1'000'000;

}  // namespace

TEST_CASE("compilers that are lost at any moment change nothing in what is found") {
  constexpr int kDeaths = 8;
  Random random(5);
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    // In the place of each that goes comes another one, until some have gone.
    CompilerGroup group({});
    std::atomic<int> gone{0};
    std::mutex mutex;
    std::function<void()> bring = [&] {
      const std::lock_guard lock(mutex);
      const int life = gone < kDeaths ? 1 + static_cast<int>(random.below(6)) : kMore;
      REQUIRE(group
                  .add(std::make_shared<MortalCompiler>(life,
                                                        [&] {
                                                          ++gone;
                                                          bring();
                                                        }),
                       1 + static_cast<int>(random.below(3)))
                  .has_value());
    };
    bring();
    if (round % 2 == 0) bring();
    Search search;
    const EvolveResult result = search.run(group, &group);
    CHECK(result.trouble.empty());
    CHECK_FALSE(result.interrupted);
    CHECK((run_fingerprint_lines(search.store, 1) == with_one_compiler()));
    CHECK(gone >= kDeaths);
    CHECK(result.breakdown.jobs >= 1);
    CHECK(result.breakdown.compilers_s > 0);
  }
}

TEST_CASE("a run that no compiler is left for, and none comes, goes on later") {
  Search search;
  CompilerGroup group({std::chrono::milliseconds(50), "another machine"});
  REQUIRE(group.add(std::make_shared<MortalCompiler>(30), 2).has_value());
  const EvolveResult result = search.run(group, &group);
  CHECK(result.trouble == "no compiler is left, and none has come in 0 s");
  CHECK(search.store.run(1)->state == "interrupted");
  const std::size_t before = search.store.trials(1).size();
  CHECK(before > 0);
  CHECK(before < kSearchTrials);
  const auto compiler = toy_compiler();
  CHECK(search.run(*compiler, nullptr, 1).trouble.empty());
  CHECK((run_fingerprint_lines(search.store, 1) == with_one_compiler()));
}

TEST_CASE("an interrupt ends the wait for a compiler, and the run goes on later") {
  Search search;
  CompilerGroup group({std::chrono::hours(1), "another machine", &search.stop});
  REQUIRE(group.add(std::make_shared<MortalCompiler>(30), 2).has_value());
  const Stopwatch watch;
  const std::jthread interrupter([&] {
    while (group.size() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    search.stop = true;
  });
  const EvolveResult result = search.run(group, &group);
  CHECK(result.interrupted);
  CHECK(watch.milliseconds() < 60'000);
  search.stop = false;
  const auto compiler = toy_compiler();
  CHECK_FALSE(search.run(*compiler, nullptr, 1).interrupted);
  CHECK((run_fingerprint_lines(search.store, 1) == with_one_compiler()));
}

TEST_CASE("compilers that come late compile side by side with the first") {
  Search search;
  CompilerGroup group({});
  REQUIRE(group.add(std::make_shared<MortalCompiler>(kMore), 1).has_value());
  int done = 0;
  search.listener.each = [&](const TrialRow&) {
    if (++done == 5) REQUIRE(group.add(std::make_shared<MortalCompiler>(kMore), 7).has_value());
  };
  const EvolveResult result = search.run(group, &group);
  CHECK(result.breakdown.jobs == 8);
  CHECK(result.breakdown.compilers_s > result.breakdown.wall_s);
  CHECK(result.breakdown.compilers_s < 8 * result.breakdown.wall_s);
  CHECK((run_fingerprint_lines(search.store, 1) == with_one_compiler()));
}

}  // namespace fa_tune::test
