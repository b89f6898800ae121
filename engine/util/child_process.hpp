#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/util/process.hpp"

namespace fa_tune {

// Finds the program that `name` stands for, as a shell would: as a path if it has a slash, else in
// PATH. Throws UserError where there is none that may be run.
void require_program(const std::string& name);

// A program of a stranger at the other end of three pipes, talked to line by line. Nothing it does
// can make the caller wait beyond a deadline, grow without bound, or die: what is sent is queued,
// lines have a most length, a broken pipe is an answer and no signal.
class ChildProcess {
 public:
  using Clock = Process::Clock;

  // Lines longer than this are dropped as they come.
  static constexpr std::size_t kMostLine = std::size_t{1} << 20;
  // Who leaves more than this unread does not listen.
  static constexpr std::size_t kMostUnread = std::size_t{16} << 20;

  // `words` is a program and its arguments. Each line that comes on its standard error is given to
  // `on_error_line`. Throws UserError where the program cannot be started.
  ChildProcess(const std::vector<std::string>& words,
               std::function<void(std::string_view)> on_error_line);

  // Queues a line, which must hold no line feed, and sends what the child takes at once.
  void send(std::string_view line);

  enum class Heard {
    line,
    too_long,  // a line above kMostLine was dropped
    nothing,   // until the deadline
    deaf,      // it leaves unread what it is sent
    ended,     // its output is closed
    stopped,   // `stop` was set
  };
  // The child's next line. `stop`, if given, is looked at every few milliseconds.
  Heard receive(std::string& line, Clock::time_point deadline, const std::atomic<bool>* stop);

  // Closes its input and gives it until the deadline to end by itself; then its group is killed.
  // How it ended, as Process says. To be called once.
  std::string end(Clock::time_point deadline);

 private:
  void exchange(int milliseconds);  // whatever can be read and written now, or a short wait
  void write_unsent();
  bool read_errors();  // whether there was something
  bool take_line(std::string& line, Heard& heard);

  std::function<void(std::string_view)> on_error_line_;
  Process process_;
  std::string unsent_;
  std::string output_;
  std::string errors_;
  bool dropping_ = false;  // within a line that is too long
};

// A command line as its words, without a shell: blanks separate, '...' and "..." hold together what
// they enclose, a backslash takes the next character as it is (within "..." only before " and \,
// within '...' never). Nothing else is special: no variables, patterns, pipes or redirections.
// Throws UserError for a quote that is not closed, a backslash at the end, and for no word at all.
std::vector<std::string> split_words(const std::string& text);

}  // namespace fa_tune
