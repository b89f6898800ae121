#include "engine/util/child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

// How long a wait may last before `stop` is looked at again.
constexpr int kSliceMs = 20;
// A line of standard error is handed on when it is this long, ended or not.
constexpr std::size_t kMostErrorLine = 4096;
// How long the kernel is given to take away what was killed.
constexpr std::chrono::seconds kKillWait{10};

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

ChildProcess::ChildProcess(const std::vector<std::string>& words,
                           std::function<void(std::string_view)> on_error_line)
    : on_error_line_(std::move(on_error_line)), process_(words) {}

void ChildProcess::send(std::string_view line) {
  if (!process_.in().open()) return;
  unsent_.append(line).push_back('\n');
  write_unsent();
}

void ChildProcess::write_unsent() {
  unsent_.erase(0, process_.in().write(unsent_));
  if (!process_.in().open()) unsent_.clear();
}

bool ChildProcess::read_errors() {
  const bool some = process_.error().read(errors_);
  const bool closed = !process_.error().open();
  std::size_t at = 0;
  while (at < errors_.size()) {
    const std::size_t feed = errors_.find('\n', at);
    const bool whole = feed != std::string::npos;
    if (!whole && !closed && errors_.size() - at < kMostErrorLine) break;
    on_error_line_(std::string_view(errors_).substr(at, whole ? feed - at : feed));
    at = whole ? feed + 1 : errors_.size();
  }
  errors_.erase(0, at);
  return some;
}

void ChildProcess::exchange(int milliseconds) {
  std::array<pollfd, 3> ends{pollfd{process_.out().file(), POLLIN, 0},
                             pollfd{process_.error().file(), POLLIN, 0},
                             pollfd{unsent_.empty() ? -1 : process_.in().file(), POLLOUT, 0}};
  if (poll(ends.data(), ends.size(), milliseconds) <= 0) return;
  if (ends[0].revents != 0) process_.out().read(output_);
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
  if (!whole && (process_.out().open() || output_.empty())) return false;
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
    if (!process_.out().open()) return Heard::ended;
    if (unsent_.size() > kMostUnread) return Heard::deaf;
    if (stop != nullptr && *stop) return Heard::stopped;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Heard::nothing;
    exchange(static_cast<int>(std::min<long>(left, kSliceMs)));
  }
}

std::string ChildProcess::end(Clock::time_point deadline) {
  while (!process_.ended() && Clock::now() < deadline) {
    // What is still queued, the farewell, goes first.
    if (unsent_.empty()) process_.in().close();
    output_.clear();
    exchange(kSliceMs / 4);
    const bool silent = !process_.in().open() && !process_.out().open() && !process_.error().open();
    if (silent) usleep(1000);
  }
  const auto how = process_.end(Clock::now() + kKillWait);
  // Its last words, as much of them as a pipe holds.
  for (int piece = 0; piece < 32 && process_.error().open(); ++piece)
    if (!read_errors()) break;
  return how.value_or("was killed, and does not end");
}

namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads one word from `at`, which stands on its first character, and leaves `at` behind it.
std::string read_word(const std::string& text, std::size_t& at) {
  std::string word;
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == '\0' && blank(c)) return word;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (at + 1 == text.size())
        throw UserError("command '" + text + "': there is nothing behind the last backslash");
      const char next = text[at + 1];
      if (quote == '"' && next != '"' && next != '\\') {
        word += c;
      } else {
        word += next;
        ++at;
      }
    } else {
      word += c;
    }
  }
  if (quote != '\0')
    throw UserError("command '" + text + "': the quote " + quote + " is not closed");
  return word;
}

}  // namespace

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && blank(text[at])) ++at;
    if (at == text.size()) break;
    words.push_back(read_word(text, at));
  }
  if (words.empty()) throw UserError("the command is empty: expected a program and its arguments");
  return words;
}

}  // namespace fa_tune
