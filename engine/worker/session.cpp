#include "engine/worker/session.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <string_view>
#include <thread>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "engine/util/blocking_queue.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"
#include "engine/util/stopwatch.hpp"
#include "engine/worker/call_filter.hpp"
#include "engine/worker/sandbox.hpp"

namespace fa_tune::worker {
namespace {

using Clock = Process::Clock;

// Of a worker's standard error, what is kept: the end.
constexpr std::size_t kErrorsKept = 4096;
// Of its last line, what a message quotes.
constexpr std::size_t kLastWords = 200;
// How long a worker that has closed its output is waited for, to learn how it ended.
constexpr std::chrono::milliseconds kExitWait{500};
// How long SIGKILL is given. A driver may have work of its own to undo.
constexpr std::chrono::seconds kKillWait{10};
// How often a worker that says nothing is looked at, and how often in a row one may be found
// stopped. Looks are counted, not seconds: this process may have been stopped with it.
constexpr std::chrono::milliseconds kLook{500};
constexpr int kMostStopped = 10;
// How long one that is no longer needed may take to end by itself.
constexpr std::chrono::milliseconds kFarewell{200};

// Who asked for the log of refused calls is to see them as they come.
void repeat_sandbox_log(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.substr(begin).starts_with(kSandboxLog))
      log_info("{}", printable(std::string(text.substr(begin, end - begin)), kLastWords));
    begin = end + 1;
  }
}

}  // namespace

ProcessSession::ProcessSession(const std::vector<std::string>& words, std::vector<int> given)
    : process_(start_lasting(words, given)) {}

ProcessSession::~ProcessSession() {
  if (over_) return;
  process_->in().close();
  const auto until = Clock::now() + kFarewell;
  while (!process_->ended() && Clock::now() < until) {
    exchange(1);
    std::string unread;
    process_->out().read(unread);
  }
}

std::expected<message::Answer, WorkerTrouble> ProcessSession::ask(const message::Request& request,
                                                                  Milliseconds deadline) {
  if (over_) return std::unexpected(WorkerTrouble{WorkerTrouble::Kind::died, "it has ended"});
  unsent_ += encode(request);
  return receive(deadline);
}

void ProcessSession::tell(const message::Request& request) {
  if (over_) return;
  unsent_ += encode(request);
  exchange(0);
}

// True if something came or went.
bool ProcessSession::exchange(int milliseconds) {
  if (!unsent_.empty()) unsent_.erase(0, process_->in().write(unsent_));
  if (!process_->in().open()) unsent_.clear();
  std::array<pollfd, 3> ends{pollfd{process_->out().file(), POLLIN, 0},
                             pollfd{process_->error().file(), POLLIN, 0},
                             pollfd{unsent_.empty() ? -1 : process_->in().file(), POLLOUT, 0}};
  if (poll(ends.data(), ends.size(), milliseconds) <= 0) return false;
  if (ends[0].revents != 0) {
    std::string piece;
    process_->out().read(piece);
    reader_.feed(piece);
  }
  if (ends[1].revents != 0) read_errors();
  return true;
}

void ProcessSession::read_errors() {
  static const bool repeats = logs_refused_calls();
  std::string piece;
  process_->error().read(piece);
  if (repeats) repeat_sandbox_log(piece);
  errors_ += piece;
  if (errors_.size() > kErrorsKept) errors_.erase(0, errors_.size() - kErrorsKept);
}

std::expected<message::Answer, WorkerTrouble> ProcessSession::receive(Milliseconds deadline) {
  using Kind = WorkerTrouble::Kind;
  const auto until = Clock::now() + deadline;
  for (int stopped = 0;;) {
    auto frame = reader_.next();
    if (!frame) return std::unexpected(end(Kind::babbled, "it said " + frame.error()));
    if (*frame) {
      auto answer = message::decode_answer(**frame);
      if (!answer) return std::unexpected(end(Kind::babbled, "it said " + answer.error()));
      return std::move(*answer);
    }
    if (!process_->out().open())
      return std::unexpected(end(Kind::died, reader_.within() ? "in mid-frame" : ""));
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now()).count();
    if (stopped >= kMostStopped || (left <= 0 && stopped > 0))
      return std::unexpected(end_stopped());
    if (left <= 0)
      return std::unexpected(end(Kind::hung, fmt::format("no answer in {} ms", deadline.count())));
    const bool moved = exchange(static_cast<int>(std::min<long>(left, kLook.count())));
    stopped = !moved && process_->stopped() ? stopped + 1 : 0;
  }
}

// Whoever stopped it, it says nothing of what the worker was about.
WorkerTrouble ProcessSession::end_stopped() {
  WorkerTrouble trouble =
      end(WorkerTrouble::Kind::stopped, "it was stopped by a signal (SIGSTOP), and not by fa-tune");
  if (trouble.kind != WorkerTrouble::Kind::stopped) return trouble;
  trouble.killed = true;
  log_warning("a worker was stopped by a signal, and not by fa-tune; another one takes its place");
  return trouble;
}

WorkerTrouble ProcessSession::end(WorkerTrouble::Kind kind, const std::string& what) {
  const Stopwatch watch;
  over_ = true;
  if (kind == WorkerTrouble::Kind::died) {
    const auto until = Clock::now() + kExitWait;
    while (!process_->ended() && Clock::now() < until) exchange(1);
  }
  const auto how = process_->end(Clock::now() + kKillWait);
  // What it said before it ended is still in the pipe.
  for (int piece = 0; piece < 32 && process_->error().open(); ++piece) exchange(0);
  ending_ = Milliseconds(static_cast<long>(watch.milliseconds()));
  std::string text = what;
  if (kind == WorkerTrouble::Kind::died)
    text = how.value_or("") + (what.empty() ? "" : ", " + what);
  if (!how) {
    kind = WorkerTrouble::Kind::stuck;
    text += ", and it cannot be killed";
  }
  const std::string words = last_words();
  return {kind, words.empty() ? text : fmt::format("{}; its last words: {}", text, words),
          process_->killed_from_outside()};
}

std::string ProcessSession::last_words() const {
  const std::size_t last = errors_.find_last_not_of('\n');
  if (last == std::string::npos) return {};
  const std::size_t feed = errors_.rfind('\n', last);
  const std::size_t begin = feed == std::string::npos ? 0 : feed + 1;
  return printable(errors_.substr(begin, last + 1 - begin), kLastWords);
}

namespace {

using Task = std::packaged_task<std::unique_ptr<Process>()>;

class LastingThread {
 public:
  LastingThread() : thread_([this] { work(); }) {}
  ~LastingThread() {
    tasks_.close();
    thread_.join();
  }
  LastingThread(const LastingThread&) = delete;
  LastingThread& operator=(const LastingThread&) = delete;

  std::unique_ptr<Process> run(Task task) {
    auto result = task.get_future();
    tasks_.push(std::move(task));
    return result.get();
  }

 private:
  void work() {
    while (auto task = tasks_.pop()) (*task)();
  }

  BlockingQueue<Task> tasks_;
  std::thread thread_;
};

}  // namespace

std::vector<std::string> worker_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"/proc/self/exe", "worker", "--parent",
                                    std::to_string(getpid())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::unique_ptr<Process> start_lasting(const std::vector<std::string>& words,
                                       std::span<const int> given) {
  close_memory();
  static LastingThread thread;
  return thread.run(
      Task([&] { return std::make_unique<Process>(words, given, worker_environment()); }));
}

}  // namespace fa_tune::worker
