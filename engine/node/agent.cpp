#include "engine/node/agent.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include <fmt/core.h>

#include "engine/node/compile_lane.hpp"
#include "engine/node/device_lane.hpp"
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

// What lanes of a node share, to end those that nobody needs any more.
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
  // No lane connects any more.
  void begin() { begun_ = true; }
  void cut() {
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
  // Before the link can be cut by another lane's end: who has a key and no name is told to the user.
  if (auto sent = link->send(message::encode(hello), options.patience.engine); !sent)
    return {How::lost, sent.error()};
  return ending.use(link) ? lane.serve(link) : Lane::End{How::lost, "it is not needed"};
}

// A lane's connections to the engine, one after the other. `what` it lends, for messages.
Lane::End serve_lane(const AgentOptions& options, Lane& lane, const message::Hello& hello,
                     const std::string& what, Ending& ending) {
  using How = Lane::End::How;
  // The other connection of the first device says the same.
  const bool tells = hello.role != message::Role::reference;
  bool known = false;  // the engine has had the same key
  auto pause = kTryAgain;
  for (auto until = Clock::now() + options.wait;;) {
    const auto began = Clock::now();
    Lane::End end = connect(options, lane, hello, ending);
    // What looks like another key then was spoilt on its way.
    if (known && end.denied) end.how = How::lost;
    if (end.how == How::refused && tells)
      log_warning("{} is refused: {}", what, printable(end.why, kLongestReason));
    if (end.how == How::failed) log_warning("{} has failed: {}", what, end.why);
    if (end.how == How::over) ending.begin();
    if (end.how != How::lost || ending.begun()) return end;
    if (end.welcomed) {
      if (tells)
        log_warning("{}: the engine at {} is gone: {}", what, to_text(options.engine), end.why);
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
  message::Hello hello;
  hello.build = message::build_of_this_program();
  hello.node = options.name;
  Ending ending;
  const auto serve_device = [&](const std::string& device, message::Role role) {
    hello.device = device;
    hello.role = role;
    return std::async(std::launch::async, [&options, &ending, hello] {
      DeviceLane lane([&] { return options.open(hello.device); },
                      [&](device::Device& opened) { return options.serve(opened, hello.device); },
                      options.patience);
      return serve_lane(options, lane, hello, hello.device, ending);
    });
  };
  std::vector<std::future<Lane::End>> lanes;
  for (const std::string& device : options.devices)
    lanes.push_back(serve_device(device, message::Role::trials));
  // Besides, for as long as there is a device.
  std::vector<std::future<Lane::End>> others;
  if (!options.devices.empty())
    others.push_back(serve_device(options.devices.front(), message::Role::reference));
  if (options.compiler != nullptr) {
    hello.device.clear();
    hello.role = message::Role::compilers;
    hello.jobs = static_cast<std::uint32_t>(options.jobs);
    hello.compiler = options.compiler->version();
    hello.headers = options.compiler->headers();
    (options.devices.empty() ? lanes : others)
        .push_back(std::async(std::launch::async, [&options, &ending, hello] {
          CompileLane lane(*options.compiler, options.jobs, options.patience);
          return serve_lane(options, lane, hello, "compiling", ending);
        }));
  }
  std::vector<Lane::End> ends;
  for (auto& each : lanes) ends.push_back(each.get());
  ending.cut();
  for (auto& each : others) each.wait();
  const auto found = [&](How how) { return std::ranges::find(ends, how, &Lane::End::how); };
  if (const auto over = found(How::over); over != ends.end()) return over->why;
  const std::string engine = "the engine at " + to_text(options.engine);
  if (const auto failed = found(How::failed); failed != ends.end()) throw MachineError(failed->why);
  if (const auto refused = found(How::refused); refused != ends.end())
    throw UserError(fmt::format("{} takes nothing of this node: {}", engine,
                                printable(refused->why, kLongestReason)));
  throw MachineError(fmt::format("{} cannot be reached: {}", engine, ends.front().why));
}

}  // namespace fa_tune::node
