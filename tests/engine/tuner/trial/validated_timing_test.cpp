// What the clock's proof asks of a prediction.

#include "engine/tuner/trial/validated_timing.hpp"

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/tuner/task/variant.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::measure;
using namespace fa_tune::tuner;

TEST_CASE("a launch that is predicted as a whole counts only with correct outputs") {
  const TuningTask task = test::toy_project();
  const auto device = open_emulator(task.target, 1);
  const auto compiler = test::toy_compiler();
  CompilePool pool(*compiler, 1);
  TruthCache truth(*task.problem);
  ValidatedTimer timer(*task.problem, task.target, *device, truth, 1,
                       ValidatedTimer::Proof::where_measured);
  for (const int factor : {2, 3}) {
    const Config config =
        Config::from_json(R"({"template":"toy","BLOCK":32,"WORK":21,"FACTOR":)" +
                          std::to_string(factor) + R"(,"COMPILES":true,"NAME":"a"})");
    Variant variant(
        task.templates[0], *task.problem, [&](const Constants& shape) { return task.scope(shape); },
        config, pool, *device);
    const auto bound = variant.bind(task.problem->shape());
    REQUIRE(bound);
    const auto measured = timer.time(*bound, Effort::screen);
    if (factor == 2) {
      REQUIRE_MESSAGE(measured, measured.error().message);
      CHECK(measured->timing.complete);
    } else {
      REQUIRE_FALSE(measured);
      CHECK(measured.error().finding == "wrong");
    }
  }
}

}  // namespace fa_tune::test
