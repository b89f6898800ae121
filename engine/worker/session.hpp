#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/util/process.hpp"
#include "engine/worker/messages.hpp"

namespace fa_tune::worker {

// The words that start this very program as a worker: its own file, even if that was replaced or
// removed since, then `worker` and `arguments`.
std::vector<std::string> worker_words(const std::vector<std::string>& arguments);

// Starts a process from a thread that lives as long as this program. A worker asks the kernel to be
// killed when its parent ends, and for the kernel the parent is the thread that started it. Throws
// as Process does.
std::unique_ptr<Process> start_lasting(const std::vector<std::string>& words,
                                       std::span<const int> given);

// What can become of a worker. After any of these it has been killed, and its session is over.
struct WorkerTrouble {
  enum class Kind {
    died,     // it ended by itself
    hung,     // no answer by the deadline
    babbled,  // it said what is no answer
    stuck,    // like hung, and not even SIGKILL has ended it
    stopped,  // by a signal from outside, and nobody let it go on
    gone,     // with the machine that it was on, or the way there
  };
  Kind kind = Kind::died;
  std::string text;     // one line
  bool killed = false;  // by SIGKILL, which did not come from here; or stopped
};

// The engine's end of one worker, wherever that is: a request, an answer, a deadline kept here.
class WorkerSession {
 public:
  using Milliseconds = std::chrono::milliseconds;

  virtual ~WorkerSession() = default;

  // The worker's first words. To be called once, before anything is asked.
  virtual std::expected<message::Answer, WorkerTrouble> greet(Milliseconds deadline) = 0;
  virtual std::expected<message::Answer, WorkerTrouble> ask(const message::Request& request,
                                                            Milliseconds deadline) = 0;
  // A request that is not answered. If the worker has ended it is forgotten.
  virtual void tell(const message::Request& request) = 0;
  // Whether it has ended by itself since it was last asked; and how.
  virtual bool ended() = 0;
  virtual WorkerTrouble settle() = 0;
  // What it means that it answered what it was not asked.
  virtual WorkerTrouble babbled(const std::string& what) {
    return {WorkerTrouble::Kind::babbled, what};
  }
};

// A worker that is a process of this machine. Nothing that it does can make a call last longer than
// its deadline and a second, or memory grow beyond a frame's: what it writes to its standard error
// is read and, but for its last words, forgotten.
class ProcessSession final : public WorkerSession {
 public:
  // Starts `words` with `given` as its files 3, 4, ... Throws UserError where that cannot be.
  explicit ProcessSession(const std::vector<std::string>& words, std::vector<int> given = {});
  // Lets it end by itself, for a moment; then it is killed.
  ~ProcessSession() override;
  ProcessSession(const ProcessSession&) = delete;
  ProcessSession& operator=(const ProcessSession&) = delete;

  std::expected<message::Answer, WorkerTrouble> greet(Milliseconds deadline) override {
    return receive(deadline);
  }
  std::expected<message::Answer, WorkerTrouble> ask(const message::Request& request,
                                                    Milliseconds deadline) override;
  void tell(const message::Request& request) override;
  bool ended() override { return over_ || process_->ended(); }
  WorkerTrouble settle() override { return end(WorkerTrouble::Kind::died, ""); }
  // How long it took to end after trouble was found: for those who want it in bounds.
  Milliseconds ending() const { return ending_; }

 private:
  std::expected<message::Answer, WorkerTrouble> receive(Milliseconds deadline);
  bool exchange(int milliseconds);
  void read_errors();
  WorkerTrouble end(WorkerTrouble::Kind kind, const std::string& what);
  WorkerTrouble end_stopped();
  std::string last_words() const;

  std::unique_ptr<Process> process_;
  FrameReader reader_;
  std::string unsent_;
  std::string errors_;
  bool over_ = false;
  Milliseconds ending_{0};
};

}  // namespace fa_tune::worker
