#include "engine/gate/device_input_cache.hpp"

#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/device/profile.hpp"
#include "engine/gate/output_check.hpp"
#include "engine/gate/timed_launch.hpp"
#include "engine/util/half.hpp"
#include "tests/engine/gate/fake_device.hpp"
#include "tests/engine/gate/four_numbers.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/helpers.hpp"

using namespace fa_tune;

namespace {

std::unique_ptr<Device> measuring_emulator() {
  return std::make_unique<test::MeasuringEmulator>(
      open_emulator(load_profile("l4", FA_TUNE_ROOT), 1), [](const KernelImage&) { return 1.0; });
}

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 7 % 251);
  return made;
}

// What the two kernels do, for a device of C++ functions.
void teach(FakeDevice& device) {
  const auto bytes_of = [](const FakeDevice::Call& call) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, call.scalars[0].data(), sizeof bytes);
    return bytes;
  };
  device.knows("fa_tune_copy", [=](const FakeDevice::Call& call) -> std::optional<Fault> {
    std::memcpy(call.pointers[1], call.pointers[0], bytes_of(call));
    return {};
  });
  device.knows("fa_tune_differ", [=](const FakeDevice::Call& call) -> std::optional<Fault> {
    const auto *a = call.pointers[0], *b = call.pointers[1];
    const std::uint64_t at =
        static_cast<std::uint64_t>(std::mismatch(a, a + bytes_of(call), b).first - a);
    const std::uint64_t word = at / 16 * 16;
    if (at < bytes_of(call)) std::memcpy(call.pointers[2], &word, sizeof word);
    return {};
  });
}

void teach_sampling(FakeDevice& device) {
  const auto scalar = [](const FakeDevice::Call& call, std::size_t i) {
    std::uint64_t value = 0;
    std::memcpy(&value, call.scalars[i].data(), sizeof value);
    return value;
  };
  const auto at = []<typename T>(const std::byte* from, std::uint64_t i, T) {
    T value{};
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    return value;
  };
  device.knows("fa_tune_limits", [=](const FakeDevice::Call& call) -> std::optional<Fault> {
    for (std::uint64_t i = scalar(call, 0); i-- > 0;) {
      const std::uint64_t length = scalar(call, 1);
      const std::uint64_t place = at(call.pointers[1], i / length, 0U) * length + i % length;
      const auto rank = BoundRanks::rank_of(at(call.pointers[0], i, std::uint16_t{}));
      if (rank < at(call.pointers[2], place, std::int16_t{}) ||
          rank > at(call.pointers[3], place, std::int16_t{}))
        std::memcpy(call.pointers[4], &i, sizeof i);
    }
    return {};
  });
  device.knows("fa_tune_rows", [=](const FakeDevice::Call& call) -> std::optional<Fault> {
    const std::uint64_t length = scalar(call, 1);
    for (std::uint64_t row = 0; row < scalar(call, 0) / length; ++row)
      std::memcpy(call.pointers[2] + row * length * 2,
                  call.pointers[0] + at(call.pointers[1], row, 0U) * length * 2, length * 2);
    return {};
  });
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
    for (std::size_t i = 0; i < static_cast<std::size_t>(kElements); ++i)
      y.exact.push_back(static_cast<double>(i % 1000 + instance.seed + 1));
    return {y};
  }
};

// The gate with its input cache, and kernels that begin with the right answer and then do what they
// will.
class Bench {
 public:
  Verdict verdict(const std::function<void(std::byte* x, std::byte* y, int run)>& spoil = {}) {
    int run = 0;
    const KernelHandle kernel =
        device.add([&](const FakeDevice::Call& call) -> std::optional<Fault> {
          ++run;
          ++launches;
          for (std::int64_t i = 0; i < kElements; ++i) {
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
        .check(bind, {{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1}});
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
    CHECK(output.finding == (wrong_run == 1 ? Finding::wrong : Finding::not_deterministic));
    CHECK(output.message.find("y[123457]") != std::string::npos);
    const Verdict input = finding([](std::byte* x, std::byte*) { x[kPlace + 2] ^= std::byte{1}; });
    CHECK(input.finding == (wrong_run == 1 ? Finding::not_deterministic : Finding::input_changed));
    CHECK(finding([](std::byte*, std::byte* y) { y[4 * kElements] ^= std::byte{1}; }).finding ==
          Finding::guard_damaged);
    CHECK(finding([](std::byte* x, std::byte*) { x[-1] ^= std::byte{1}; }).finding ==
          Finding::guard_damaged);
  }
  CHECK(bench.verdict([](std::byte*, std::byte* y, int) { y[kPlace + 3] = std::byte{0xff}; })
            .finding != Finding::passed);
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
    const BoundKernel bound{.kernel = kernel, .launch = {}, .argument_names = {"y"}};
    const GateCase one{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1};
    const auto gated = [&] {
      return Gate(device, truths, &input_cache)
          .check([&](const Constants&) { return bound; }, {one});
    };
    const auto timed = [&] {
      TimedLaunch launch(device, bound, truths.get(one), &input_cache);
      REQUIRE(device.launch(launch.launch()));
      const auto rejection = launch.check(truths.get(one));
      return rejection ? rejection->finding : Finding::passed;
    };
    CHECK(gated().passed());
    CHECK(timed() == Finding::passed);
    lazy = true;
    CHECK(gated().finding == Finding::wrong);
    CHECK(gated().message == "y[1] is never written");
    CHECK(timed() == Finding::wrong);
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
        Finding::wrong);
  CHECK(bench.input_cache.intact());
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

namespace {

// An output of 8,192 rows of 64, of which every sixteenth is known, in two ranges of limits, one of
// them zeros alone. Right as it is made.
struct Sampled {
  static constexpr std::size_t kRows = 8192, kLength = 64;

  explicit Sampled(DType type) {
    Tensor output{
        .name = "O", .type = type, .role = Role::output, .dims = {kRows, kLength}, .bytes = {}};
    Expectation expected{.tensor = "O", .exact = {}, .bound = {}, .rms_bound = 1e-2};
    expected.limits = {.row_elements = kLength, .range_of_row = {}, .least = {}, .most = {}};
    for (std::size_t i = 0; i < kLength; ++i) {
      expected.limits.least.push_back(-2.0F - static_cast<float>(i) / 64);
      expected.limits.most.push_back(1.0F);
    }
    expected.limits.least.resize(2 * kLength);
    expected.limits.most.resize(2 * kLength);
    for (std::size_t row = 0; row < kRows; ++row) {
      const bool zeros = row % 5 == 3;
      expected.limits.range_of_row.push_back(zeros ? 1 : 0);
      if (row % 16 == 3) expected.rows.push_back(static_cast<std::uint32_t>(row));
      for (std::size_t i = 0; i < kLength; ++i) {
        const double value = zeros ? 0.0 : static_cast<double>((row + i) % 7) / 4 - 1;
        set(row * kLength + i, type == DType::bf16 ? to_bf16(value) : to_f16(value));
        if (row % 16 != 3) continue;
        expected.exact.push_back(value);
        expected.bound.push_back(0.01);
      }
    }
    auto made = std::make_shared<TruthCache::Entry>();
    made->instance.tensors = {output};
    made->expectations = {expected};
    truth = made;
  }

  void set(std::size_t element, std::uint16_t bits) {
    if (bytes.empty()) bytes.resize(kRows * kLength * 2);
    std::memcpy(bytes.data() + 2 * element, &bits, 2);
  }

  std::vector<std::byte> bytes;
  std::shared_ptr<const TruthCache::Entry> truth;
};

}  // namespace

TEST_CASE("originals: a sampled output is compared on the device as it is on the host") {
  const auto device = measuring_emulator();
  DeviceInputCache input_cache(*device);
  REQUIRE(input_cache.usable());
  for (const DType type : {DType::f16, DType::bf16}) {
    CAPTURE(static_cast<int>(type));
    Sampled sampled(type);
    const Tensor& output = sampled.truth->instance.tensors[0];
    REQUIRE(input_cache.can_sample(output, sampled.truth->expectations[0]));
    const BufferHandle buffer = device->allocate(sampled.bytes.size());
    const auto agree = [&](const std::string& finding) {
      REQUIRE(device->write(buffer, 0, sampled.bytes));
      const auto there =
          compare_on_device(*device, &input_cache, {buffer, 0}, output, sampled.truth);
      REQUIRE(there);
      const Comparison here = compare(output, sampled.bytes, sampled.truth->expectations[0]);
      CHECK(there->finding == finding);
      CHECK(here.finding == finding);
      CHECK(there->message == here.message);
      CHECK(there->worst_ratio == here.worst_ratio);
      CHECK(there->rms == here.rms);
    };
    const std::uint16_t half = type == DType::bf16 ? to_bf16(0.5) : to_f16(0.5);
    const std::uint16_t three = type == DType::bf16 ? to_bf16(3.0) : to_f16(3.0);
    agree(Finding::passed);
    const auto with = [&](std::size_t row, std::uint16_t bits, const std::string& finding) {
      const auto before = sampled.bytes;
      sampled.set(row * Sampled::kLength + 17, bits);
      agree(finding);
      sampled.bytes = before;
    };
    // In a row that is known, in one that is not, and in the last.
    with(19, half, Finding::wrong);
    with(20, half, Finding::passed);
    for (const std::size_t row : {19, 20, 8191}) with(row, 0xffff, Finding::not_finite);
    for (const std::size_t row : {19, 20, 8191}) with(row, three, Finding::wrong);
    for (const std::size_t row : {19, 20, 8191})
      with(row, static_cast<std::uint16_t>(three | 0x8000U), Finding::wrong);
    with(23, half, Finding::wrong);
    with(23, 0x8000, Finding::passed);
    CHECK(*input_cache.within_limits({buffer, 0}, output,
                                     {sampled.truth, &sampled.truth->expectations[0]}));
    device->release(buffer);
  }
}

TEST_CASE("originals: which rows are sampled is not left on the device") {
  FakeDevice device;
  teach(device);
  teach_sampling(device);
  DeviceInputCache input_cache(device);
  Sampled sampled(DType::f16);
  const Tensor& output = sampled.truth->instance.tensors[0];
  const BufferHandle buffer = device.allocate(sampled.bytes.size());
  REQUIRE(device.write(buffer, 0, sampled.bytes));
  const std::shared_ptr<const Expectation> expectation(sampled.truth,
                                                       &sampled.truth->expectations[0]);
  REQUIRE(input_cache.within_limits({buffer, 0}, output, expectation));
  const std::size_t before = device.buffers_held();
  const auto rows = input_cache.sampled_rows({buffer, 0}, output, expectation);
  REQUIRE(rows);
  CHECK(compare_rows(output, rows->bytes(), *expectation).finding == Finding::passed);
  CHECK(device.buffers_held() == before);
}
