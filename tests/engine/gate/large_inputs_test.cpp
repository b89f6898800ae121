#include <cstring>

#include <doctest/doctest.h>

#include "engine/base/parallel_bytes.hpp"
#include "engine/gate/gate.hpp"
#include "tests/engine/gate/fake_device.hpp"
#include "tests/engine/gate/four_numbers.hpp"

using namespace fa_tune;

namespace {

constexpr std::size_t numbers = std::size_t{5} << 20;  // of x: 20 MB, no multiple of a piece

// y is what the first four of a large x are.
class FirstFour final : public test::FourNumbers {
 public:
  std::string kind() const override { return "first four"; }
  Instance make(const Constants& shape, Inputs inputs, std::uint64_t seed) const override {
    std::vector<float> x(numbers);
    for (std::size_t i = 0; i < numbers; ++i) x[i] = static_cast<float>(i % 1000 + seed);
    Instance made{
        .shape = shape,
        .inputs = inputs,
        .seed = seed,
        .tensors =
            {{.name = "x",
              .type = DType::f32,
              .role = Role::input,
              .dims = {static_cast<std::int64_t>(numbers)},
              .bytes = std::vector<std::byte>(numbers * sizeof(float))},
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
  CHECK(verdict_of([](const auto&) {}).right());
  for (const int launch : {1, 2})
    for (const std::size_t byte : {std::size_t{17}, 4 * numbers / 2, 4 * numbers - 1}) {
      const Verdict verdict = verdict_of([&](const FakeDevice::Call& call) {
        if (call.number == launch) call.pointers[0][byte] ^= std::byte{1};
      });
      CHECK(verdict.finding == Finding::input_changed);
      CHECK(verdict.message.find("x[" + std::to_string(byte / 4) + "]") != std::string::npos);
    }
  for (const std::ptrdiff_t place : {std::ptrdiff_t{-1}, static_cast<std::ptrdiff_t>(4 * numbers)})
    CHECK(verdict_of([&](const FakeDevice::Call& call) {
            call.pointers[0][place] ^= std::byte{1};
          }).finding == Finding::guard_damaged);
}

TEST_CASE(
    "large inputs: outputs are compared after the first launch and with those of the second") {
  CHECK(verdict_of([](const FakeDevice::Call& call) {
          if (call.number == 1) call.pointers[1][2] ^= std::byte{1};
        }).finding == Finding::wrong);
  CHECK(verdict_of([](const FakeDevice::Call& call) {
          if (call.number == 2) call.pointers[1][2] ^= std::byte{1};
        }).finding == Finding::not_deterministic);
}

TEST_CASE("large bytes: copied whole, and the first difference of several is told") {
  std::vector<std::byte> from(3 * piece_bytes + 5), to(from.size() + 1, std::byte{9});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  copy_large(from, to);
  CHECK(to.back() == std::byte{9});
  const auto copied = std::span(to).first(from.size());
  CHECK_FALSE(first_difference_of_large(from, copied));
  for (const std::size_t place :
       {from.size() - 1, 2 * piece_bytes, 2 * piece_bytes - 1, std::size_t{0}}) {
    to[place] ^= std::byte{1};
    CHECK(first_difference_of_large(from, copied) == place);
  }
  copy_large({}, to);
  CHECK_FALSE(first_difference_of_large({}, {}));
}
