#include <cstring>

#include <doctest/doctest.h>

#include "engine/gate/gate.hpp"
#include "engine/gate/reference_run.hpp"
#include "engine/util/bytes.hpp"
#include "tests/engine/gate/fake_device.hpp"
#include "tests/engine/gate/four_numbers.hpp"
#include "tests/forwarding_device.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;

namespace {

constexpr std::size_t kNumbers = std::size_t{5} << 20;  // of x: 20 MB, no multiple of a piece

// y is what the first four of a large x are.
class FirstFour final : public test::FourNumbers {
 public:
  std::string kind() const override { return "first four"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    std::vector<float> x(kNumbers);
    for (std::size_t i = 0; i < kNumbers; ++i) x[i] = static_cast<float>(i % 1000 + seed);
    Instance made{
        .shape = shape,
        .inputs = inputs,
        .seed = seed,
        .tensors =
            {{.name = "x",
              .type = DType::f32,
              .role = Role::input,
              .dims = {static_cast<std::int64_t>(kNumbers)},
              .bytes = std::vector<std::byte>(kNumbers * sizeof(float))},
             {.name = "y", .type = DType::f32, .role = Role::output, .dims = {4}, .bytes = {}}},
        .scalars = {}};
    std::memcpy(made.tensors[0].bytes.data(), x.data(), made.tensors[0].bytes.size());
    return made;
  }
  std::vector<Expectation> expect(const Instance& instance, Truth) const override {
    const auto first = static_cast<double>(instance.seed);
    return {{.tensor = "y",
             .exact = {first, first + 1, first + 2, first + 3},
             .bound = {0, 0, 0, 0},
             .rms_bound = 0}};
  }
};

Verdict verdict_of(const std::function<void(const FakeDevice::Call&)>& spoil) {
  const FirstFour problem;
  TruthCache truth(problem);
  FakeDevice device;
  const KernelHandle kernel = device.add([&](const FakeDevice::Call& call) -> std::optional<Fault> {
    std::memcpy(call.pointers[1], call.pointers[0], 4 * sizeof(float));
    spoil(call);
    return std::nullopt;
  });
  const Binder bind = [&](const Constants&) -> std::expected<BoundKernel, std::string> {
    return BoundKernel{.kernel = kernel, .launch = {}, .argument_names = {"x", "y"}};
  };
  return Gate(device, truth)
      .check(bind, {{.shape = problem.shape(), .inputs = Inputs::normal, .seed = 1}});
}

}  // namespace

TEST_CASE("large inputs: what is done to them in either launch is seen, and past either end") {
  CHECK(verdict_of([](const auto&) {}).passed());
  for (const int launch : {1, 2})
    for (const std::size_t byte : {std::size_t{17}, 4 * kNumbers / 2, 4 * kNumbers - 1}) {
      const Verdict verdict = verdict_of([&](const FakeDevice::Call& call) {
        if (call.number == launch) call.pointers[0][byte] ^= std::byte{1};
      });
      CHECK(verdict.finding == Finding::kInputChanged);
      CHECK(verdict.message.find("x[" + std::to_string(byte / 4) + "]") != std::string::npos);
    }
  for (const std::ptrdiff_t place : {std::ptrdiff_t{-1}, static_cast<std::ptrdiff_t>(4 * kNumbers)})
    CHECK(verdict_of([&](const FakeDevice::Call& call) {
            call.pointers[0][place] ^= std::byte{1};
          }).finding == Finding::kGuardDamaged);
}

TEST_CASE(
    "large inputs: outputs are compared after the first launch and with those of the second") {
  CHECK(verdict_of([](const FakeDevice::Call& call) {
          if (call.number == 1) call.pointers[1][2] ^= std::byte{1};
        }).finding == Finding::kWrong);
  CHECK(verdict_of([](const FakeDevice::Call& call) {
          if (call.number == 2) call.pointers[1][2] ^= std::byte{1};
        }).finding == Finding::kNotDeterministic);
}

TEST_CASE("large bytes: copied whole, and the first difference of several is told") {
  std::vector<std::byte> from(3 * kPieceBytes + 5), to(from.size() + 1, std::byte{9});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  copy_large(from, to);
  CHECK(to.back() == std::byte{9});
  const auto copied = std::span(to).first(from.size());
  CHECK_FALSE(first_difference_of_large(from, copied));
  for (const std::size_t place :
       {from.size() - 1, 2 * kPieceBytes, 2 * kPieceBytes - 1, std::size_t{0}}) {
    to[place] ^= std::byte{1};
    CHECK(first_difference_of_large(from, copied) == place);
  }
  copy_large({}, to);
  CHECK_FALSE(first_difference_of_large({}, {}));
}

namespace {

// Counts what goes over the bus.
class Bus final : public test::ForwardingDevice {
 public:
  Bus(std::unique_ptr<Device> inner, std::size_t& bytes)
      : ForwardingDevice(std::move(inner)), bytes_(bytes) {}
  std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                   std::span<const std::byte> bytes) override {
    bytes_ += bytes.size();
    return inner().write(buffer, offset, bytes);
  }
  std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                  std::span<std::byte> bytes) override {
    bytes_ += bytes.size();
    return inner().read(buffer, offset, bytes);
  }

 private:
  std::size_t& bytes_;
};

struct Referred {
  std::string said;  // nothing if it is believed
  std::size_t bus_bytes = 0;
};

// FirstFour's reference, which does something besides in one of its runs.
Referred referred(int spoiled_run, const std::function<void(const FakeDevice::Call&)>& spoil) {
  Referred told;
  const DeviceMaker device = [&] {
    auto fake = std::make_unique<FakeDevice>();
    fake->knows("plain", [&](const FakeDevice::Call& call) -> std::optional<Fault> {
      std::memcpy(call.pointers[1], call.pointers[0], 4 * sizeof(float));
      if (call.number == spoiled_run) spoil(call);
      return std::nullopt;
    });
    return std::make_unique<Bus>(std::move(fake), told.bus_bytes);
  };
  const CompileCall compile = [](const CompileRequest& request) -> CompileOutcome {
    Compiled compiled;
    compiled.image.kernel = request.source.kernel;
    return compiled;
  };
  const FirstFour problem;
  ReferenceCall call;
  call.source.kernel = "plain";
  call.arguments = {"x", "y"};
  const auto runner = make_reference_runner(device, compile);
  const Instance instance = problem.make(problem.shape(), Inputs::normal, 1);
  try {
    runner->run(call, instance, [](const Tensor&, std::span<const std::byte> bytes) {
      CHECK(bytes.size() == 4 * sizeof(float));
    });
  } catch (const UserError& error) {
    told.said = error.what();
  }
  return told;
}

}  // namespace

TEST_CASE("a large input of a reference goes to the device once and comes back once") {
  const Referred sound = referred(0, {});
  CHECK(sound.said.empty());
  const std::size_t once = kNumbers * sizeof(float);
  CHECK(sound.bus_bytes > 2 * once);
  CHECK(sound.bus_bytes < 2 * once + (1 << 20));
  for (const int run : {1, 2}) {
    CAPTURE(run);
    const auto writes =
        referred(run, [](const auto& call) { call.pointers[0][4 * 1'000'001] ^= std::byte{1}; });
    CHECK_MESSAGE(test::has(writes.said, "wrote to an input: x[1000001]"), writes.said);
    const auto beyond =
        referred(run, [](const auto& call) { call.pointers[0][-3] = std::byte{0}; });
    CHECK_MESSAGE(test::has(beyond.said, "wrote before the start of x"), beyond.said);
  }
}

}  // namespace fa_tune::test
