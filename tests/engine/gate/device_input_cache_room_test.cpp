#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/device/profile.hpp"
#include "engine/gate/device_input_cache.hpp"
#include "engine/gate/output_check.hpp"
#include "engine/gate/timed_launch.hpp"
#include "engine/util/half.hpp"
#include "tests/engine/gate/device_input_cache_fixture.hpp"
#include "tests/engine/gate/fake_device.hpp"
#include "tests/engine/gate/four_numbers.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::problem;

namespace {

// z = x + 2 y, where neither fits beside the other in what is kept.
class Sum final : public test::FourNumbers {
 public:
  std::string kind() const override { return "sum"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    Instance made{.shape = shape, .inputs = inputs, .seed = seed, .tensors = {}, .scalars = {}};
    for (const char* name : {"x", "y", "z"}) {
      Tensor tensor{.name = name,
                    .type = DType::f32,
                    .role = name[0] == 'z' ? Role::output : Role::input,
                    .dims = {kLength},
                    .bytes = {}};
      if (tensor.role == Role::input) tensor.bytes.resize(kLength * sizeof(float));
      for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i) {
        const auto value = static_cast<float>((i + seed + name[0]) % 100);
        std::memcpy(tensor.bytes.data() + i * sizeof value, &value, sizeof value);
      }
      made.tensors.push_back(std::move(tensor));
    }
    return made;
  }
  std::vector<Expectation> expect(const Instance& instance, Truth) const override {
    Expectation z{
        .tensor = "z", .exact = {}, .bound = std::vector<double>(kLength, 0.0), .rms_bound = 0};
    for (std::size_t i = 0; i < kLength; ++i)
      z.exact.push_back(at(instance.tensors[0].bytes.data(), i) +
                        2 * at(instance.tensors[1].bytes.data(), i));
    return {z};
  }

  static float at(const std::byte* from, std::size_t i) {
    float value = 0;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    return value;
  }
  static constexpr std::size_t kLength = DeviceInputCache::kLeast / sizeof(float);

  static std::optional<Fault> run(const FakeDevice::Call& call) {
    for (std::size_t i = 0; i < kLength; ++i) {
      const float sum = at(call.pointers[0], i) + 2 * at(call.pointers[1], i);
      std::memcpy(call.pointers[2] + i * sizeof sum, &sum, sizeof sum);
    }
    return {};
  }
};

}  // namespace

TEST_CASE("originals: those in use stay, where inputs together are more than is kept") {
  FakeDevice device;
  teach(device);
  teach_sampling(device);
  const Sum problem;
  TruthCache truths(problem);
  DeviceInputCache input_cache(device, DeviceInputCache::kLeast * 3 / 2);
  REQUIRE(input_cache.usable());
  const BoundKernel kernel{
      .kernel = device.add(Sum::run), .launch = {}, .argument_names = {"x", "y", "z"}};
  const auto truth = truths.get({.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1});
  const auto other = truths.get({.shape = problem.shape(), .inputs = Inputs::normal, .seed = 2});
  TimedLaunch timed(device, kernel, truth, &input_cache);
  REQUIRE(device.launch(timed.launch()));
  CHECK_FALSE(timed.check(truth));
  const auto rejection = timed.check_exchanged(other);
  CHECK_MESSAGE(!rejection, (rejection ? rejection->message : ""));
}

TEST_CASE("originals: on a device without room for them they make way, and no kernel fails") {
  FakeDevice device;
  teach(device);
  teach_sampling(device);
  const Sum problem;
  TruthCache truths(problem);
  DeviceInputCache input_cache(device);
  const KernelHandle kernel = device.add(Sum::run);
  const Binder bind = [&](const Constants&) -> std::expected<BoundKernel, std::string> {
    return BoundKernel{.kernel = kernel, .launch = {}, .argument_names = {"x", "y", "z"}};
  };
  // Three tensors and the result of the first run, and not two cached inputs besides.
  device.room = 11 * DeviceInputCache::kLeast / 2;
  Gate gate(device, truths, &input_cache);
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const Verdict verdict =
        gate.check(bind, {{.shape = problem.shape(), .inputs = Inputs::normal, .seed = seed}});
    CHECK_MESSAGE(verdict.passed(), verdict.message);
  }
  // Without any there is none for the kernel either.
  device.room = 2 * DeviceInputCache::kLeast;
  CHECK_THROWS_AS(
      gate.check(bind, {{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 9}}),
      OutOfMemory);
}

TEST_CASE(
    "originals: no more are kept than there is room for, and none on a device that predicts") {
  FakeDevice device;
  teach(device);
  CHECK_FALSE(DeviceInputCache(device).usable());
  teach_sampling(device);
  constexpr std::size_t kBytes = DeviceInputCache::kLeast;
  DeviceInputCache input_cache(device, 3 * kBytes);
  std::vector<std::shared_ptr<const Instance>> instances;
  for (int i = 0; i < 5; ++i) {
    Instance made;
    made.tensors.push_back(
        {.name = "x", .type = DType::f32, .role = Role::input, .dims = {1}, .bytes = {}});
    made.tensors[0].bytes.resize(kBytes);
    instances.push_back(std::make_shared<const Instance>(std::move(made)));
    REQUIRE(input_cache.of(instances.back(), 0));
    CHECK(device.buffers_held() == static_cast<std::size_t>(std::min(i + 1, 3)));
  }
  CHECK(*input_cache.of(instances[4], 0) == *input_cache.of(instances[4], 0));
  const auto emulator = open_emulator(load_profile("l4", FA_TUNE_ROOT), 1);
  CHECK_FALSE(DeviceInputCache(*emulator).usable());
}

}  // namespace fa_tune::test
