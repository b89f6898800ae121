#include <cmath>
#include <limits>
#include <stdexcept>

#include <doctest/doctest.h>

#include "db/check.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

TEST_CASE("a run comes back as it was, and its state moves") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  RunRow run = a_run();
  run.id = store.begin_run(run);
  const auto back = store.run(run.id);
  REQUIRE(back);
  CHECK(back->space == "l4");
  CHECK(back->space_hash == "5ace");
  CHECK(back->space_text == run.space_text);
  CHECK(back->problem == "attention");
  CHECK(back->shape_json == run.shape_json);
  CHECK(back->device == "emulator:l4");
  CHECK(back->device_name == "emulator of NVIDIA L4");
  CHECK(back->arch == "sm_89");
  CHECK(back->target == "l4");
  CHECK(back->time_kind == "predicted");
  CHECK(back->driver.empty());
  CHECK(back->compiler == "NVRTC 13.0");
  CHECK(back->strategy == "evolution");
  CHECK(back->seed == 18'446'744'073'709'551'615U);
  CHECK(back->options_json == R"({"jobs":2})");
  CHECK(back->state == "running");
  CHECK(back->started_at == "2026-01-02T03:04:05Z");
  CHECK(back->finished_at.empty());

  store.set_run_state(run.id, "interrupted");
  CHECK(store.run(run.id)->state == "interrupted");
  CHECK(store.run(run.id)->finished_at.size() == 20);
  store.set_run_state(run.id, "running");
  CHECK(store.run(run.id)->finished_at.empty());
  CHECK_THROWS_AS(store.set_run_state(run.id, "asleep"), std::logic_error);
  CHECK_THROWS_AS(store.set_run_state(99, "done"), std::logic_error);

  const std::int64_t second = store.begin_run(run);
  REQUIRE(store.runs().size() == 2);
  CHECK(store.runs().front().id == second);
  CHECK_FALSE(store.run(99));
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM spaces") == "1");
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM devices") == "1");
}

TEST_CASE("a trial comes back as it was, with parents, samples and source") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const std::int64_t first = store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  const TrialRow trial = a_trial(run, 2, 80);
  const std::vector<double> us = {80.1, 1.0 / 3, 1e-3, 123456.789012345};
  const std::int64_t id = store.record_trial(trial, {{0, first, 0, R"({"BLOCK_M":[1,2]})"}},
                                             {{0, "screen", us}}, "kernel 2");
  const auto back = store.trial(id);
  REQUIRE(back);
  CHECK(back->id == id);
  CHECK(back->run == run);
  CHECK(back->number == 2);
  CHECK(back->config_json == trial.config_json);
  CHECK(back->operation == "mutate");
  CHECK(back->stage == "screen");
  CHECK(back->outcome == Outcome::passed);
  CHECK(back->finding == "passed");
  CHECK(back->message.empty());
  CHECK(back->source_hash == "source2");
  CHECK(back->code_hash == "code2");
  CHECK(back->duplicate_of == 0);
  CHECK(back->registers == 96);
  CHECK(back->spill_bytes == 0);
  CHECK(back->static_shared_bytes == 1024);
  CHECK(back->dynamic_shared_bytes == 49152);
  CHECK(back->compile_ms == 312.5);
  CHECK(back->gate_ms == 20.25);
  CHECK(back->measure_ms == 7.125);
  CHECK(back->gate_cases == 12);
  CHECK(back->worst_ratio == 0.4);
  CHECK(back->worst_rms == 0.0001);
  REQUIRE(back->screen_time);
  CHECK(back->screen_time->us.value == 80);
  CHECK(back->screen_time->us.low == trial.screen_time->us.low);
  CHECK(back->screen_time->us.high == trial.screen_time->us.high);
  CHECK_FALSE(back->final_time);
  CHECK(back->detail_json == trial.detail_json);
  CHECK(back->finished_at == trial.finished_at);
  CHECK(store.trial(run, 2)->id == id);
  CHECK_FALSE(store.trial(run, 3));

  REQUIRE(store.parents(id).size() == 1);
  CHECK(store.parents(id)[0].parent == first);
  CHECK(store.parents(id)[0].genes_json == R"({"BLOCK_M":[1,2]})");
  REQUIRE(store.samples(id).size() == 1);
  CHECK(store.samples(id)[0].us == us);
  CHECK(store.source("source2") == "kernel 2");
  CHECK_FALSE(store.source("source3"));
}

TEST_CASE("a failed trial without figures has none when it comes back") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  TrialRow trial;
  trial.run = store.begin_run(a_run());
  trial.number = 1;
  trial.config_json = "{}";
  trial.stage = "gate";
  trial.outcome = Outcome::failed;
  trial.finding = "not_finite";
  trial.message = "O[3] is NaN";
  trial.worst_ratio = std::numeric_limits<double>::quiet_NaN();
  trial.worst_rms = std::numeric_limits<double>::infinity();
  const auto back = store.trial(store.record_trial(trial, {}, {}, ""));
  CHECK(back->registers == -1);
  CHECK(back->source_hash.empty());
  CHECK_FALSE(back->screen_time);
  CHECK(std::isnan(back->worst_ratio));
  CHECK(std::isinf(back->worst_rms));
  CHECK(back->finished_at.size() == 20);
  CHECK(ask(folder / "a.db",
            "SELECT count || message FROM (SELECT count, example AS message "
            "FROM failures WHERE stage = 'gate')") == "1O[3] is NaN");
}

TEST_CASE("nothing is tried twice in a run, and a transaction is whole or not there") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const std::int64_t first = store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  const auto unchanged = [&] {
    return ask(folder / "a.db",
               "SELECT (SELECT count(*) FROM trials) || (SELECT count(*) FROM samples) || "
               "(SELECT count(*) FROM lineage_edges) || (SELECT count(*) FROM sources)") == "1001";
  };
  TrialRow same_number = a_trial(run, 2, 90);
  same_number.number = 1;
  CHECK(has(message_of<UserError>([&] { store.record_trial(same_number, {}, {}, "x"); }),
            "recorded already"));
  CHECK(unchanged());
  TrialRow same_config = a_trial(run, 1, 90);
  same_config.number = 2;
  CHECK_THROWS_AS(store.record_trial(same_config, {}, {}, "x"), UserError);
  CHECK(unchanged());
  // The last insert of the transaction is the one that fails.
  const TrialRow good = a_trial(run, 2, 90);
  CHECK_THROWS_AS(store.record_trial(good, {{0, first, 0, "{}"}}, {{0, "warm", {1.0}}}, "kernel 2"),
                  std::logic_error);
  CHECK(unchanged());
  CHECK_THROWS_AS(store.record_trial(good, {{0, 77, 0, "{}"}}, {}, "kernel 2"), std::logic_error);
  CHECK(unchanged());
  CHECK_THROWS_AS(store.record_trial(good, {}, {{0, "screen", {std::nan("")}}}, "kernel 2"),
                  std::logic_error);
  CHECK(unchanged());
  TrialRow unknown_stage = good;
  unknown_stage.stage = "lunch";
  CHECK_THROWS_AS(store.record_trial(unknown_stage, {}, {}, "kernel 2"), std::logic_error);
  CHECK_THROWS_AS(store.record_trial(good, {}, {}, ""), std::logic_error);
  CHECK(unchanged());
  CHECK(store.record_trial(good, {}, {}, "kernel 2") == first + 1);
  // Another run may try what this one tried, and the source is kept once.
  CHECK_NOTHROW(store.record_trial(a_trial(store.begin_run(a_run()), 2, 90), {}, {}, "kernel 2"));
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM sources") == "2");
}

TEST_CASE("a group's rows go to disk together, when it commits, and a bad one takes none with it") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const auto on_disk = [&] {
    return ask(folder / "a.db",
               "SELECT (SELECT count(*) FROM trials) || ' ' || (SELECT count(*) FROM sources) || "
               "' ' || count(*) FROM attempts");
  };
  {
    Store::Group group(store);
    store.record_attempt(run, 1, "{}");
    store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
    CHECK(on_disk() == "0 0 0");
  }
  CHECK(on_disk() == "0 0 0");
  {
    Store::Group group(store);
    store.record_attempt(run, 1, "{}");
    store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
    TrialRow bad = a_trial(run, 2, 80);
    bad.stage = "lunch";
    CHECK_THROWS_AS(store.record_trial(bad, {}, {}, "kernel 2"), std::logic_error);
    store.record_trial(a_trial(run, 3, 90), {}, {}, "kernel 3");
    CHECK(on_disk() == "0 0 0");
    group.commit();
    CHECK(on_disk() == "2 2 1");
  }
  // After it each is by itself again.
  store.record_trial(a_trial(run, 4, 90), {}, {}, "kernel 4");
  CHECK(on_disk() == "3 3 1");
}

TEST_CASE("rows are never deleted") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  store.record_trial(a_trial(store.begin_run(a_run()), 1, 100), {}, {{0, "screen", {1}}}, "kernel");
  for (const char* table : {"spaces", "devices", "runs", "trials", "samples", "sources"})
    CHECK_THROWS(change(folder / "a.db", std::string("DELETE FROM ") + table));
}

TEST_CASE("what the plain kernel takes is kept once a run, with a time or the reason for none") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t timed = store.begin_run(a_run());
  const std::int64_t not_timed = store.begin_run(a_run());
  CHECK_FALSE(store.plain_kernel(timed));
  store.record_plain_kernel(timed, {ScreenTime{{60, 59, 61}}, R"({"bound":"l2"})", ""});
  store.record_plain_kernel(not_timed, {std::nullopt, "", "it keeps state"});
  const auto plain = store.plain_kernel(timed);
  REQUIRE(plain);
  CHECK(plain->time.value().us.value == 60);
  CHECK(plain->time->us.high == 61);
  CHECK(plain->detail_json == R"({"bound":"l2"})");
  CHECK(plain->message.empty());
  CHECK_FALSE(store.plain_kernel(not_timed).value().time);
  CHECK(store.plain_kernel(not_timed)->message == "it keeps state");
  CHECK_THROWS(store.record_plain_kernel(timed, {ScreenTime{{50}}, "{}", ""}));
  CHECK_THROWS(store.record_plain_kernel(store.begin_run(a_run()), {}));
  CHECK(store.plain_kernel(timed)->time->us.value == 60);
}

TEST_CASE("a final figure takes the row and leaves the screen's beside it") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const std::int64_t id =
      store.record_trial(a_trial(run, 1, 100), {}, {{0, "screen", {99, 101}}}, "kernel 1");
  store.record_final(id, {104, 103, 105}, {103, 104, 105});
  CHECK(store.trial(id)->stage == "final");
  const TrialRow trial = store.trial(id).value();
  REQUIRE((trial.final_time && trial.screen_time));
  CHECK(trial.final_time->us.value == 104);
  CHECK(trial.final_time->us.low == 103);
  CHECK(trial.final_time->us.high == 105);
  CHECK(trial.screen_time->us.value == 100);
  REQUIRE(store.samples(id).size() == 2);
  CHECK(store.samples(id)[1].us == std::vector<double>{103, 104, 105});
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM sample_values") == "5");

  store.fail_final(id, "wrong_value", "ragged Lq=77: O[5] is 3, expected 4");
  CHECK(store.trial(id)->outcome == Outcome::failed);
  CHECK(store.trial(id)->finding == "wrong_value");
  CHECK(store.samples(id).size() == 2);
  CHECK(store.best({}).empty());
  CHECK_THROWS_AS(store.record_final(99, {1, 1, 1}, {1}), std::logic_error);
  CHECK_THROWS_AS(store.fail_final(99, "x", "y"), std::logic_error);
  CHECK_THROWS_AS(store.record_final(id, {0, 0, 0}, {}), std::logic_error);
}

TEST_CASE("a run's status is that which was written last, and stays") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t one = store.begin_run(a_run()), other = store.begin_run(a_run());
  CHECK_FALSE(store.status(one).has_value());
  store.record_status(one, {"t1", R"({"phase":"search"})"});
  store.record_status(one, {"t2", R"({"phase":"finals"})"});
  CHECK(store.status(one)->at == "t2");
  CHECK(store.status(one)->status_json == R"({"phase":"finals"})");
  CHECK_FALSE(store.status(other).has_value());
  // What a live engine writes another process reads.
  CHECK(Store(folder / "a.db", Store::Mode::read).status(one)->at == "t2");
  CHECK_THROWS_AS(store.record_status(one, {"t3", "no JSON"}), std::logic_error);
  CHECK_THROWS_AS(store.record_status(99, {"t3", "{}"}), std::logic_error);
  CHECK(store.status(one)->at == "t2");
  CHECK_THROWS(change(folder / "a.db", "DELETE FROM run_status"));
}

TEST_CASE("attempts without a trial are what a run was at when it died") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const TrialRow first = a_trial(run, 1, 100);
  CHECK(store.record_attempt(run, 1, first.config_json) == 1);
  CHECK(store.record_attempt(run, 2, R"({"a":1})") == 1);
  CHECK(store.record_attempt(run, 2, R"({"a":2})") == 2);
  CHECK(store.open_attempts(run).size() == 2);
  store.record_trial(first, {}, {}, "kernel 1");
  const auto open = store.open_attempts(run);
  REQUIRE(open.size() == 1);
  CHECK(open[0].first == 2);
  CHECK(open[0].second == R"({"a":2})");
  CHECK(store.open_attempts(run + 1).empty());
  CHECK_THROWS_AS(store.record_attempt(99, 1, "{}"), std::logic_error);
}

TEST_CASE("a proposer's words come back in order, each run's apart, and stay") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t one = store.begin_run(a_run()), other = store.begin_run(a_run());
  const auto texts = [&](std::int64_t run) {
    std::string all;
    for (const ProposerMessageRow& message : store.proposer_messages(run))
      all += message.direction + " " + message.at + " " + message.text + ";";
    return all;
  };
  store.record_proposer_messages(one, {{"sent", "t1", "hello"}, {"received", "t2", "ready"}});
  store.record_proposer_messages(other, {{"note", "t3", "it has gone"}});
  store.record_proposer_messages(one, {{"taken", "t4", "{}"}});
  CHECK(texts(one) == "sent t1 hello;received t2 ready;taken t4 {};");
  CHECK(texts(other) == "note t3 it has gone;");

  // A decision is JSON or nothing of the transaction is kept.
  CHECK_THROWS_AS(
      store.record_proposer_messages(one, {{"note", "t5", "fine"}, {"taken", "t6", "no JSON"}}),
      std::logic_error);
  CHECK(texts(one) == "sent t1 hello;received t2 ready;taken t4 {};");
  CHECK_THROWS_AS(store.record_proposer_messages(99, {{"note", "t7", "no such run"}}),
                  std::logic_error);
}

TEST_CASE("which deaths a run has from others: none with them left out, and none of signal 9") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t ours = store.begin_run(a_run()), theirs = store.begin_run(a_run());
  const auto record = [&](std::int64_t run, std::int64_t number, char source,
                          const std::string& finding, const std::string& message) {
    TrialRow trial = a_trial(run, number, 1);
    trial.stage = "launch";
    trial.outcome = Outcome::failed;
    trial.finding = finding;
    trial.message = "the process that ran it was lost twice: " + message;
    trial.source_hash = std::string(64, source);
    trial.screen_time.reset();
    store.record_trial(trial, {}, {}, std::string(1, source));
  };
  record(theirs, 1, 'a', "crash", "signal 11 (Segmentation fault)");
  record(theirs, 2, 'b', "hang", "no answer within 5 s");
  record(theirs, 3, 'c', "crash", "signal 9 (Killed)");
  record(ours, 1, 'd', "crash", "signal 9 (Killed)");
  const auto knows = [&](char source, bool others) {
    return store.deadly_trial(ours, std::string(64, source), others).has_value();
  };
  CHECK(knows('a', true));
  CHECK(knows('b', true));
  CHECK_FALSE(knows('c', true));
  CHECK(knows('d', true));
  CHECK_FALSE(knows('a', false));
  CHECK_FALSE(knows('b', false));
  CHECK(knows('d', false));
}

}  // namespace fa_tune::test
