#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/interval.hpp"
#include "engine/model/outcome.hpp"

namespace fa_tune::db {

// Rows as the database has them, as plain data: the store knows nothing but rows.

struct RunRow {
  std::int64_t id = 0;
  std::string space;        // name
  std::string space_hash;   // Space::hash
  std::string space_text;   // the YAML as it was
  std::string problem;      // kind
  std::string shape_json;   // the timed shape
  std::string device;       // "cuda:0", "emulator:l4"
  std::string device_name;  // "NVIDIA H100 80GB HBM3"
  std::string arch;         // what was compiled for
  std::string target;       // profile whose limits held
  std::string time_kind;    // "measured" or "predicted"
  std::string driver;
  std::string compiler;  // "NVRTC 13.0"
  std::string strategy;
  std::uint64_t seed = 0;
  std::string options_json;  // what else decides the run: generation size, jobs, ...
  std::string state;         // "running", "done", "interrupted"
  std::string started_at;    // UTC, ISO 8601
  std::string finished_at;   // empty while running
};

// The two figures that a trial may have, each with its interval: of 95% where measured, of 90% where
// predicted, which then need not hold the figure (engine/device/device.hpp, Timing). They were taken at different times
// and with different care, so they have no common type: screens are compared with screens, finals
// with finals.
struct ScreenTime {
  Interval us;  // flatters the lucky: for the search, not to be published
};
struct FinalTime {
  Interval us;  // taken anew, and beside others where there was a race
};

// The stages of a trial, in order; the record says the last one reached.
//   space, duplicate_source, compile, resources, duplicate_code, launch, gate, screen, final
// and how it ended there.
struct TrialRow {
  std::int64_t id = 0;  // over the whole database
  std::int64_t run = 0;
  std::int64_t number = 0;  // within the run, from 1
  std::string config_json;
  std::string operation;
  std::string stage;
  Outcome outcome = Outcome::failed;
  std::string finding;      // a gate finding, a fault kind, "compile_error", "spill", ...; "passed"
  std::string message;      // one line
  std::string source_hash;  // of sources; may be empty if none was made
  std::string code_hash;
  // KernelIdentity: a duplicate has that of its twin. Empty if the trial did not come so far, and
  // in runs that are older than this column.
  std::string identity;
  std::int64_t duplicate_of = 0;  // trial id, 0 for none
  int registers = -1, spill_bytes = -1, static_shared_bytes = -1, dynamic_shared_bytes = -1;
  double compile_ms = 0, gate_ms = 0, measure_ms = 0;
  int gate_cases = 0;
  double worst_ratio = 0, worst_rms = 0;
  // Present only if the trial was timed, and if the finals kept it. `time_kind` is the run's.
  std::optional<ScreenTime> screen_time;
  std::optional<FinalTime> final_time;
  // A prediction's counters, bound and what its interval rests on, or how its screen was taken.
  std::string detail_json;
  std::string finished_at;
  std::string device;           // the device that ran the kernel, "cuda:1"; empty if none did
  std::optional<double> at_ms;  // of the run's search, earlier sessions included; none in old runs
};

struct ParentRow {
  std::int64_t trial = 0;   // trial id
  std::int64_t parent = 0;  // trial id
  int ordinal = 0;          // 0: the main parent
  std::string
      genes_json;  // {"BLOCK_M":[64,32]}: value in the parent, value in the child; null if absent
};

struct SampleRow {
  std::int64_t trial = 0;
  std::string phase;  // "screen", "final"
  std::vector<double> us;
};

// How the search of one call of evolve spent its time; see migration lanes.
struct SessionRow {
  std::string devices_json;    // ["cuda:0","cuda:1"]
  std::string breakdown_json;  // Breakdown as JSON
};

// What a run taught; see migration insights.
struct InsightRow {
  std::string kind;  // "effect", "interaction", "failure", "operator"
  int place = 1;     // within its kind, the most useful first
  bool seen = false;
  std::string text;
  std::string insight_json;

  friend bool operator==(const InsightRow&, const InsightRow&) = default;
};

// What a run's finals found of a trial that was raced: see migration final_races.
struct FinalRow {
  std::int64_t trial = 0;  // trial id
  int race = 1;            // of its run
  int place = 1;
  bool tied_first = false;
  double rank_us = 0;
  FinalTime time;                  // the trial's own from then on
  std::vector<double> samples_us;  // written, not read: Store::samples
  int blocks = 0;
  Interval ratio = {1};  // of its time to that of the race's fastest
  std::string detail_json;
  std::optional<FinalTime> cold;  // and what belongs to it
  std::vector<double> cold_samples_us;
  std::string cold_detail_json;
};

// What limited a trial when it was profiled: see migration profiles.
struct ProfileRow {
  std::int64_t trial = 0;  // trial id
  std::string source;      // "ncu", "emulator"
  std::string version;
  std::string device;
  std::string device_name;
  std::string driver;
  std::string time_kind;  // "measured", "predicted"
  double time_us = 0;
  std::string limited_by;
  std::string profile_json;
  std::string at;  // UTC, ISO 8601; the store's own when it is written
};

// What the plain kernel of a run's problem takes, timed as trials are screened: see migration
// plain_kernels.
struct PlainKernelRow {
  std::optional<ScreenTime> time;  // of the run's kind
  std::string detail_json;         // of that
  std::string message;             // one line: why there is none
};

// How a run stood when its engine last wrote that: see migration run_status.
struct RunStatusRow {
  std::string at;  // UTC, ISO 8601
  std::string status_json;
};

// A piece of a run's talk with an outside proposer.
struct ProposerMessageRow {
  std::string direction;  // "sent", "received", "note", "taken"
  std::string at;         // UTC, ISO 8601
  std::string text;
};

// Which trials `best` chooses from.
struct TrialFilter {
  std::optional<std::int64_t> run;
  std::optional<std::string> space;
  std::optional<std::string> device;      // id or name
  std::optional<std::string> shape_json;  // every key given must match; UserError if not an object
  std::optional<std::string> time_kind;   // never mixed: without it, measured if there are any
  int limit = 10;                         // negative for all
};

// The database, one transaction a trial or a Group of them. SQLite with WAL, synchronous=FULL, STRICT tables and
// foreign keys; `application_id` marks the file as ours and `user_version` its schema. Rows are
// never deleted. Several processes may work on one file, each on runs of its own (RunLease).
// Opening throws UserError for a file that is not such a database or is newer than this program
// (nothing is changed), MachineError for a disk that is full or a file that is locked; so does
// every write, and then nothing of that transaction is kept. A row that breaks the schema (an
// unknown stage, a time that is not a number) is a mistake in the engine: std::logic_error. One
// thread at a time; another process may read meanwhile.
class Store {
 public:
  enum class Mode { read, write };  // write creates the file and brings an older schema up to date

  // While one lives, attempts and trials that are recorded go to disk together, when it commits: a
  // commit waits for the disk, which is most of what a trial costs the store. Without a commit none
  // of them is kept. One at a time.
  class Group {
   public:
    explicit Group(Store& store);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    void commit();

   private:
    Store& store_;
  };

  Store(const std::filesystem::path& path, Mode mode);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Begins a run. This store holds it until its state is set to another than "running" or the store
  // is closed.
  std::int64_t begin_run(const RunRow& run);
  // Holds a stored run from now on. Throws UserError if another process works on it.
  void hold_run(std::int64_t run);
  // The process that works on it at this moment, as "process 4711"; empty if there is none.
  std::string holder_of(std::int64_t run) const;
  // "done", "interrupted", "running (process 4711)", "killed": who was killed had no time to write
  // that its run no longer runs.
  std::string standing(const RunRow& run) const;
  void set_run_state(std::int64_t run, const std::string& state);
  std::optional<RunRow> run(std::int64_t id) const;
  std::vector<RunRow> runs() const;  // newest first

  // Writes, to disk, that a trial's kernel is about to run for the first time. If the engine dies,
  // this says which kernel ran. Returns how many attempts there now are for this trial number.
  int record_attempt(std::int64_t run, std::int64_t number, const std::string& config_json);
  // Attempts without a trial: those that were under way when a run died.
  std::vector<std::pair<std::int64_t, std::string>> open_attempts(std::int64_t run) const;

  // Writes one trial with its parents (ids) and samples, all or nothing. The source is stored once,
  // by hash.
  std::int64_t record_trial(const TrialRow& trial, const std::vector<ParentRow>& parents,
                            const std::vector<SampleRow>& samples, const std::string& source_text);
  // Writes a finalist's new figure: adds samples, keeps the screen's figure, sets the stage to
  // "final".
  void record_final(std::int64_t trial, const FinalTime& time, const std::vector<double>& samples);
  // The same for all trials of a race, with what the race said of them, all or nothing.
  void record_race(const std::vector<FinalRow>& rows);
  // Records that a finalist failed in the finals: its outcome changes, its samples stay.
  void fail_final(std::int64_t trial, const std::string& finding, const std::string& message);
  std::vector<FinalRow> finals(std::int64_t run) const;  // by race and place

  // Adds messages behind those that are there, all or nothing.
  void record_proposer_messages(std::int64_t run, const std::vector<ProposerMessageRow>& messages);
  std::vector<ProposerMessageRow> proposer_messages(std::int64_t run) const;  // in order

  // Once a run.
  void record_plain_kernel(std::int64_t run, const PlainKernelRow& plain);
  std::optional<PlainKernelRow> plain_kernel(std::int64_t run) const;

  void record_session(std::int64_t run, const SessionRow& session);
  std::vector<SessionRow> sessions(std::int64_t run) const;  // oldest first

  // Replaces that of the run.
  void record_status(std::int64_t run, const RunStatusRow& status);
  std::optional<RunStatusRow> status(std::int64_t run) const;

  // Replaces the insights of that run.
  void record_insights(std::int64_t run, const std::vector<InsightRow>& insights);
  std::vector<InsightRow> insights(std::int64_t run) const;  // by kind and place

  void record_profile(const ProfileRow& profile);
  // By trial and source, the newest of each.
  std::vector<ProfileRow> profiles(std::int64_t run) const;

  std::vector<TrialRow> trials(std::int64_t run) const;  // by number
  // The oldest trial whose kernel, of that source, ended the process that ran it (finding "crash"
  // or "hang"), in this run or, with `others`, in any run of the same architecture, compiler and
  // kind of time. Of other runs, a process killed by signal 9 does not count: the engine sends it
  // only to hangs, so perhaps the machine ended that process, as it does when memory is short.
  std::optional<TrialRow> deadly_trial(std::int64_t run, const std::string& source_hash,
                                       bool others) const;
  std::optional<TrialRow> trial(std::int64_t id) const;
  std::optional<TrialRow> trial(std::int64_t run, std::int64_t number) const;
  // Only trials that passed, fastest first. Finals come before those that were only screened,
  // because the fastest of many screens is mostly the luckiest. Trials that tie in a race of finals
  // are in the order of its places; for equal times, fewer registers come first, then the older
  // trial.
  std::vector<TrialRow> best(const TrialFilter& filter) const;
  std::vector<ParentRow> parents(std::int64_t trial) const;
  std::vector<SampleRow> samples(std::int64_t trial) const;
  std::optional<std::string> source(const std::string& hash) const;

  struct State;  // for this folder alone

 private:
  std::unique_ptr<State> state_;
};

}  // namespace fa_tune::db
