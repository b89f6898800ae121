#include "engine/worker/worker_supervisor.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/shared_window.hpp"

namespace fa_tune::worker {

namespace {

// Whether it names what a worker has made for earlier ones.
bool has_handles(const message::Request& request) {
  return !std::holds_alternative<message::Load>(request) &&
         !std::holds_alternative<message::Allocate>(request) &&
         !std::holds_alternative<message::Energy>(request) &&
         !std::holds_alternative<message::Offload>(request);
}

}  // namespace

WorkerSupervisor::WorkerSupervisor(RemoteOptions options, Window& window)
    : options_(std::move(options)), window_(window) {
  if (auto trouble = start()) throw MachineError("the worker: " + *trouble);
}

bool WorkerSupervisor::ready() {
  if (session_ && session_->ended()) ended(session_->settle(), "between calls");
  if (!session_ && !lost()) restart();
  return !lost();
}

bool WorkerSupervisor::renew() {
  if (lost()) return false;
  session_.reset();
  return ready();
}

void WorkerSupervisor::tell(const message::Request& request) noexcept {
  if (!session_) return;
  try {
    session_->tell(request);
  } catch (const std::exception& error) {
    log_debug("{}: release: {}", info_.id, error.what());
  }
}

std::expected<message::Answer, device::Fault> WorkerSupervisor::answer_to(
    const message::Request& request, Milliseconds deadline, const char* doing) {
  const int before = session_ ? generation_ : 0;
  if (!ready()) {
    throw_if_disturbed();
    return std::unexpected(lost_fault());
  }
  // Its handles are those of a worker that has ended since, and may mean other things now.
  if (before != 0 && generation_ != before && has_handles(request)) {
    throw_if_disturbed();
    return std::unexpected(deaths_.back());
  }
  auto answer = session_->ask(request, deadline);
  if (!answer) {
    device::Fault fault = ended(answer.error(), doing);
    throw_if_disturbed();
    return std::unexpected(std::move(fault));
  }
  if (auto* faulted = std::get_if<message::Faulted>(&*answer)) {
    if (faulted->ends) {
      session_.reset();
      deaths_.push_back(faulted->fault);
      throw_if_disturbed();
    }
    return std::unexpected(std::move(faulted->fault));
  }
  if (const auto* failed = std::get_if<message::Failed>(&*answer)) {
    if (failed->whose != message::Failed::Whose::own) message::throw_failed(*failed);
    // A mistake of the worker's own, over a stranger's kernel: as good as a crash.
    return std::unexpected(
        ended({WorkerTrouble::Kind::babbled, "it failed: " + failed->text}, doing));
  }
  return std::move(*answer);
}

// Where a process ended there, what this side knows of it is worth nothing: the next call begins
// anew.
std::expected<void, device::Fault> WorkerSupervisor::offload(const std::string& work,
                                                             const device::Device::TakeAnswer& take,
                                                             Milliseconds deadline) {
  constexpr const char* kDoing = "offloaded work";
  auto done = ask<message::Offloaded>(message::Offload{work}, deadline, kDoing);
  if (!done) return std::unexpected(std::move(done.error()));
  if (done->broken_off && done->deaths.empty())
    return std::unexpected(babbled("it broke work off over nothing", kDoing));
  if (!done->broken_off)
    if (const auto taken = take(done->answer); !taken)
      return std::unexpected(babbled(taken.error(), kDoing));
  if (!done->deaths.empty()) session_.reset();
  std::ranges::move(done->deaths, std::back_inserter(deaths_));
  if (done->broken_off) throw MachineError(fmt::format("{}: {}", info_.id, deaths_.back().message));
  return {};
}

void WorkerSupervisor::throw_if_disturbed() const {
  if (gone_) throw DeviceGone(lost_because_);
  if (!deaths_.empty() && deaths_.back().kind == device::FaultKind::killed)
    throw MachineError(fmt::format("{}: {}", info_.id, deaths_.back().message));
}

std::unique_ptr<WorkerSession> WorkerSupervisor::open_session() const {
  const bool follows = generation_ > 0;
  if (options_.open) return options_.open(follows, window_);
  auto words = options_.words;
  if (follows) words.emplace_back("--health");
  return std::make_unique<ProcessSession>(words, std::vector<int>{window_.file()});
}

// A new worker. What is wrong, in one line, if there is none; what it threw is thrown the first
// time, when there has been none before.
std::optional<std::string> WorkerSupervisor::start() {
  auto session = open_session();
  auto answer = session->greet(options_.deadlines.start);
  for (OutsideKills kills; !answer && answer.error().killed && kills.bearable();) {
    session = open_session();
    answer = session->greet(options_.deadlines.start);
  }
  if (!answer && answer.error().kind == WorkerTrouble::Kind::gone && generation_ > 0)
    ended(answer.error(), "start");
  if (!answer) return answer.error().text;
  if (const auto* failed = std::get_if<message::Failed>(&*answer)) {
    if (generation_ == 0) message::throw_failed(*failed);
    return failed->text;
  }
  auto* opened = std::get_if<message::DeviceOpened>(&*answer);
  if (opened == nullptr || opened->version != message::kVersion)
    return "it is not a worker of this fa-tune";
  if (generation_ > 0 && (opened->info.id != info_.id || opened->info.name != info_.name))
    return fmt::format("it now has {} ({})", opened->info.id, opened->info.name);
  if (generation_ == 0) info_ = std::move(opened->info);
  session_ = std::move(session);
  ++generation_;
  return std::nullopt;
}

void WorkerSupervisor::restart() {
  std::string trouble;
  for (const Milliseconds pause : options_.pauses) {
    std::this_thread::sleep_for(pause);
    try {
      const auto failed = start();
      if (!failed || lost()) return;
      trouble = *failed;
    } catch (const std::runtime_error& error) {
      trouble = error.what();  // no process could be started
    }
    log_debug("{}: a new worker does not start: {}", info_.id, trouble);
  }
  set_aside(fmt::format("{} workers in a row did not start: {}", options_.pauses.size(), trouble));
}

void WorkerSupervisor::set_aside(const std::string& because) {
  reason_ = because;
  lost_because_ = fmt::format("{} is set aside: {}", info_.id, because);
  log_warning("{}", lost_because_);
}

// What the worker was about when it ended makes the Fault.
device::Fault WorkerSupervisor::ended(const WorkerTrouble& trouble, const char* doing) {
  session_.reset();
  if (trouble.kind == WorkerTrouble::Kind::gone) {
    gone_ = true;
    set_aside(trouble.text);
    window_.give_back();
    return lost_fault();
  }
  if (trouble.kind == WorkerTrouble::Kind::stuck) set_aside(trouble.text);
  const bool late =
      trouble.kind == WorkerTrouble::Kind::hung || trouble.kind == WorkerTrouble::Kind::stuck;
  const auto kind = trouble.killed ? device::FaultKind::killed
                    : late         ? device::FaultKind::timeout
                                   : device::FaultKind::died;
  deaths_.push_back({kind, fmt::format("{}: {}", doing, trouble.text)});
  log_debug("{}: the worker is over: {}", info_.id, deaths_.back().message);
  return deaths_.back();
}

// Throws as throw_if_disturbed.
device::Fault WorkerSupervisor::babbled(const std::string& what, const char* doing) {
  device::Fault fault = ended(session_->babbled(what), doing);
  throw_if_disturbed();
  return fault;
}

}  // namespace fa_tune::worker
