#include "tests/fuzz/try_database.hpp"

#include <stdexcept>
#include <system_error>

#include "db/backup.hpp"
#include "db/check.hpp"
#include "db/store.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
namespace {

namespace fs = std::filesystem;

RunRow small_run() {
  RunRow run;
  run.space = run.space_hash = run.target = "small";
  run.space_text = "space: small\n";
  run.problem = "attention";
  run.shape_json = R"({"B":1})";
  run.device = "emulator:l4";
  run.device_name = run.compiler = run.strategy = "some";
  run.arch = "sm_89";
  run.time_kind = "predicted";
  return run;
}

std::string source_of(std::int64_t number) {
  return std::string(300, 'k') + std::to_string(number);
}

void record(Store& store, std::int64_t run, std::int64_t number) {
  TrialRow trial;
  trial.run = run;
  trial.number = number;
  trial.config_json = R"({"A":)" + std::to_string(number) + "}";
  trial.operation = "random";
  const bool passed = number % 3 != 0;
  trial.stage = passed ? "screen" : "gate";
  trial.outcome = passed ? Outcome::passed : Outcome::failed;
  trial.finding = passed ? "passed" : "wrong";
  trial.source_hash = sha256(source_of(number));
  if (passed) trial.screen_time = ScreenTime{{10, 10, 10}};
  std::vector<ParentRow> parents;
  if (const auto parent = store.trial(run, number - 1)) parents = {{0, parent->id, 0, "{}"}};
  std::vector<SampleRow> samples;
  if (passed) samples = {{0, "screen", {9, 11}}};
  store.record_attempt(run, number, trial.config_json);
  store.record_trial(trial, parents, samples, source_of(number));
}

void read_all(const fs::path& path) {
  const Store store(path, Store::Mode::read);
  for (const RunRow& run : store.runs()) {
    (void)store.open_attempts(run.id);
    (void)store.insights(run.id);
    (void)store.finals(run.id);
    (void)store.profiles(run.id);
    (void)store.proposer_messages(run.id);
    for (const TrialRow& trial : store.trials(run.id)) {
      (void)store.samples(trial.id);
      (void)store.parents(trial.id);
      (void)store.source(trial.source_hash);
    }
  }
  (void)store.best({});
}

void go_on(const fs::path& path, bool& opened) {
  Store store(path, Store::Mode::write);
  opened = true;
  const auto runs = store.runs();
  if (runs.empty()) return;
  const std::int64_t run = runs.front().id;
  store.hold_run(run);
  store.set_run_state(run, "running");
  record(store, run, static_cast<std::int64_t>(store.trials(run).size()) + 1);
  store.record_insights(run, {{"effect", 1, true, "words", "{}"}});
  store.set_run_state(run, "done");
}

template <typename Action>
std::string outcome_of(Action&& action) {
  try {
    action();
    return "done";
  } catch (const UserError&) {
    return "refused";
  } catch (const MachineError&) {
    return "failed";
  }
}

}  // namespace

void make_sound_database(const fs::path& path) {
  Store store(path, Store::Mode::write);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t run = store.begin_run(small_run());
    for (int number = 1; number <= 5; ++number) record(store, run, number);
    store.record_final(store.trial(run, 1)->id, {9, 8, 10}, {9});
    FinalRow raced;
    raced.trial = store.trial(run, 1)->id;
    raced.rank_us = 9;
    raced.time = {9, 8, 10};
    raced.samples_us = {9};
    raced.detail_json = "{}";
    raced.cold = {12, 11, 13};
    raced.cold_samples_us = {12};
    raced.cold_detail_json = "{}";
    store.record_race({raced});
    store.record_proposer_messages(run, {{"sent", "t", "hello"}});
    store.record_insights(run, {{"effect", 1, true, "words", "{}"}});
    store.record_profile({.trial = store.trial(run, 1)->id,
                          .source = "ncu",
                          .version = "1",
                          .device = "cuda:0",
                          .device_name = "x",
                          .driver = "",
                          .time_kind = "measured",
                          .time_us = 9,
                          .limited_by = "l2",
                          .profile_json = R"({"limit":"l2"})",
                          .at = ""});
    store.set_run_state(run, "done");
  }
}

std::string try_database(const fs::path& path) {
  const std::string before = read_file(path);
  const auto require_unchanged = [&](const char* step) {
    if (read_file(path) != before) throw std::logic_error(std::string(step) + " changed the file");
  };
  const fs::path copy = path.string() + ".copy";
  std::error_code error;
  fs::remove(copy, error);
  std::string line = "read " + outcome_of([&] { read_all(path); });
  line += ", check " + outcome_of([&] {
            line += check_database(path).defects.empty() ? ", sound" : ", not sound";
          });
  line += ", backup " + outcome_of([&] { backup_database(path, copy); });
  fs::remove(copy, error);
  require_unchanged("reading");
  bool opened = false;
  const std::string written = outcome_of([&] { go_on(path, opened); });
  if (!opened) require_unchanged("a refusal to write");
  return line + ", write " + written;
}

std::string edited(const std::string& sound, std::string_view edits) {
  std::string bytes = sound;
  for (; edits.size() >= 4 && !bytes.empty(); edits.remove_prefix(4)) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(edits[i]); };
    const std::size_t place =
        (at(0) | static_cast<std::size_t>(at(1)) << 8 | static_cast<std::size_t>(at(2)) << 16) %
        bytes.size();
    if (place % 4096 == 0 && edits[3] == 0)
      bytes.resize(place);
    else
      bytes[place] = edits[3];
  }
  return bytes;
}

}  // namespace fa_tune::test
