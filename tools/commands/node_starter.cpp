#include "tools/commands/node_starter.hpp"

#include <array>
#include <chrono>
#include <csignal>

#include <poll.h>
#include <sys/wait.h>

#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::commands {
namespace {

using namespace std::chrono_literals;

constexpr int kLookMs = 200;
// How long its nodes may take to end when the search is over, and then it when it is asked to.
constexpr auto kFarewell = 10s;
constexpr auto kAsked = 3s;
// What of a line is told.
constexpr std::size_t kLongestLine = 400;

// Of one that has ended. It stays a zombie, and what it started in its group goes on.
int exit_code_of(pid_t process) {
  constexpr int kOfSignal = 128;
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_code == CLD_EXITED ? info.si_status : kOfSignal + info.si_status;
}

}  // namespace

NodeStarter::NodeStarter(std::string name, const std::vector<std::string>& words)
    : name_(std::move(name)),
      process_(words),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  process_.in().close();
}

NodeStarter::~NodeStarter() { end(Clock::now() + kFarewell); }

void NodeStarter::end(Clock::time_point until) {
  if (!thread_.joinable()) return;
  if (!ends_until(until)) {
    asked_to_end_ = true;
    kill(-process_.id(), SIGTERM);
    ends_until(Clock::now() + kAsked);
  }
  thread_.request_stop();
  thread_.join();
  process_.end(Clock::now() + kFarewell);
}

bool NodeStarter::ends_until(Clock::time_point until) const {
  while (!exit_code() && Clock::now() < until) std::this_thread::sleep_for(50ms);
  return exit_code().has_value();
}

std::optional<int> NodeStarter::exit_code() const {
  const int code = exit_code_;
  return code < 0 ? std::nullopt : std::optional(code);
}

// Whole lines; what is left over too, if it is to be all.
void NodeStarter::tell(std::string& text, bool all) {
  for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
    log_info("{}: {}", name_, printable(text.substr(0, end), kLongestLine));
    text.erase(0, end + 1);
  }
  if ((!all && text.size() < kLongestLine) || text.empty()) return;
  log_info("{}: {}", name_, printable(text, kLongestLine));
  text.clear();
}

void NodeStarter::run(const std::stop_token& stop) {
  std::array<Process::End*, 2> ends = {&process_.out(), &process_.error()};
  std::array<std::string, 2> texts;
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> files{};
    for (std::size_t i = 0; i < ends.size(); ++i) files[i] = {ends[i]->file(), POLLIN, 0};
    const bool over = process_.ended();
    poll(files.data(), files.size(), over ? 0 : kLookMs);
    bool more = false;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      more |= ends[i]->open() && ends[i]->read(texts[i]);
      tell(texts[i], over);
    }
    if (!over || more) continue;
    const int code = exit_code_of(process_.id());
    if (code != 0 && !asked_to_end_)
      log_warning("{}: its command has failed with exit code {}", name_, code);
    exit_code_ = code;
    return;
  }
}

}  // namespace fa_tune::commands
