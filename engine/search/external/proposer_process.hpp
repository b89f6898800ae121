#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/external/messages.hpp"
#include "engine/util/child_process.hpp"

namespace fa_tune::search {

// Where a conversation with a proposer is written down. What was `taken` decides the run and is
// read again when it is resumed; the rest is for people.
class ProposerLog {
 public:
  enum class Direction {
    sent,      // a line to the proposer
    received,  // a line from it, made printable and cut
    note,      // what the engine thought of it: refusals, deadlines, its end
    taken,     // the decision of one ask, one each and in order (ProposerArm)
  };

  virtual ~ProposerLog() = default;
  virtual void add(Direction direction, const std::string& text) = 0;
  // All that was added is on disk when this returns.
  virtual void keep() = 0;
};

// One proposer at the other end of its pipes. Whatever it does, a question costs at most the
// deadline; what it says besides the answer is refused with a reason, sent and written down. One
// that has gone, does not listen, or left several questions in a row unanswered is dismissed with
// one warning, and is not asked again.
class ProposerProcess {
 public:
  // Starts the program; where that fails, the conversation is over before it began. `stop`, which
  // may be null, ends a wait. All must outlive the conversation.
  ProposerProcess(const std::vector<std::string>& words, std::chrono::milliseconds deadline,
                  ProposerLog& transcript, const std::atomic<bool>* stop);
  // Ends the proposer, if it has not been told goodbye, without waiting for it.
  ~ProposerProcess();

  bool over() const { return child_ == nullptr; }
  // What it calls itself; before that, its program's name.
  const std::string& name() const { return name_; }

  void send(const std::string& line);
  void refuse(int id, std::optional<int> idx, const std::string& reason);
  void note(const std::string& text);
  // The answer to ask `id`, which was sent; nothing if none came in time.
  std::optional<Answer> await(int id);
  // Sends `bye` and gives the proposer a second to end.
  void part(const std::string& reason);

 private:
  void pass_on(std::string_view error_line);
  void unanswered(const std::string& why);
  void dismiss(const std::string& why);

  std::chrono::milliseconds deadline_;
  ProposerLog& proposer_log_;
  const std::atomic<bool>* stop_;
  std::string name_;
  std::unique_ptr<ChildProcess> child_;
  int unanswered_ = 0;  // questions in a row
  int error_lines_ = 0;
};

}  // namespace fa_tune::search
