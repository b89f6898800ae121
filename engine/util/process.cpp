#include "engine/util/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

// How long one look at a process that is to end may last.
constexpr useconds_t kLookUs = 1000;
// How long the destructor waits for a process that the kernel does not let go.
constexpr std::chrono::seconds kLastWait{10};

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

// A file of this process that is closed on every way out.
class File {
 public:
  File() = default;
  explicit File(int file) : file_(file) {}
  File(File&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ >= 0) close(file_);
  }

  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_ = -1;
};

// A second name for a file that is out of the way of the numbers a child gets its files as, which
// may be free in this process and are about to be overwritten in the child.
File out_of_the_way(int file, std::size_t given) {
  File moved(fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1 + static_cast<int>(given)));
  if (moved.get() < 0)
    throw MachineError(std::string("no file could be given to a process: ") + std::strerror(errno));
  return moved;
}

struct Pipe {
  File ours;
  File theirs;
};

Pipe make_pipe(bool child_reads, std::size_t given) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw MachineError(std::string("no pipe could be made for a process: ") + std::strerror(errno));
  Pipe pipe{File(ends[child_reads ? 1 : 0]), File(ends[child_reads ? 0 : 1])};
  pipe.theirs = out_of_the_way(pipe.theirs.get(), given);
  fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// Pointers into `texts`, for calls of C.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts `words` with `files` as its files 0, 1, 2, ... Its number, or 0 and errno.
pid_t spawn(const std::vector<std::string>& words, const std::vector<File>& files,
            Process::Environment environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < files.size(); ++i)
    posix_spawn_file_actions_adddup2(&actions, files[i].get(), static_cast<int>(i));
  posix_spawn_file_actions_addclosefrom_np(&actions, static_cast<int>(files.size()));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C is for us to answer, and what it starts can be killed with it. The
  // signals are as a program expects to find them.
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGXFSZ})
    sigaddset(&usual, signal);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> copies = words;
  const std::vector<char*> arguments = pointers_to(copies);
  std::vector<char*> variables;
  if (environment) variables = pointers_to(*environment);
  pid_t process = 0;
  const int failed = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(),
                                  environment ? variables.data() : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  errno = failed;
  return failed == 0 ? process : 0;
}

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

}  // namespace

Process::Process(const std::vector<std::string>& words, std::span<const int> given,
                 Environment environment) {
  Pipe in = make_pipe(true, given.size());
  Pipe out = make_pipe(false, given.size());
  Pipe error = make_pipe(false, given.size());
  std::vector<File> files;
  for (Pipe* pipe : {&in, &out, &error}) files.push_back(std::move(pipe->theirs));
  for (const int file : given) files.push_back(out_of_the_way(file, given.size()));
  process_ = spawn(words, files, std::move(environment));
  if (process_ == 0)
    throw UserError(fmt::format("'{}' cannot be started: {}", words.front(), std::strerror(errno)));
  in_.file_ = in.ours.release();
  out_.file_ = out.ours.release();
  error_.file_ = error.ours.release();
}

Process::~Process() { end(Clock::now() + kLastWait); }

void Process::End::close() {
  if (open()) ::close(std::exchange(file_, -1));
}

std::size_t Process::End::write(std::string_view bytes) {
  const WithoutSigpipe guard;
  std::size_t done = 0;
  while (open() && done < bytes.size()) {
    const ssize_t wrote = ::write(file_, bytes.data() + done, bytes.size() - done);
    if (wrote > 0)
      done += static_cast<std::size_t>(wrote);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      close();  // it closed its input; its output says whether it has ended
  }
  return done;
}

bool Process::End::read(std::string& to) {
  if (!open()) return false;
  std::array<char, 65536> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t got = ::read(file_, piece.data(), piece.size());
  if (got > 0) to.append(piece.data(), static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) close();
  return got > 0;
}

bool Process::ended() const {
  if (process_ <= 0) return true;
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

bool Process::stopped() const {
  if (process_ <= 0) return false;
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process_;
}

std::optional<std::string> Process::end(Clock::time_point deadline) {
  if (process_ <= 0) return "has ended";
  const bool by_itself = ended();
  kill(-process_, SIGKILL);
  in_.close();
  int status = 0;
  for (;;) {
    const pid_t reaped = waitpid(process_, &status, WNOHANG);
    if (reaped == process_) break;
    if (reaped < 0 && errno != EINTR) break;
    if (Clock::now() >= deadline) {
      process_ = -1;
      return std::nullopt;
    }
    usleep(kLookUs);
  }
  process_ = -1;
  killed_from_outside_ = by_itself && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return by_itself ? how_it_ended(status) : "was killed";
}

bool OutsideKills::bearable() {
  constexpr int kMost = 8;
  const auto now = Process::Clock::now();
  if (count_++ == 0) first_ = now;
  return count_ < kMost || now - first_ < patience_;
}

std::string OutsideKills::text() const {
  return fmt::format(
      "its process was killed {} times in a row, and not by fa-tune: make room in memory, or ask "
      "who kills or stops processes here; then go on where this run stopped",
      count_);
}

}  // namespace fa_tune
