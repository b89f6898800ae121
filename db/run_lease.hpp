#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace fa_tune::db {

// The right to work on one run of a database, which one process at a time has. It is a lock of the
// operating system on FILE-runs beside the database: byte N stands for run N. Byte 0 is shared by
// all that use the file, so that the last of them can remove it. The system releases the lock when
// the process ends, however it ends. So no clock and no list of processes decides which process
// still runs, and a run that was killed can be resumed at once. Children do not inherit it.
class RunLease {
 public:
  // Throws UserError if another process has it (or another lease of this one), MachineError if the
  // file system has no locks.
  RunLease(const std::filesystem::path& database, std::int64_t run);
  ~RunLease();
  RunLease(RunLease&& other) noexcept;
  RunLease& operator=(RunLease&& other) = delete;
  RunLease(const RunLease&) = delete;
  RunLease& operator=(const RunLease&) = delete;

  // The process that works on a run at this moment, as "process 4711"; empty if there is none. It
  // may change at any time.
  static std::string holder_of(const std::filesystem::path& database, std::int64_t run);

 private:
  void open_shared();

  std::string file_;
  std::int64_t run_ = 0;
  int descriptor_ = -1;  // owned
};

}  // namespace fa_tune::db
