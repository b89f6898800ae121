#include "engine/device/emulator/timing/recorded_work.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

// Which of the recorded CTAs the SM runs that is done last.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

using Lengths = std::vector<int>;

constexpr int kUnit = 100;  // instructions that a length counts
const Lengths kFalling = {8, 7, 6, 5, 4, 3, 2, 1};
const Lengths kRising = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr double kMean = 4.5;
constexpr double kLongest = 8;

// Recorded CTAs of one warp each.
struct Recorded {
  explicit Recorded(const Lengths& lengths) {
    program.ops.resize(1);
    record = Record(program);
    std::uint64_t number = 0;
    for (const int length : lengths) {
      record.begin_block(number++, 1);
      for (int i = 0; i < kUnit * length; ++i) record.issue(0, 0, program.ops[0]);
      record.end_blocks();
    }
  }
  RecordedWork on(std::uint64_t grid, std::uint64_t sms, int resident = 1) const {
    return {record, grid, sms, resident};
  }

  Program program;
  Record record;
};

double work_of(const RecordedWork& work) { return work.instructions() / kUnit; }

}  // namespace

TEST_CASE("of equal CTAs an SM runs its share, and each recorded one about as often") {
  const Recorded equal({3, 3, 3, 3, 3, 3, 3, 3});
  CHECK(equal.on(40, 4).count() == 10);
  CHECK(equal.on(41, 4).count() == 11);
  CHECK(work_of(equal.on(41, 4)) == 33);
  const RecordedWork work = equal.on(80, 4);
  std::vector<int> times(8, 0);
  for (std::uint64_t i = 0; i < work.count(); ++i) ++times[work.trace_of(i).block];
  CHECK(std::accumulate(times.begin(), times.end(), 0) == 20);
  CHECK(std::ranges::min(times) == 2);
  CHECK(std::ranges::max(times) == 3);
}

TEST_CASE("CTAs that have an SM each: the longest counts, wherever it was recorded") {
  for (const Lengths& lengths : {kFalling, kRising, Lengths{2, 8, 1}}) {
    const Recorded recorded(lengths);
    for (const std::uint64_t grid : {1, 3, 4}) {
      const RecordedWork work = recorded.on(grid, 4);
      CHECK(work.count() == 1);
      CHECK(work_of(work) == kLongest);
    }
  }
}

// A recorded CTA stands for four in a row: these grids, of 40 and more, have all eight.
TEST_CASE("CTAs of different lengths: the busiest SM has its share, and at most one CTA more") {
  for (const Lengths& lengths : {kFalling, kRising}) {
    const Recorded recorded(lengths);
    for (const std::uint64_t sms : {20, 128, 132}) {
      for (const std::uint64_t each : {2, 4, 8, 12, 40}) {
        CAPTURE(lengths.front());
        CAPTURE(sms);
        CAPTURE(each);
        const double share = kMean * static_cast<double>(each);
        const double work = work_of(recorded.on(sms * each, sms));
        CHECK(work >= 0.99 * share);
        CHECK(work <= share + kLongest);
      }
    }
  }
}

TEST_CASE("CTAs that share an SM from the beginning are not all the longest") {
  for (const Lengths& lengths : {kFalling, kRising}) {
    const Recorded recorded(lengths);
    for (const int resident : {2, 4, 8}) {
      CAPTURE(lengths.front());
      CAPTURE(resident);
      const RecordedWork work =
          recorded.on(128 * static_cast<std::uint64_t>(resident), 128, resident);
      CHECK(work.count() == static_cast<std::uint64_t>(resident));
      CHECK(work_of(work) > kLongest);
      CHECK(work_of(work) <= 0.8 * kLongest * resident);
    }
  }
}

TEST_CASE("what the traces keep of the first CTAs is counted in their order") {
  const Recorded recorded(kFalling);
  const RecordedWork work = recorded.on(16, 4);
  double kept = 0;
  for (std::uint64_t i = 0; i < work.count(); ++i) {
    CHECK(work.kept(i) == kept);
    kept += static_cast<double>(work.trace_of(i).warps[0].kept);
  }
  CHECK(work.kept(work.count()) == work.instructions());
}

}  // namespace fa_tune::test
