// What limits a kernel by what rule, in words and as JSON; and where it is shown.

#include "engine/report/profile.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/report/insights.hpp"
#include "engine/report/page/page.hpp"
#include "engine/report/show.hpp"
#include "engine/report/table.hpp"
#include "engine/report/tuning_hints.hpp"
#include "engine/util/error.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

Profile a_profile() {
  Profile profile;
  profile.source = "ncu";
  profile.version = "2025.3.1.0";
  profile.device = "cuda:0";
  profile.device_name = "NVIDIA H100 80GB HBM3";
  profile.driver = "580.159.04";
  profile.time_kind = "measured";
  profile.time_us = 5.376;
  profile.clock_us = 5.1;
  profile.shares = {{Bottleneck::issue, 41}, {Bottleneck::tensor, 59.9}, {Bottleneck::l2, 20}};
  profile.sms_active = 92;
  profile.occupancy = 18;
  profile.occupancy_possible = 25;
  profile.occupancy_limited_by = "registers";
  profile.registers = 168;
  profile.bank_conflicts = 3;
  profile.stalls = {{"wait", "a fixed time", 30}, {"barrier", "other warps", 70}};
  profile.counters = {{"smsp__inst_executed.sum", 1234567}};
  return profile;
}

Bottleneck found_limit(Profile profile) {
  find_limit(profile);
  return profile.limit;
}

ProfileRow row_of(std::int64_t trial, Profile profile) {
  find_limit(profile);
  return {.trial = trial,
          .source = profile.source,
          .version = profile.version,
          .device = profile.device,
          .device_name = profile.device_name,
          .driver = profile.driver,
          .time_kind = profile.time_kind,
          .time_us = profile.time_us,
          .limited_by = to_text(profile.limit),
          .profile_json = profile_json(profile).dump(),
          .at = ""};
}

bool within_page(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (display_width(text.substr(at, end - at)) > kPageWidth) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

TEST_CASE("the limit is the highest share from 60% on, else idle SMs, else latency") {
  Profile profile = a_profile();
  CHECK(found_limit(profile) == Bottleneck::latency);
  profile.shares[1].percent = 60;
  CHECK(found_limit(profile) == Bottleneck::tensor);
  profile.shares[2].percent = 75;
  CHECK(found_limit(profile) == Bottleneck::l2);
  // With half of the SMs idle, parts of SMs do not count, what they share does.
  profile.sms_active = 49;
  CHECK(found_limit(profile) == Bottleneck::l2);
  profile.shares[2].percent = 20;
  CHECK(found_limit(profile) == Bottleneck::parallelism);
  profile.sms_active = 50;
  CHECK(found_limit(profile) == Bottleneck::tensor);
  profile.launch = 50;
  CHECK(found_limit(profile) == Bottleneck::launch);
  profile.shares.clear();
  profile.launch.reset();
  profile.sms_active.reset();
  CHECK(found_limit(profile) == Bottleneck::latency);
}

TEST_CASE("latency is told with what warps wait for most") {
  Profile profile = a_profile();
  find_limit(profile);
  CHECK(profile.stalls.front().reason == "barrier");
  CHECK(profile.shares.front().resource == Bottleneck::tensor);
  CHECK(profile.because ==
        "no part is at 60% of its peak (the highest is tensor cores, 60%); warps wait most for "
        "barrier: other warps, 70% of their waiting");
  const std::string text = profile_text(profile);
  CAPTURE(text);
  CHECK(has(text, "5.38 us measured; 5.10 us by fa-tune's clock"));
  CHECK(has(text, "18% of an SM's warps, mean; 25% possible, limited by registers"));
  CHECK(has(text, "tensor cores            60%  ####"));
  CHECK(!has(text, "predicted"));
  CHECK(within_page(text));
}

TEST_CASE("a profile goes through JSON whole") {
  Profile profile = a_profile();
  find_limit(profile);
  const std::string text = profile_json(profile).dump();
  CHECK(profile_json(read_profile(text, "x")).dump() == text);
  Profile bare;
  bare.time_us = 1;
  CHECK(profile_json(read_profile(profile_json(bare).dump(), "x")).dump() ==
        profile_json(bare).dump());
  for (const char* const wrong :
       {"", "[]", "{}", R"({"source": 1})", R"({"source":"ncu","version":"1"})"}) {
    CAPTURE(wrong);
    CHECK(has(message_of<UserError>([&] { read_profile(wrong, "trial 7"); }), "trial 7: is no"));
  }
  auto json = profile_json(profile);
  json["limit"] = "nothing";
  CHECK(has(message_of<UserError>([&] { read_profile(json.dump(), "x"); }), "'nothing'"));
}

TEST_CASE("what to try is a table, or says why there is none") {
  TuningHints next;
  CHECK(has(next_moves_text(next), "does not say"));
  next.known = true;
  CHECK(has(next_moves_text(next), "no gene of the template is known to move latency"));
  HintOption fresh;
  fresh.value = std::int64_t{3};
  fresh.also = {{"BLOCK_N", Value(std::int64_t{64}), Value(std::int64_t{32})}};
  fresh.trials = 4;
  fresh.passed = 3;
  fresh.best_ratio = 1.0312;
  HintOption tried;
  tried.value = std::int64_t{1};
  tried.trial = 9;
  tried.outcome = "failed";
  tried.finding = "spill";
  next.moves = {{"STAGES", std::int64_t{2}, {fresh, tried}}, {"WARPS", std::int64_t{4}, {}}};
  const std::string text = next_moves_text(next);
  CAPTURE(text);
  CHECK(has(text, "2 -> 3, with it BLOCK_N 64 -> 32"));
  CHECK(has(text, "not tried; 3 of 4 trials with this value passed, the"));
  CHECK(has(text, "fastest 1.031"));
  CHECK(has(text, "tried, trial 9: failed, spill"));
  CHECK(has(text, "no other valid value in the space: WARPS (4)"));
  CHECK(within_page(text));
  const nlohmann::ordered_json json = next.moves;
  CHECK(json[0]["options"][0]["also"][0]["to"] == 32);
  CHECK(json[0]["options"][1]["ratio"].is_null());
}

TEST_CASE("profiles are kept, and shown with their trial, the run's insights and its page") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const RunRow run = a_run();
  const std::int64_t id = store.begin_run(run);
  const std::int64_t first = store.record_trial(a_trial(id, 1, 20), {}, {}, "a");
  const std::int64_t second = store.record_trial(a_trial(id, 2, 30), {}, {}, "b");
  CHECK(store.profiles(id).empty());
  CHECK(!has(show_text(store, first, {}), "Profile by"));
  CHECK(has(insights_text(run, insights_of(store, id), {}, 3), "none was profiled"));
  CHECK(!has(run_page(store, id, {}), "What limits it"));

  Profile slower = a_profile();
  slower.source = "emulator";
  slower.version = "l4";
  slower.time_kind = "predicted";
  slower.shares[0].percent = 88;
  Profile wrong_at_first = a_profile();
  wrong_at_first.time_us = 99;
  store.record_profile(row_of(first, wrong_at_first));
  store.record_profile(row_of(first, a_profile()));
  store.record_profile(row_of(second, slower));
  const auto profiles = store.profiles(id);
  REQUIRE(profiles.size() == 2);  // the newest of each trial and source
  CHECK(profiles[0].time_us == doctest::Approx(5.376));
  CHECK(profiles[1].limited_by == "issue");
  CHECK(profiles[0].at.size() == 20);
  CHECK(store.profiles(id + 1).empty());

  const std::string shown = show_text(store, first, {});
  CHECK(has(shown, "Profile by ncu 2025.3.1.0 on NVIDIA H100 80GB HBM3 (cuda:0), measured"));
  CHECK(has(shown, "limited by            latency: no part is at 60%"));
  CHECK(!has(show_text(store, second, {}), "ncu 2025"));
  const std::string insights = insights_text(run, insights_of(store, id), profiles, 3);
  CHECK(has(insights, "trial 1, 5.38 us measured: latency: "));
  CHECK(has(insights, "trial 2, 5.38 us predicted: instruction issue: at 88% of its peak"));
  const auto json = nlohmann::json::parse(insights_json(run, insights_of(store, id), profiles));
  CHECK(json["profiles"][1]["limit"] == "issue");
  const std::string page = run_page(store, id, {});
  CHECK(has(page, "What limits it"));
  CHECK(has(page, "Trial 1, 5.38 us, by ncu 2025.3.1.0"));
  CHECK(has(page, "Profiles of other trials: 1"));
  CHECK_THROWS_AS(change(folder / "a.db", "DELETE FROM profiles"), std::exception);
}

TEST_CASE("a profile that was damaged in the database is named") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t id = store.begin_run(a_run());
  const std::int64_t trial = store.record_trial(a_trial(id, 1, 20), {}, {}, "a");
  ProfileRow row = row_of(trial, a_profile());
  row.profile_json = R"({"source":"ncu"})";
  store.record_profile(row);
  CHECK(has(message_of<UserError>([&] { show_text(store, trial, {}); }), "trial 1"));
}

}  // namespace fa_tune::test
