#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::kernel {

// No compiler is left, and none has come in time.
struct NoCompilerLeft : MachineError {
  using MachineError::MachineError;
};

// Several compilers as one: this machine's and those of others, which come and go while it is at
// work. A source goes to the member that has the largest share of its places free, of equal ones to
// the first that was added. Who finds none free waits, in the order asked. Where a member is gone,
// another one gets what it was at. Thread-safe.
class CompilerGroup final : public Compiler {
 public:
  using Milliseconds = std::chrono::milliseconds;

  struct Options {
    Milliseconds patience{300'000};  // how long a call that finds no member waits for one
    std::string awaited;             // what it waits for, for messages
    // Ends such waits: they throw Interrupted. Must outlive the group.
    const std::atomic<bool>* stop = nullptr;
  };
  // How many sources could be compiled at a time.
  struct Presence {
    int most = 0;        // the most there have been
    double seconds = 0;  // the sum over all of them of how long each has been there
  };

  explicit CompilerGroup(Options options) : options_(std::move(options)) {}

  // Members must have this version; else it is the first one's.
  void require_version(std::string version);
  // Takes in one that compiles `jobs` sources at a time, until it throws CompilerGone. Where it would
  // not make the same of a source as the others, that is said in one line.
  std::expected<void, std::string> add(std::shared_ptr<Compiler> compiler, int jobs);
  // It is gone, or will be. False if it was so already.
  bool remove(const Compiler& compiler);
  // How many sources can be compiled at a time now.
  int size() const;
  Presence presence() const;
  // `arrived` is called with size() whenever a member has been added, by any thread, until another
  // is set; an empty one ends that. It must not call the group.
  void on_arrival(std::function<void(int size)> arrived);
  // Waits for the first member, as long as that takes. False once `stop` says so.
  bool wait_for_first(const std::function<bool()>& stop);

  // Throws NoCompilerLeft, Interrupted, and what a member throws but for CompilerGone.
  CompileOutcome compile(const CompileRequest& request) override;
  // Of the members; empty as long as none is known.
  std::string version() const override;
  std::string headers() const override;
  void cancel_waiting() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Member {
    std::shared_ptr<Compiler> compiler;
    int jobs = 0;
    int busy = 0;
  };
  class Place;

  std::uint64_t take_ticket();
  std::shared_ptr<Member> take_place(std::uint64_t ticket);
  void bear_absence(std::optional<Clock::time_point>& until);
  std::shared_ptr<Member> freest() const;
  int places() const;
  void note_presence();

  Options options_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::optional<std::string> version_;
  std::optional<std::string> headers_;
  std::vector<std::shared_ptr<Member>> members_;
  std::function<void(int)> arrived_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t first_wanted_ = 0;   // tickets below it were cancelled
  std::set<std::uint64_t> waiting_;  // tickets
  bool told_ = false;                // that there is no member, since there was one
  Presence presence_;                // up to `noted_`
  Clock::time_point noted_ = Clock::now();
};

}  // namespace fa_tune::kernel
