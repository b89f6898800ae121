#include "engine/base/child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/environment.hpp"
#include "engine/base/error.hpp"

namespace fa_tune {
namespace {

// How long a wait may last before `stop` is looked at again.
constexpr int kSliceMs = 20;
// A line of standard error is handed on when it is this long, ended or not.
constexpr std::size_t kMostErrorLine = 4096;

void close_end(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

// Writing to a child that has gone raises SIGPIPE, which would end this process. Blocked here, and
// what was raised meanwhile is taken back, so that the rest of the program need not know.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

bool may_run(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && !path.ends_with('/');
}

}  // namespace

void require_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (may_run(name)) return;
    throw UserError(fmt::format("'{}' cannot be run: {}", name, std::strerror(errno)));
  }
  const std::string path = environment("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    if (end > at && may_run(path.substr(at, end - at) + "/" + name)) return;
    at = end + 1;
  }
  throw UserError(fmt::format("there is no program '{}' in PATH", name));
}

ChildProcess::Pipe ChildProcess::make_pipe(bool child_reads) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw MachineError("no pipe could be made for a process");
  // The child's end is moved out of the way of 0, 1 and 2, which may be free in this process and
  // are about to be overwritten in the child.
  Pipe pipe{ends[child_reads ? 1 : 0], ends[child_reads ? 0 : 1]};
  const int moved = fcntl(pipe.theirs, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (moved < 0) throw MachineError("no pipe could be made for a process");
  close(std::exchange(pipe.theirs, moved));
  fcntl(pipe.ours, F_SETFL, O_NONBLOCK);
  return pipe;
}

ChildProcess::ChildProcess(const std::vector<std::string>& words,
                           std::function<void(std::string_view)> on_error_line)
    : on_error_line_(std::move(on_error_line)) {
  Pipe in = make_pipe(true);
  Pipe out = make_pipe(false);
  Pipe error = make_pipe(false);
  in_ = in.ours;
  out_ = out.ours;
  error_ = error.ours;
  spawn(words, in, out, error);
  for (Pipe* pipe : {&in, &out, &error}) close_end(pipe->theirs);
  if (process_ > 0) return;
  const int why = errno;
  for (int* end : {&in_, &out_, &error_}) close_end(*end);
  throw UserError(fmt::format("'{}' cannot be started: {}", words.front(), std::strerror(why)));
}

void ChildProcess::spawn(const std::vector<std::string>& words, const Pipe& in, const Pipe& out,
                         const Pipe& error) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.theirs, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, error.theirs, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C is for us to answer, and what it starts can be killed with it. The
  // signals are as a program expects to find them.
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) sigaddset(&usual, signal);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed =
      posix_spawnp(&process_, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    process_ = -1;
    errno = failed;
  }
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) end(Clock::now());
}

void ChildProcess::send(std::string_view line) {
  if (in_ < 0) return;
  unsent_.append(line).push_back('\n');
  write_unsent();
}

void ChildProcess::write_unsent() {
  const WithoutSigpipe guard;
  while (in_ >= 0 && !unsent_.empty()) {
    const ssize_t wrote = write(in_, unsent_.data(), unsent_.size());
    if (wrote > 0) {
      unsent_.erase(0, static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      close_end(in_);  // it closed its input; its output says whether it has ended
      unsent_.clear();
    }
  }
}

void ChildProcess::read_output() {
  std::array<char, 65536> piece{};
  const ssize_t got = read(out_, piece.data(), piece.size());
  if (got > 0) output_.append(piece.data(), static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) close_end(out_);
}

bool ChildProcess::read_errors() {
  std::array<char, 4096> piece{};
  const ssize_t got = read(error_, piece.data(), piece.size());
  if (got > 0) errors_.append(piece.data(), static_cast<std::size_t>(got));
  const bool closed = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (closed) close_end(error_);
  std::size_t at = 0;
  while (at < errors_.size()) {
    const std::size_t feed = errors_.find('\n', at);
    const bool whole = feed != std::string::npos;
    if (!whole && !closed && errors_.size() - at < kMostErrorLine) break;
    on_error_line_(std::string_view(errors_).substr(at, whole ? feed - at : feed));
    at = whole ? feed + 1 : errors_.size();
  }
  errors_.erase(0, at);
  return got > 0;
}

void ChildProcess::exchange(int milliseconds) {
  std::array<pollfd, 3> ends{pollfd{out_, POLLIN, 0}, pollfd{error_, POLLIN, 0},
                             pollfd{unsent_.empty() ? -1 : in_, POLLOUT, 0}};
  if (poll(ends.data(), ends.size(), milliseconds) <= 0) return;
  if (ends[0].revents != 0) read_output();
  if (ends[1].revents != 0) read_errors();
  if (ends[2].revents != 0) write_unsent();
}

// Takes a line, or the news of one that was dropped, from what was read.
bool ChildProcess::take_line(std::string& line, Heard& heard) {
  const std::size_t feed = output_.find('\n');
  const bool whole = feed != std::string::npos;
  const std::size_t length = whole ? feed : output_.size();
  if (dropping_) {
    output_.erase(0, whole ? feed + 1 : length);
    dropping_ = !whole;
    return whole && take_line(line, heard);
  }
  if (length > kMostLine) {
    output_.erase(0, whole ? feed + 1 : length);
    dropping_ = !whole;
    heard = Heard::too_long;
    return true;
  }
  if (!whole && (out_ >= 0 || output_.empty())) return false;
  line = output_.substr(0, length);
  output_.erase(0, whole ? feed + 1 : length);
  heard = Heard::line;
  return true;
}

ChildProcess::Heard ChildProcess::receive(std::string& line, Clock::time_point deadline,
                                          const std::atomic<bool>* stop) {
  Heard heard = Heard::nothing;
  for (;;) {
    if (take_line(line, heard)) return heard;
    if (out_ < 0) return Heard::ended;
    if (unsent_.size() > kMostUnread) return Heard::deaf;
    if (stop != nullptr && *stop) return Heard::stopped;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Heard::nothing;
    exchange(static_cast<int>(std::min<long>(left, kSliceMs)));
  }
}

std::string ChildProcess::end(Clock::time_point deadline) {
  if (process_ <= 0) return "has ended";
  siginfo_t info{};
  bool gone = false;
  do {
    // What is still queued, the farewell, goes first.
    if (unsent_.empty()) close_end(in_);
    output_.clear();
    exchange(kSliceMs / 4);
    // WNOWAIT: it stays a zombie, so that its group's number cannot become another's before the
    // group is killed.
    info.si_pid = 0;
    gone = waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == process_;
    if (!gone && out_ < 0 && error_ < 0 && in_ < 0) usleep(1000);
  } while (!gone && Clock::now() < deadline);
  kill(-process_, SIGKILL);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  // Its last words, as much of them as a pipe holds.
  for (int piece = 0; piece < 32 && error_ >= 0; ++piece)
    if (!read_errors()) break;
  for (int* end : {&in_, &out_, &error_}) close_end(*end);
  if (!gone) return "was killed";
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace fa_tune
