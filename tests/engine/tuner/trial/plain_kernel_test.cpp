#include "engine/tuner/trial/plain_kernel.hpp"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/engine/tuner/trial/memory_proof_kernels.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::tuner;

namespace {

constexpr double kUs = 50;

std::unique_ptr<MeasuringEmulator> clock_of(const Field& field) {
  return std::make_unique<MeasuringEmulator>(field.predictor(),
                                             [](const KernelImage&) { return kUs; });
}

std::optional<db::PlainKernelRow> timed(const TuningTask& task, std::unique_ptr<Device> device) {
  Bench bench(task, std::move(device));
  return time_plain_kernel(task, bench.device(), bench.pool(), bench.truth(), 7);
}

// Somebody kills its process at the first question about time.
class KilledOnce final : public MeasuringEmulator {
 public:
  using MeasuringEmulator::MeasuringEmulator;
  std::span<const Fault> deaths() const override { return killed_; }
  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    if (!killed_.empty()) return MeasuringEmulator::time(launch, plan);
    killed_.push_back({FaultKind::killed, "signal 9"});
    throw MachineError("signal 9");
  }

 private:
  std::vector<Fault> killed_;
};

}  // namespace

TEST_CASE("the plain kernel is timed as it is, also where it writes over its input") {
  for (const Texts& texts : {products(), sorts()}) {
    const Field field(texts);
    const auto plain = timed(field.task(), clock_of(field));
    REQUIRE(plain);
    CHECK(plain->message.empty());
    REQUIRE(plain->time);
    CHECK(plain->time->us.value == doctest::Approx(kUs).epsilon(0.02));
    CHECK(has(plain->detail_json, "\"samples\""));
  }
  const Field field;
  const auto predicted = timed(field.task(), field.predictor());
  REQUIRE(predicted);
  REQUIRE(predicted->time);
  CHECK(has(predicted->detail_json, "\"bound"));
}

TEST_CASE("a problem without a plain kernel has none to time") {
  CHECK_FALSE(timed(l4(), open_device("emulator:l4", l4().target, root())));
}

TEST_CASE("a plain kernel that ends its process is not timed, and not tried again") {
  const Field field;
  auto device = clock_of(field);
  int asked = 0;
  device->dies = [&](double, const TimingPlan&) { return ++asked > 0; };
  const auto plain = timed(field.task(), std::move(device));
  REQUIRE(plain);
  CHECK_FALSE(plain->time);
  CHECK(plain->message == "died: the process is over");
  CHECK(asked == 1);
}

TEST_CASE("a plain kernel that takes seconds is not timed, and says how long it takes") {
  class Slow final : public MeasuringEmulator {
   public:
    using MeasuringEmulator::MeasuringEmulator;
    std::expected<void, Fault> launch(const Launch& launch) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(3100));
      return MeasuringEmulator::launch(launch);
    }
  };
  const Field field;
  const auto plain = timed(field.task(), std::make_unique<Slow>(field.predictor(), nullptr));
  REQUIRE(plain);
  CHECK_FALSE(plain->time);
  CHECK(has(plain->message, "a launch takes 3."));
}

TEST_CASE("a plain kernel whose process is killed from outside is timed again") {
  const Field field;
  const auto plain = timed(
      field.task(),
      std::make_unique<KilledOnce>(field.predictor(), [](const KernelImage&) { return kUs; }));
  REQUIRE(plain);
  CHECK(plain->time);
}

TEST_CASE("a plain kernel that keeps state is not timed, and says why") {
  Texts texts = products();
  texts.plain = replace(texts.plain, {{"__global__ void plain",
                                       "__device__ int kept;\n"
                                       "__global__ void plain"},
                                      {"  float sum = 0;", "  kept = n;\n  float sum = 0;"}});
  const Field field(texts);
  const auto plain = timed(field.task(), clock_of(field));
  REQUIRE(plain);
  CHECK_FALSE(plain->time);
  CHECK(has(plain->message, "kept"));
}

}  // namespace fa_tune::test
