#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "engine/profiler/ncu.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::profiler;
using namespace fa_tune::report;

namespace {

NcuReport report_of(std::vector<NcuReport::Metric> metrics) {
  metrics.push_back({"gpu__time_duration.sum", "ns", 5376});
  return {std::move(metrics)};
}

double share(const Profile& profile, Bottleneck resource) {
  const auto found = std::ranges::find(profile.shares, resource, &ResourceShare::resource);
  return found == profile.shares.end() ? -1 : found->percent;
}

}  // namespace

TEST_CASE("no metric is asked for twice, and each by its whole name") {
  const auto names = ncu_metrics();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : names) CHECK(name.find("__") != std::string::npos);
}

TEST_CASE("metrics become shares, stalls and occupancy") {
  const Profile profile = profile_of(report_of({
      {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", 71},
      {"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", "%", 68},
      {"smsp__issue_active.avg.pct_of_peak_sustained_active", "%", 30},
      {"sm__cycles_active.avg", "cycle", 750},
      {"sm__cycles_elapsed.max", "cycle", 1000},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", 18},
      {"sm__maximum_warps_per_active_cycle_pct", "%", 25},
      {"launch__occupancy_limit_registers", "block", 2},
      {"launch__occupancy_limit_shared_mem", "block", 1},
      {"launch__registers_per_thread", "register/thread", 168},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "", 1000},
      {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "", 250},
      {"smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", "inst", 3},
      {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "inst", 1},
      {"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", "inst", 1},
  }));
  CHECK(profile.time_us == doctest::Approx(5.376));
  CHECK(profile.time_kind == "measured");
  CHECK(share(profile, Bottleneck::tensor) == 71);  // the higher of the two
  CHECK(share(profile, Bottleneck::dram) == -1);
  CHECK(profile.limit == Bottleneck::tensor);
  CHECK(*profile.sms_active == doctest::Approx(75));
  CHECK(profile.occupancy == 18);
  CHECK(profile.occupancy_possible == 25);
  CHECK(profile.occupancy_limited_by == "shared memory");
  CHECK(profile.registers == 168);
  CHECK(*profile.bank_conflicts == doctest::Approx(25));
  REQUIRE(profile.stalls.size() == 2);  // to be selected is no stall
  CHECK(profile.stalls[0].reason == "gmma");
  CHECK(profile.stalls[0].percent == doctest::Approx(75));
  CHECK(profile.counters.size() == 16);
}

TEST_CASE("times in every unit, and none") {
  for (const auto& [unit, us] :
       {std::pair{"ns", 0.002}, {"nsecond", 0.002}, {"us", 2.0}, {"msecond", 2000.0}}) {
    NcuReport report{{{"gpu__time_duration.sum", unit, 2},
                      {"lts__throughput.avg.pct_of_peak_sustained_elapsed", "%", 5}}};
    CHECK(profile_of(report).time_us == doctest::Approx(us));
  }
  CHECK_THROWS_AS(profile_of({{{"gpu__time_duration.sum", "%", 2}}}), MachineError);
  CHECK_THROWS_AS(profile_of({{{"gpu__time_duration.sum", "ns", 0}}}), MachineError);
  CHECK_THROWS_AS(profile_of({{}}), MachineError);
  CHECK_THROWS_AS(profile_of(report_of({})), MachineError);  // not one share
}

}  // namespace fa_tune::test
