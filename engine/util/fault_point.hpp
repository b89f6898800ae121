#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fa_tune {

// Places on the way of a run at which the program can be made to die as by `kill -9`: nothing is
// tidied up and nothing more is written. Tests kill at each of them and see that a run goes on as
// if nothing had been; FA_TUNE_FAULT=NAME, or NAME:N for the N-th passage, does it to the program.
struct FaultPoint {
  std::string_view name;
  std::string_view where;
};

// `fa-tune doctor --fault-points` lists them.
inline constexpr auto kFaultPoints = std::to_array<FaultPoint>({
    {"schema_applied", "one migration has run, its transaction is open"},
    {"schema_committed", "the schema is on disk"},
    {"run_written", "a new run's row is written, not committed"},
    {"run_committed", "a new run is on disk, nothing of it was tried"},
    {"run_resumed", "a stored run is held and read, nothing of it was changed"},
    {"generation_asked", "the strategy has proposed, nothing is compiled"},
    {"generation_prepared", "the proposals are with the compilers"},
    {"generation_told", "a generation is on disk and the strategy knows it"},
    {"trial_compiled", "a variant is compiled, its attempt is not written"},
    {"attempt_written", "an attempt is written, not committed"},
    {"attempt_committed", "an attempt is on disk, its kernel has not run"},
    {"trial_gated", "a kernel passed the gate, it is not timed"},
    {"trial_timed", "a kernel is timed, its trial is not written"},
    {"trial_written", "a trial, its parents and samples are written, not committed"},
    {"trial_committed", "a trial is on disk, nobody was told"},
    {"search_over", "the budget is spent, the finals have not begun"},
    {"final_gated", "a finalist has its figure, which is not written"},
    {"final_written", "a finalist's figure is written, not committed"},
    {"final_committed", "a finalist's figure is on disk"},
    {"finals_over", "all finalists are on disk, the insights are not"},
    {"insights_written", "the insights are written, not committed"},
    {"insights_committed", "the insights are on disk, the run is still called running"},
    {"state_written", "the run's new state is on disk, its lock is held"},
    {"file_made", "a file's temporary twin is there, empty"},
    {"file_written", "the twin holds all bytes, which are not synced"},
    {"file_synced", "the twin is on disk under its own name"},
    {"file_named", "the file has its name"},
    {"backup_begun", "a backup's temporary file is there, empty"},
    {"backup_half", "a backup has its first pages"},
    {"backup_whole", "a backup is on disk under a temporary name"},
    {"backup_named", "a backup has its name"},
});

// One of them, named by a literal; a name that is not there does not compile.
class FaultPointName {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is to stand for it
  consteval FaultPointName(const char* name) : place_(find(name)) {
    if (place_ == kFaultPoints.size()) throw std::logic_error("no such fault point");
  }

  // Its place in the list; the list's size if there is none of that name.
  static constexpr std::size_t find(std::string_view name) {
    std::size_t place = 0;
    while (place < kFaultPoints.size() && kFaultPoints[place].name != name) ++place;
    return place;
  }

  constexpr std::size_t place() const { return place_; }

 private:
  std::size_t place_;
};

namespace fault_point_detail {
inline std::atomic<std::size_t> armed = kFaultPoints.size();  // nothing is armed
void pass();
}  // namespace fault_point_detail

inline void fault_point(FaultPointName point) {
  if (fault_point_detail::armed.load(std::memory_order_relaxed) == point.place())
    fault_point_detail::pass();
}

// Takes "NAME" or "NAME:N". Throws UserError for what is neither.
void arm_fault_point(const std::string& spec);

// Does so with FA_TUNE_FAULT if it is set.
void arm_fault_point_of_environment();

}  // namespace fa_tune
