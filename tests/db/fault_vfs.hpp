#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace fa_tune::test {

// What SQLite asks of the disk.
enum class DiskCall {
  open,
  read,
  write,
  truncate,
  sync,
  size,
  lock,
  shared_map,   // of the log's index
  shared_lock,  // of the log's index
  remove,
  access,
};
inline constexpr int kDiskCalls = 11;

std::string to_text(DiskCall call);

// While it lives, every database that this process opens goes through it to the real disk, and one
// call, or all from one on, can be made to fail. Nothing is really synced or waited for, so that a
// scenario can be run thousands of times. One at a time.
class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // From now on the N-th call of that kind answers with SQLite's `code`; those behind it too if
  // `for_good`.
  void fail(DiskCall call, int nth, int code, bool for_good);
  void fail_nothing();
  // Whether a call has failed since fail().
  bool struck() const;

  // The wall clock that SQLite sees: each look at it is `step_ms` after the one before, which may
  // be before it.
  void set_clock(std::int64_t unix_ms, std::int64_t step_ms);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace fa_tune::test
