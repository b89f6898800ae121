#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace fa_tune {

// A program that was started anew (never a copy of this process), at the other end of three pipes.
// It runs in a process group of its own, with the signals as a program expects them and no file
// open but 0, 1, 2 and those it is given. Reading and writing here never blocks and never raises
// SIGPIPE. What is left of its group is killed when this object goes.
class Process {
 public:
  using Clock = std::chrono::steady_clock;

  // `words` is a program, looked for in PATH if it has no slash, and its arguments. The child finds
  // `given` as its files 3, 4, ... and `environment`, "NAME=value" each, as its variables; without,
  // this process's. Throws UserError where the program cannot be started.
  using Environment = std::optional<std::vector<std::string>>;
  explicit Process(const std::vector<std::string>& words, std::span<const int> given = {},
                   Environment environment = std::nullopt);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // One of the child's standard files, seen from here. `open` until its other end has closed.
  class End {
   public:
    End() = default;
    ~End() { close(); }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

    int file() const { return file_; }  // for poll(); -1 once closed
    bool open() const { return file_ >= 0; }
    void close();
    // Writes what goes now; how many bytes that were.
    std::size_t write(std::string_view bytes);
    // Appends what is there, at most about 64 KiB; false if there was nothing.
    bool read(std::string& to);

   private:
    friend class Process;
    int file_ = -1;
  };

  End& in() { return in_; }
  End& out() { return out_; }
  End& error() { return error_; }

  pid_t id() const { return process_; }
  // Whether it has ended by itself. It stays a zombie, so that its group's number is still its own.
  bool ended() const;
  // Whether a signal has stopped it (SIGSTOP) and none has let it go on.
  bool stopped() const;
  // Kills its group and waits for its end until the deadline. How it ended: "exit code 1",
  // "signal 11 (Segmentation fault)", "was killed" where it had not ended by itself; nothing if the
  // system has not let go of it by then. To be called once.
  std::optional<std::string> end(Clock::time_point deadline);
  // After that: whether SIGKILL ended it, and not from here. It is how a system that is short of
  // memory ends processes.
  bool killed_from_outside() const { return killed_from_outside_; }

 private:
  pid_t process_ = -1;
  bool killed_from_outside_ = false;
  End in_;
  End out_;
  End error_;
};

// Counts processes of one purpose that are killed from outside. That says nothing of what they were
// doing, so it is done again, but not for ever.
class OutsideKills {
 public:
  explicit OutsideKills(std::chrono::seconds patience = std::chrono::seconds(60))
      : patience_(patience) {}

  // Notes another. Whether to try again: until there have been many, and for long.
  bool bearable();
  // For the message of who gives up.
  std::string text() const;

 private:
  std::chrono::seconds patience_;
  int count_ = 0;
  Process::Clock::time_point first_{};
};

}  // namespace fa_tune
