#include "tools/commands/node_starter.hpp"

#include <array>
#include <chrono>

#include <poll.h>
#include <sys/wait.h>

#include "engine/util/child_process.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::commands {
namespace {

using namespace std::chrono_literals;

constexpr int kLookMs = 200;
// How long its nodes may take to end when the search is over.
constexpr auto kFarewell = 10s;
// What of a line is told.
constexpr std::size_t kLongestLine = 400;

std::vector<std::string> words_of(const std::string& command,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words = split_words(command);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// Of one that has ended. It stays a zombie, and what it started in its group goes on.
bool succeeded(pid_t process) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process && info.si_code == CLD_EXITED && info.si_status == 0;
}

}  // namespace

NodeStarter::NodeStarter(const std::string& command, const std::vector<std::string>& arguments)
    : name_(words_of(command, {}).front()),
      process_(words_of(command, arguments)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  process_.in().close();
}

NodeStarter::~NodeStarter() {
  const auto until = Process::Clock::now() + kFarewell;
  while (!ended_ && Process::Clock::now() < until) std::this_thread::sleep_for(50ms);
  thread_.request_stop();
  thread_.join();
  process_.end(Process::Clock::now() + kFarewell);
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
    failed_ = !succeeded(process_.id());
    if (failed_) log_warning("{}: the command that starts nodes has failed", name_);
    ended_ = true;
    return;
  }
}

}  // namespace fa_tune::commands
