#include "engine/gate/device_input_cache.hpp"

#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/device/profile.hpp"
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

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 % 251);
  return made;
}

constexpr std::int64_t kElements = std::int64_t{3} << 18;  // 3 MB of each

// y is x plus one.
class PlusOne final : public test::FourNumbers {
 public:
  std::string kind() const override { return "plus one"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    std::vector<float> x(kElements);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000 + seed);
    Tensor given{
        .name = "x", .type = DType::f32, .role = Role::input, .dims = {kElements}, .bytes = {}};
    given.bytes.resize(x.size() * sizeof(float));
    std::memcpy(given.bytes.data(), x.data(), given.bytes.size());
    Tensor wanted{
        .name = "y", .type = DType::f32, .role = Role::output, .dims = {kElements}, .bytes = {}};
    return {
        .shape = shape, .inputs = inputs, .seed = seed, .tensors = {given, wanted}, .scalars = {}};
  }
  std::vector<Expectation> expect(const Instance& instance, Truth) const override {
    Expectation y{
        .tensor = "y", .exact = {}, .bound = std::vector<double>(kElements, 0.0), .rms_bound = 0};
    std::vector<float> x(kElements);
    std::memcpy(x.data(), instance.tensors[0].bytes.data(), kElements * sizeof x[0]);
    for (const float each : x) y.exact.push_back(static_cast<double>(each + 1));
    return {y};
  }
};

// The gate with its input cache, and kernels that begin with the right answer and then do what they
// will.
class Bench {
 public:
  Verdict verdict(const std::function<void(std::byte* x, std::byte* y, int run)>& spoil = {},
                  std::optional<std::size_t> changed_input = {}) {
    int run = 0;
    const KernelHandle kernel =
        device.add([&](const FakeDevice::Call& call) -> std::optional<Fault> {
          ++run;
          ++launches;
          for (std::int64_t i = 0; run != idle_run && i < kElements; ++i) {
            float x = 0;
            std::memcpy(&x, call.pointers[0] + 4 * i, 4);
            x += 1;
            std::memcpy(call.pointers[1] + 4 * i, &x, 4);
          }
          if (spoil) spoil(call.pointers[0], call.pointers[1], run);
          return {};
        });
    const Binder bind = [&](const Constants&) -> std::expected<BoundKernel, std::string> {
      return BoundKernel{.kernel = kernel, .launch = {}, .argument_names = {"x", "y"}};
    };
    return Gate(device, truth, &input_cache)
        .check(bind, {{.shape = problem.shape(),
                       .inputs = Inputs::normal,
                       .seed = 1,
                       .changed_input = changed_input}});
  }

  PlusOne problem;
  TruthCache truth{problem};
  FakeDevice device;
  // Made when the device has been taught.
  struct Taught {
    explicit Taught(FakeDevice& device) {
      teach(device);
      teach_sampling(device);
    }
  } taught{device};
  DeviceInputCache input_cache{device};
  int launches = 0;
  int idle_run = 0;  // in which the kernel stores nothing
};

}  // namespace

TEST_CASE("originals: the engine's own kernels copy and compare, to the last byte") {
  const auto device = measuring_emulator();
  DeviceInputCache input_cache(*device);
  REQUIRE(input_cache.usable());
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{4099},
        std::size_t{256 * 16 * 3 + 5}, std::size_t{600'001}}) {
    CAPTURE(bytes);
    const auto written = numbered(bytes);
    constexpr std::size_t kEdge = 32;
    const BufferHandle from = device->allocate(bytes + kEdge), to = device->allocate(bytes + kEdge);
    const std::vector<std::byte> zeros(bytes + kEdge);
    REQUIRE(device->write(from, 0, zeros));
    REQUIRE(device->write(to, 0, zeros));
    REQUIRE(device->write(from, 0, written));
    REQUIRE(input_cache.copy({from, 0}, {to, 16}, bytes));
    std::vector<std::byte> read(bytes + kEdge);
    REQUIRE(device->read(to, 0, read));
    CHECK(std::ranges::equal(std::span(read).subspan(16, bytes), written));
    CHECK(std::ranges::all_of(std::span(read).first(16), [](auto b) { return b == std::byte{0}; }));
    CHECK(std::ranges::all_of(std::span(read).subspan(16 + bytes),
                              [](auto b) { return b == std::byte{0}; }));

    CHECK(*input_cache.first_difference({from, 0}, {to, 16}, bytes) == std::nullopt);
    for (const std::size_t place : {bytes - 1, bytes / 2, std::size_t{0}}) {
      const std::array changed{written[place] ^ std::byte{4}};
      REQUIRE(device->write(to, 16 + place, changed));
      CHECK(*input_cache.first_difference({from, 0}, {to, 16}, bytes) == place);
    }

    device->release(from);
    device->release(to);
  }
}

TEST_CASE("originals: a gate with them sees what one without sees") {
  Bench bench;
  REQUIRE(bench.input_cache.usable());
  CHECK(bench.verdict().passed());
  CHECK(bench.launches == 2);
  constexpr std::size_t kPlace = 4 * 123'457;
  for (const int wrong_run : {1, 2}) {
    const auto finding = [&](auto&& spoil) {
      return bench.verdict([&](std::byte* x, std::byte* y, int run) {
        if (run == wrong_run) spoil(x, y);
      });
    };
    const Verdict output = finding([](std::byte*, std::byte* y) { y[kPlace] ^= std::byte{1}; });
    CHECK(output.finding == (wrong_run == 1 ? Finding::kWrong : Finding::kNotDeterministic));
    CHECK(output.message.find("y[123457]") != std::string::npos);
    const Verdict input = finding([](std::byte* x, std::byte*) { x[kPlace + 2] ^= std::byte{1}; });
    CHECK(input.finding == (wrong_run == 1 ? Finding::kNotDeterministic : Finding::kInputChanged));
    CHECK(finding([](std::byte*, std::byte* y) { y[4 * kElements] ^= std::byte{1}; }).finding ==
          Finding::kGuardDamaged);
    CHECK(finding([](std::byte* x, std::byte*) { x[-1] ^= std::byte{1}; }).finding ==
          Finding::kGuardDamaged);
  }
  CHECK(bench.verdict([](std::byte*, std::byte* y, int) { y[kPlace + 3] = std::byte{0xff}; })
            .finding != Finding::kPassed);
}

TEST_CASE("originals: what a changed input must bring about is seen with them as without") {
  constexpr std::size_t kPlace = 4 * 123'457;
  constexpr int kChangedRun = 3;
  Bench bench;
  const auto spoilt = [&](auto&& spoil) {
    return bench.verdict(
        [&](std::byte* x, std::byte* y, int run) {
          if (run == kChangedRun) spoil(x, y);
        },
        0);
  };
  CHECK(bench.verdict({}, 0).passed());
  CHECK(bench.launches == kChangedRun);
  // All inputs are there by now. What comes back is the output of two runs, to be compared; this
  // device also takes two fills of it over its bus.
  const std::size_t before = bench.device.bus_bytes;
  CHECK(bench.verdict({}, 0).passed());
  CHECK(bench.device.bus_bytes - before < std::size_t{4} * 4 * kElements + (1 << 20));

  const Verdict wrong = spoilt([](std::byte*, std::byte* y) { y[kPlace] ^= std::byte{1}; });
  CHECK(wrong.finding == Finding::kWrong);
  CHECK(test::has(wrong.message, "after x changed in its place: y[123457]"));
  const Verdict input = spoilt([](std::byte* x, std::byte*) { x[kPlace] ^= std::byte{1}; });
  CHECK(input.finding == Finding::kInputChanged);
  CHECK(test::has(input.message, "x[123457]"));
  CHECK(spoilt([](std::byte*, std::byte* y) { y[4 * kElements] ^= std::byte{1}; }).finding ==
        Finding::kGuardDamaged);
  bench.idle_run = kChangedRun;
  const Verdict stale = bench.verdict({}, 0);
  CHECK(stale.finding == Finding::kStale);
  CHECK(test::has(stale.message, "the output stayed as it was when x changed in its place: y[0]"));
}

namespace {

// y counts, but for each third element, which is -1: as integers are that were filled with ones.
class Thirds final : public test::FourNumbers {
 public:
  explicit Thirds(std::int64_t elements) : elements_(elements) {}
  std::string kind() const override { return "thirds"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    Instance made{.shape = shape, .inputs = inputs, .seed = seed, .tensors = {}, .scalars = {}};
    made.tensors.push_back(
        {.name = "y", .type = DType::i32, .role = Role::output, .dims = {elements_}, .bytes = {}});
    return made;
  }
  std::vector<Expectation> expect(const Instance&, Truth) const override {
    Expectation y{
        .tensor = "y", .exact = {}, .bound = std::vector<double>(elements_, 0.0), .rms_bound = 0};
    for (std::int64_t i = 0; i < elements_; ++i) y.exact.push_back(static_cast<double>(value(i)));
    return {y};
  }
  static std::int32_t value(std::int64_t i) {
    return i % 3 == 1 ? -1 : static_cast<std::int32_t>(i);
  }

 private:
  std::int64_t elements_;
};

}  // namespace

TEST_CASE("originals: an integer that nobody writes is found where it should be -1") {
  // On the host and on the device.
  for (const std::int64_t elements : {std::int64_t{1000}, kElements}) {
    CAPTURE(elements);
    const Thirds problem(elements);
    TruthCache truths(problem);
    FakeDevice device;
    teach(device);
    teach_sampling(device);
    DeviceInputCache input_cache(device);
    bool lazy = false;
    const KernelHandle kernel =
        device.add([&](const FakeDevice::Call& call) -> std::optional<Fault> {
          for (std::int64_t i = 0; i < elements; ++i) {
            const std::int32_t value = Thirds::value(i);
            if (!lazy || value != -1) std::memcpy(call.pointers[0] + 4 * i, &value, 4);
          }
          return {};
        });
    BoundKernel bound{.kernel = kernel, .launch = {}, .argument_names = {"y"}};
    const GateCase one{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1};
    const auto gated = [&] {
      return Gate(device, truths, &input_cache)
          .check([&](const Constants&) { return bound; }, {one});
    };
    const auto timed = [&] {
      TimedLaunch launch(device, bound, truths.get(one), &input_cache);
      REQUIRE(device.launch(launch.launch()));
      const auto rejection = launch.check(truths.get(one));
      return rejection ? rejection->finding : Finding::kPassed;
    };
    CHECK(gated().passed());
    CHECK(timed() == Finding::kPassed);
    lazy = true;
    CHECK(gated().finding == Finding::kWrong);
    CHECK(gated().message == "y[1] is never written");
    CHECK(timed() == Finding::kWrong);
  }
}

TEST_CASE("originals: one that a kernel wrote over is found out, and nobody else is charged") {
  Bench bench;
  CHECK(bench.verdict().passed());
  const auto entry = bench.truth.get({bench.problem.shape(), Inputs::normal, 1});
  const auto kept = bench.input_cache.of({entry, &entry->instance}, 0);
  REQUIRE(kept);
  const std::array damage{std::byte{0x7f}};
  REQUIRE(bench.device.write((*kept)->handle(), 4 * 1000 + 3, damage));
  CHECK(bench.verdict().passed());
  // One that is wrong stays so.
  const auto again = bench.input_cache.of({entry, &entry->instance}, 0);
  REQUIRE(bench.device.write((*again)->handle(), 4 * 1000 + 3, damage));
  CHECK(bench.verdict([](std::byte*, std::byte* y, int) { y[5] ^= std::byte{1}; }).finding ==
        Finding::kWrong);
  CHECK(bench.input_cache.intact());
}

}  // namespace fa_tune::test
