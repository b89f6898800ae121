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
    agree(Finding::kPassed);
    const auto with = [&](std::size_t row, std::uint16_t bits, const std::string& finding) {
      const auto before = sampled.bytes;
      sampled.set(row * Sampled::kLength + 17, bits);
      agree(finding);
      sampled.bytes = before;
    };
    // In a row that is known, in one that is not, and in the last.
    with(19, half, Finding::kWrong);
    with(20, half, Finding::kPassed);
    for (const std::size_t row : {19, 20, 8191}) with(row, 0xffff, Finding::kNotFinite);
    for (const std::size_t row : {19, 20, 8191}) with(row, three, Finding::kWrong);
    for (const std::size_t row : {19, 20, 8191})
      with(row, static_cast<std::uint16_t>(three | 0x8000U), Finding::kWrong);
    with(23, half, Finding::kWrong);
    with(23, 0x8000, Finding::kPassed);
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
  CHECK(compare_rows(output, rows->bytes(), *expectation).finding == Finding::kPassed);
  CHECK(device.buffers_held() == before);
}

}  // namespace fa_tune::test
