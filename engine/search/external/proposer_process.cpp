#include "engine/search/external/proposer_process.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::search {
namespace {

using Direction = ProposerLog::Direction;

// A proposer that needs longer than this to come round is not worth the wait at each generation.
constexpr int kMostUnanswered = 3;
// Lines other than the answer that are listened to for one question.
constexpr int kMostOddLines = 100;
// Of a line received, what the transcript keeps.
constexpr std::size_t kMostKept = 65536;
// Of its standard error, what reaches the user's.
constexpr int kMostErrorLines = 200;
constexpr std::size_t kMostErrorLine = 400;
constexpr std::chrono::seconds kFarewell{1};

// The program's file name without what a name may not have: it becomes a trial's operation.
std::string default_name(const std::string& program) {
  std::string name = std::filesystem::path(program).filename().string().substr(0, 40);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return name;
}

}  // namespace

ProposerProcess::ProposerProcess(const std::vector<std::string>& words,
                                 std::chrono::milliseconds deadline, ProposerLog& transcript,
                                 const std::atomic<bool>* stop)
    : deadline_(deadline),
      proposer_log_(transcript),
      stop_(stop),
      name_(default_name(words.front())) {
  try {
    child_ =
        std::make_unique<ChildProcess>(words, [this](std::string_view line) { pass_on(line); });
  } catch (const UserError& error) {
    dismiss(error.what());
  }
}

ProposerProcess::~ProposerProcess() = default;

void ProposerProcess::pass_on(std::string_view error_line) {
  if (error_lines_ > kMostErrorLines) return;
  if (error_lines_++ == kMostErrorLines)
    log_warning("proposer {}: more on its standard error is not shown", name_);
  else
    log_info("proposer {}: {}", name_, printable(error_line, kMostErrorLine));
}

void ProposerProcess::send(const std::string& line) {
  if (over()) return;
  proposer_log_.add(Direction::sent, line);
  child_->send(line);
}

void ProposerProcess::note(const std::string& text) { proposer_log_.add(Direction::note, text); }

void ProposerProcess::refuse(int id, std::optional<int> idx, const std::string& reason) {
  send(refused_line(id, idx, reason));
}

std::optional<Answer> ProposerProcess::await(int id) {
  if (over()) return std::nullopt;
  const auto until = ChildProcess::Clock::now() + deadline_;
  for (int odd = 0; odd < kMostOddLines; ++odd) {
    std::string line;
    switch (child_->receive(line, until, stop_)) {
      case ChildProcess::Heard::line:
        break;
      case ChildProcess::Heard::too_long:
        note(fmt::format("a line of more than {} bytes was dropped", ChildProcess::kMostLine));
        refuse(id, {}, fmt::format("a line has at most {} bytes", ChildProcess::kMostLine));
        continue;
      case ChildProcess::Heard::nothing:
        unanswered(fmt::format("no answer to ask {} within {} ms", id, deadline_.count()));
        return std::nullopt;
      case ChildProcess::Heard::deaf:
        dismiss("does not read what it is sent");
        return std::nullopt;
      case ChildProcess::Heard::ended:
        dismiss("has ended");
        return std::nullopt;
      case ChildProcess::Heard::stopped:
        return std::nullopt;
    }
    proposer_log_.add(Direction::received, printable(line, kMostKept));
    auto answer = read_answer(line);
    if (!answer) {
      refuse(id, {}, answer.error());
    } else if (answer->kind == Answer::Kind::ready) {
      name_ = answer->name;
    } else if (*answer->id != id) {
      refuse(id, {}, fmt::format("this answers ask {}, what is asked is {}", *answer->id, id));
    } else {
      unanswered_ = 0;
      return std::move(*answer);
    }
  }
  unanswered(fmt::format("{} lines and no answer to ask {}", kMostOddLines, id));
  return std::nullopt;
}

void ProposerProcess::unanswered(const std::string& why) {
  note(why);
  if (++unanswered_ == kMostUnanswered)
    dismiss(fmt::format("left {} questions in a row unanswered, the last one: {}", kMostUnanswered,
                        why));
}

void ProposerProcess::dismiss(const std::string& why) {
  std::string end;
  // No farewell: it has gone, or it does not listen. What ended on its own has an exit code to tell
  // after a moment.
  if (child_ != nullptr)
    end = " (" + child_->end(ChildProcess::Clock::now() + std::chrono::milliseconds(100)) + ")";
  child_.reset();
  note(why + end);
  log_warning("the proposer {} {}{}: the search goes on without it", name_, why, end);
}

void ProposerProcess::part(const std::string& reason) {
  if (over()) return;
  send(bye_line(reason));
  note(child_->end(ChildProcess::Clock::now() + kFarewell));
  child_.reset();
}

}  // namespace fa_tune::search
