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

// Recorded CTAs of one warp each, `apart` in the grid.
struct Recorded {
  explicit Recorded(const Lengths& lengths, std::uint64_t apart = 1) {
    program.ops.resize(1);
    record = Record(program);
    std::uint64_t number = 0;
    for (const int length : lengths) {
      record.begin_block(number, 1);
      for (int i = 0; i < kUnit * length; ++i) record.issue(0, 0, program.ops[0]);
      record.end_blocks();
      number += apart;
    }
  }
  // Of the last SM.
  RecordedWork on(const emulator::Dim3& grid, std::uint64_t sms, int resident = 1,
                  std::uint64_t ranks = 1) const {
    return RecordedWork::of_last_sms(record, grid, sms, resident, ranks).front();
  }

  Program program;
  Record record;
};

double work_of(const RecordedWork& work) { return work.instructions() / kUnit; }

// Numbers of the recorded CTAs that stand for those of a grid that one SM runs one by one.
std::vector<std::uint64_t> stand_ins(const RecordedWork& work) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < work.count(); ++i) numbers.push_back(work.trace_of(i).block);
  return numbers;
}

}  // namespace

TEST_CASE("of equal CTAs an SM runs its share, and each recorded one about as often") {
  const Recorded equal({3, 3, 3, 3, 3, 3, 3, 3});
  CHECK(equal.on({40}, 4).count() == 10);
  CHECK(equal.on({41}, 4).count() == 11);
  CHECK(work_of(equal.on({41}, 4)) == 33);
  const RecordedWork work = equal.on({80}, 4);
  std::vector<int> times(8, 0);
  for (std::uint64_t i = 0; i < work.count(); ++i) ++times[work.trace_of(i).block];
  CHECK(std::accumulate(times.begin(), times.end(), 0) == 20);
  CHECK(std::ranges::min(times) == 2);
  CHECK(std::ranges::max(times) == 3);
}

TEST_CASE("equal CTAs: the last SM has its share, however many it holds at a time") {
  const Recorded equal({3, 3});
  CHECK(equal.on({12}, 4, 4).count() == 3);  // all at once
  CHECK(equal.on({20}, 4, 4).count() == 5);
  CHECK(equal.on({33}, 4, 4).count() == 9);
}

TEST_CASE("CTAs that have an SM each: the longest counts, wherever it was recorded") {
  for (const Lengths& lengths : {kFalling, kRising, Lengths{2, 8, 1}}) {
    const Recorded recorded(lengths);
    for (const std::uint32_t grid : {1U, 3U, 4U}) {
      const RecordedWork work = recorded.on({grid}, 4);
      CHECK(work.count() == 1);
      CHECK(work_of(work) == kLongest);
    }
  }
}

TEST_CASE("the nearest recorded CTA of the row stands for one, if work rises or falls along it") {
  using Numbers = std::vector<std::uint64_t>;
  // Numbers 0, 5 and 10 of a grid of two rows are at 0, 5 and 2 of a row.
  CHECK(stand_ins(Recorded({1, 6, 3}, 5).on({8, 2}, 1)) ==
        Numbers{0, 0, 10, 10, 5, 5, 5, 5, 0, 0, 10, 10, 5, 5, 5, 5});
  CHECK(stand_ins(Recorded({6, 1, 3}, 5).on({8, 2}, 1)) ==
        Numbers{0, 0, 10, 10, 5, 5, 5, 5, 0, 0, 10, 10, 5, 5, 5, 5});
  // Along planes of 2 by 4: places 0, 3 and 6.
  CHECK(stand_ins(Recorded({1, 2, 3}, 3).on({2, 4, 2}, 1)) ==
        Numbers{0, 0, 3, 3, 3, 6, 6, 6, 0, 0, 3, 3, 3, 6, 6, 6});
  // Along the whole grid.
  CHECK(stand_ins(Recorded({1, 2, 3}, 5).on({3, 2, 2}, 1)) ==
        Numbers{0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10, 10});
  // Along none of them: in turns, those half of them apart on one SM.
  CHECK(stand_ins(Recorded({1, 5, 9, 2}, 3).on({2, 3, 2}, 1)) ==
        Numbers{0, 6, 0, 6, 3, 9, 3, 9, 6, 0, 6, 0});
}

TEST_CASE(
    "between two recorded CTAs work changes evenly, and the SM's may differ from the stand-ins'") {
  // Of 9 places the first and the last are recorded, with 1 and 9: all of them have 1 to 9, 45, and
  // the first half is nearer to the first.
  const Recorded ends({1, 9}, 8);
  const RecordedWork work = ends.on({9}, 1);
  CHECK(work_of(work) == 5 * 1 + 4 * 9);
  CHECK(work.scale() == doctest::Approx(45.0 / 41));
  // Behind the last one recorded it changes no more.
  CHECK(Recorded({1, 9}, 2).on({5}, 1).scale() == doctest::Approx((1 + 5 + 9 + 9 + 9) / 29.0));
  CHECK(Recorded(kRising).on({8}, 1).scale() == 1);
  CHECK(Recorded({1, 5, 9, 2}, 3).on({2, 3, 2}, 1).scale() == 1);  // their order tells nothing
}

TEST_CASE("of clusters the CTAs of each rank are a row of their own") {
  // The second CTA of each cluster has more to do than the first, and both fall along the grid.
  using Numbers = std::vector<std::uint64_t>;
  const Recorded clusters({8, 9, 6, 7, 4, 5, 2, 3});
  CHECK(stand_ins(clusters.on({8}, 1, 1, 2)) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
  const RecordedWork longer = clusters.on({8, 2}, 1, 1, 2);
  CHECK(stand_ins(longer) == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(longer.scale() == 1);
  // Taken for one row it neither rises nor falls: four in a row are alike then.
  CHECK(stand_ins(clusters.on({8, 2}, 1)) != stand_ins(longer));
}

TEST_CASE("CTAs go to the SM that has room first") {
  // The first SM has the first CTA alone, and is done last.
  CHECK(stand_ins(Recorded({9, 3, 2, 1}).on({4}, 2)) == std::vector<std::uint64_t>{0});
  // Each of two has a partition to itself: the other SM has room first, and is done before the first.
  CHECK(stand_ins(Recorded({9, 8, 5, 4, 3}).on({5}, 2, 2)) == std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("the CTAs' warps share the partitions of their SM, one behind the other") {
  // The ninth CTA goes to the second SM, where one of 1 was done first, and stands in the way of the
  // one of 8 that began there: its partition would be free.
  const Recorded recorded({8, 8, 2, 2, 2, 2, 2, 1, 1});
  CHECK(stand_ins(recorded.on({9}, 2, 4)) == std::vector<std::uint64_t>{1, 3, 5, 7, 8});
}

TEST_CASE("several SMs are looked at that may be done last, no two with the same work") {
  using Works = std::vector<RecordedWork>;
  const auto of_last = [](const Recorded& recorded, const emulator::Dim3& grid, int resident) {
    return RecordedWork::of_last_sms(recorded.record, grid, 8, resident);
  };
  const Works works = of_last(Recorded(kFalling, 9), {64, 40}, 2);
  REQUIRE(works.size() == 3);
  for (std::size_t i = 1; i < works.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(stand_ins(works[i]) != stand_ins(works[j]));
  CHECK(of_last(Recorded({3, 3}), {64, 40}, 2).size() == 1);
  CHECK(of_last(Recorded(kFalling), {8}, 2).size() == 1);
}

TEST_CASE("CTAs of different lengths: the busiest SM has its share, and little more") {
  for (const Lengths& lengths : {kFalling, kRising}) {
    const Recorded recorded(lengths, 9);  // places 0 to 63 of a row
    for (const std::uint64_t sms : {20, 128, 132}) {
      for (const std::uint32_t rows : {40U, 80U}) {
        for (const int resident : {1, 2, 4}) {
          CAPTURE(lengths.front());
          CAPTURE(sms);
          CAPTURE(rows);
          CAPTURE(resident);
          const double share = kMean * 64 * rows / static_cast<double>(sms);
          const RecordedWork last = recorded.on({64, rows}, sms, resident);
          const double work = work_of(last) * last.scale();
          CHECK(work >= 0.99 * share);
          CHECK(work <= share + kLongest * resident);
        }
      }
    }
  }
}

TEST_CASE("what the traces keep of the first CTAs is counted in their order") {
  const Recorded recorded(kFalling);
  const RecordedWork work = recorded.on({16}, 4);
  double kept = 0;
  for (std::uint64_t i = 0; i < work.count(); ++i) {
    CHECK(work.kept(i) == kept);
    kept += static_cast<double>(work.trace_of(i).warps[0].kept);
  }
  CHECK(work.kept(work.count()) == work.instructions());
}

}  // namespace fa_tune::test
