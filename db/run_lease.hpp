#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace fa_tune {

// The right to work on one run of a database, which one process at a time has. It is a lock of the
// kernel's on FILE-runs beside the database: byte N stands for run N, byte 0 is shared by all that
// use the file, so that the last of them can take it away. The kernel lets go of it when the
// process ends, however that ends, so no clock and no list of processes decides who is still there;
// a run that was killed can be resumed at once. Children do not inherit it.
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

  // Who works on a run at this moment, as "process 4711"; empty if nobody does. A look, no promise.
  static std::string holder_of(const std::filesystem::path& database, std::int64_t run);

 private:
  void open_shared();

  std::string file_;
  std::int64_t run_ = 0;
  int descriptor_ = -1;  // owned
};

}  // namespace fa_tune
