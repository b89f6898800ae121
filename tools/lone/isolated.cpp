#include "tools/lone/isolated.hpp"

#include <array>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune {
namespace {

// All that comes until the other end closes; false if that takes too long.
bool read_all(int from, int seconds, std::string& text) {
  const Stopwatch watch;
  std::array<char, 65536> piece{};
  for (;;) {
    const double left = 1000.0 * seconds - watch.milliseconds();
    pollfd ready{from, POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left) + 1) == 0) return false;
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got <= 0) return true;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::expected<std::string, std::string> run_isolated(const std::vector<std::string>& words,
                                                     int seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw MachineError("no pipe could be made for a process");
  std::vector<char*> arguments;
  std::vector<std::string> copies = words;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  (void)std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw MachineError("no process could be started");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  const bool ended = read_all(ends[0], seconds, text);
  close(ends[0]);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!ended) return std::unexpected(fmt::format("gave no answer in {} s", seconds));
  if (WIFSIGNALED(status))
    return std::unexpected(fmt::format("died of signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return std::unexpected(fmt::format("ended with exit code {}", WEXITSTATUS(status)));
  return text;
}

}  // namespace fa_tune
