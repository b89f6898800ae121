#include <cstdlib>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::tuner;

namespace {

// `FA_TUNE_VARIANTS` asks for more than the number that fits a quick test run.
int variants() {
  const char* given = std::getenv("FA_TUNE_VARIANTS");
  if (given != nullptr) return std::stoi(given);
  return thorough() ? 24 : 9;
}

void accept_all(const test::Replacements& change, int count, std::uint64_t seed) {
  const TuningTask task = test::task("l4.yaml", change);
  const char* device = std::getenv("FA_TUNE_TEST_DEVICE");
  test::Bench bench(task, device != nullptr ? device : "emulator:l4");
  Random random(seed);
  std::set<std::string> seen;
  int accepted = 0;
  while (static_cast<int>(seen.size()) < count) {
    const Config config = task.space.sample(random);
    if (!seen.insert(config.to_json()).second) continue;
    const Verdict verdict = bench.gate(task.template_of(config), config, "quick", seed);
    CHECK_MESSAGE(verdict.passed(), config.to_json(), ": ", verdict.finding, ": ", verdict.message,
                  " at ", verdict.where);
    CHECK(verdict.worst_ratio > 0);
    accepted += verdict.passed();
  }
  MESSAGE("accepted ", accepted, " of ", count);
}

}  // namespace

TEST_CASE("random valid configs are all accepted") { accept_all({}, variants(), 11); }

TEST_CASE("random valid configs are all accepted, causal") {
  accept_all({{"causal: false", "causal: true"}}, variants() / 3, 12);
}

TEST_CASE("random valid configs are all accepted, D = 128") {
  accept_all({{"D: 64", "D: 128"},
              {"  fa2: {template: mma, BLOCK_M: 128", "  fa2: {template: mma, BLOCK_M: 64"}},
             variants() / 3, 13);
}

}  // namespace fa_tune::test
