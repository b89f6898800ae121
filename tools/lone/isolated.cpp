#include "tools/lone/isolated.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/error.hpp"
#include "engine/base/stopwatch.hpp"

namespace fa_tune {
namespace {

[[noreturn]] void answer(int to, const std::function<std::string()>& work) {
  int code = 0;
  try {
    const std::string text = work();
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = write(to, text.data() + at, text.size() - at);
      if (wrote <= 0) break;
      at += static_cast<std::size_t>(wrote);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  }
  // Without destructors and exit handlers: they are the parent's.
  _exit(code);
}

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

std::expected<std::string, std::string> run_isolated(const std::function<std::string()>& work,
                                                     int seconds) {
  int ends[2];
  if (pipe(ends) != 0) throw MachineError("no pipe could be made for a process of its own");
  (void)std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw MachineError("no process could be started");
  if (child == 0) {
    close(ends[0]);
    answer(ends[1], work);
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
  if (WEXITSTATUS(status) != 0) return std::unexpected("ended with an error");
  return text;
}

}  // namespace fa_tune
