#include "engine/node/agent.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include <fmt/core.h>

#include "engine/node/lane.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::node {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kTryAgain = 500ms;
// After connections that were cut again and again soon after they were made, the pause doubles, up
// to this: a node that comes and goes costs the search more than it brings.
constexpr auto kLongestPause = 16 * kTryAgain;
constexpr auto kSoon = 10s;

// What all lanes of a node share, to end one that nobody needs any more.
class Ending {
 public:
  bool begun() const { return begun_; }
  // False if it is too late for another link.
  bool use(const std::shared_ptr<Link>& link) {
    const std::lock_guard lock(mutex_);
    std::erase_if(links_, [](const std::weak_ptr<Link>& each) { return each.expired(); });
    links_.push_back(link);
    return !begun_;
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    begins_.notify_all();
    for (const auto& each : links_)
      if (const auto link = each.lock()) link->cut();
  }
  // For as long, or until it begins.
  void pause(Clock::duration length) {
    std::unique_lock lock(mutex_);
    begins_.wait_for(lock, length, [this] { return begun_.load(); });
  }

 private:
  std::atomic<bool> begun_{false};
  std::mutex mutex_;
  std::condition_variable begins_;
  std::vector<std::weak_ptr<Link>> links_;
};

Lane::End connect(const AgentOptions& options, Lane& lane, const message::Hello& hello,
                  Ending& ending) {
  using How = Lane::End::How;
  const auto socket = connect_to(options.engine, options.patience.handshake);
  if (!socket) return {How::lost, socket.error()};
  auto channel =
      TlsChannel::open(*socket, TlsChannel::Side::node, options.key, options.patience.handshake);
  if (!channel) {
    const bool denied = channel.error().denied;
    return {denied ? How::refused : How::lost, std::move(channel.error().why), false, denied};
  }
  const auto link = std::make_shared<Link>(std::move(*channel));
  return ending.use(link) ? lane.serve(*link, hello) : Lane::End{How::lost, "it is not needed"};
}

// One device's connections to the engine, one after the other.
Lane::End serve_lane(const AgentOptions& options, const std::string& device, message::Role role,
                     Ending& ending) {
  using How = Lane::End::How;
  Lane lane([&] { return options.open(device); }, options.patience);
  const message::Hello hello{message::build_of_this_program(), options.name, device, role};
  bool known = false;  // the engine has had the same key
  auto pause = kTryAgain;
  for (auto until = Clock::now() + options.wait;;) {
    const auto began = Clock::now();
    Lane::End end = connect(options, lane, hello, ending);
    // What looks like another key then was spoilt on its way.
    if (known && end.denied) end.how = How::lost;
    if (end.how != How::lost || ending.begun()) return end;
    if (end.welcomed) {
      // The other connection of the first device says so too.
      if (role == message::Role::trials)
        log_warning("{}: the engine at {} is gone: {}", device, to_text(options.engine), end.why);
      known = true;
      until = Clock::now() + options.wait;
      pause = Clock::now() - began < kSoon ? std::min(2 * pause, kLongestPause) : kTryAgain;
    }
    if (Clock::now() >= until) return end;
    ending.pause(pause);
  }
}

}  // namespace

std::string serve_engine(const AgentOptions& options) {
  using How = Lane::End::How;
  Ending ending;
  const auto begin = [&](const std::string& device, message::Role role) {
    return std::async(std::launch::async, [&options, &ending, device, role] {
      return serve_lane(options, device, role, ending);
    });
  };
  const auto reference = begin(options.devices.front(), message::Role::reference);
  std::vector<std::future<Lane::End>> lanes;
  for (const std::string& device : options.devices)
    lanes.push_back(begin(device, message::Role::trials));
  std::vector<Lane::End> ends;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    ends.push_back(lanes[i].get());
    if (ends.back().how == How::refused)
      log_warning("{} is refused: {}", options.devices[i],
                  printable(ends.back().why, kLongestReason));
  }
  ending.begin();
  reference.wait();
  const auto found = [&](How how) { return std::ranges::find(ends, how, &Lane::End::how); };
  if (const auto over = found(How::over); over != ends.end()) return over->why;
  const std::string engine = "the engine at " + to_text(options.engine);
  if (const auto refused = found(How::refused); refused != ends.end())
    throw UserError(fmt::format("{} takes no device of this node: {}", engine,
                                printable(refused->why, kLongestReason)));
  throw MachineError(fmt::format("{} cannot be reached: {}", engine, ends.front().why));
}

}  // namespace fa_tune::node
