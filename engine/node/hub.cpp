#include "engine/node/hub.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/node_session.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::node {
namespace {

using namespace std::chrono_literals;

// How often a wait looks whether it is still wanted.
constexpr auto kStopLook = 200ms;
// Of one node: as many as --jobs takes.
constexpr std::uint32_t kMostCompilers = 1024;
// What a goodbye may take.
constexpr auto kGoodbye = 1000ms;

}  // namespace

NodeHub::NodeHub(HubOptions options)
    : options_(std::move(options)),
      listening_(listen_at(options_.address)),
      keeper_([this](const std::stop_token& stop) { keep(stop); }),
      reception_(std::make_unique<Reception>(
          listening_, [this](int socket, const std::function<void()>& proved) {
            try {
              see_in(socket, proved);
            } catch (const std::exception& error) {
              log_warning("a node could not be taken in: {}", error.what());
            }
          })) {}

NodeHub::~NodeHub() {
  ending_ = true;
  reception_.reset();
  close(listening_);
  keeper_ = {};
  const auto all = links();
  devices_.clear();
  for (const auto& each : compilers_) options_.compilers->remove(*each);
  const std::string over = message::encode(message::Over{"the search is over"});
  for (const auto& link : all)
    if (!link->send(over, kGoodbye)) link->cut();
  compilers_.clear();
}

// Those that are left.
std::vector<std::shared_ptr<Link>> NodeHub::links() {
  const std::lock_guard lock(mutex_);
  std::erase_if(welcomed_, [](const Welcomed& each) { return each.link.expired(); });
  std::vector<std::shared_ptr<Link>> all;
  for (const Welcomed& each : welcomed_)
    if (auto link = each.link.lock()) all.push_back(std::move(link));
  return all;
}

// Nodes whose engine says nothing for long give it up. What is wrong with a link is found by who
// asks there; nobody does on those for reference kernels until one is needed.
void NodeHub::keep(const std::stop_token& stop) {
  const auto gone = [](const auto& compiler) { return !compiler->lost_because().empty(); };
  for (;;) {
    std::vector<std::shared_ptr<NodeCompiler>> lost;  // they end outside of the lock
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, options_.patience.beat,
                        [&] { return std::ranges::any_of(compilers_, gone); });
      if (stop.stop_requested()) return;
      std::erase_if(references_,
                    [](const Guest& guest) { return !guest.link->next(0ms).has_value(); });
      std::ranges::copy_if(compilers_, std::back_inserter(lost), gone);
      std::erase_if(compilers_, gone);
    }
    for (const auto& each : lost)
      if (options_.compilers->remove(*each)) log_warning("{}", each->lost_because());
    for (const auto& link : links()) (void)link->beat();
  }
}

std::optional<NodeHub::Guest> NodeHub::welcome(int socket, const std::function<void()>& proved) {
  const Patience& patience = options_.patience;
  auto channel =
      TlsChannel::open(socket, TlsChannel::Side::engine, options_.key, patience.handshake);
  if (!channel) {
    log_debug("somebody who has no key came to {}: {}", to_text(address()), channel.error().why);
    return std::nullopt;
  }
  proved();
  auto link = std::make_shared<Link>(std::move(*channel));
  const auto first = wait_for_message(*link, patience.handshake, patience.handshake);
  if (!first || !std::holds_alternative<message::Hello>(*first)) {
    if (ending_) return std::nullopt;
    log_warning("a node came to {} and gave no name: {}", to_text(address()),
                first ? "it said another thing" : first.error());
    return std::nullopt;
  }
  message::Hello hello = std::get<message::Hello>(*first);
  hello.node = printable(hello.node, kLongestQuote);
  hello.device = printable(hello.device, kLongestQuote);
  hello.compiler = printable(hello.compiler, kLongestQuote);
  if (hello.build != message::build_of_this_program()) {
    refuse(*link, hello.node, "it runs another build of fa-tune; install this engine's there");
    return std::nullopt;
  }
  if (!link->send(message::encode(message::Welcome{}), patience.silence)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  welcomed_.push_back({link, hello.node});
  return Guest{std::move(link), std::move(hello)};
}

// A node's connections are mostly all refused for the same reason: that is told once.
void NodeHub::refuse(Link& link, const std::string& node, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    const std::string line = fmt::format("node {} is refused: {}", node, why);
    if (line != last_refusal_) log_warning("{}", line);
    last_refusal_ = line;
  }
  (void)link.send(message::encode(message::Refused{why}), options_.patience.silence);
}

std::optional<std::string> NodeHub::wrong_kind(const device::DeviceInfo& info) {
  const std::lock_guard lock(mutex_);
  if (!kind_) kind_ = info;
  if (info.name == kind_->name && info.arch == kind_->arch && info.driver == kind_->driver)
    return std::nullopt;
  const auto described = [](const device::DeviceInfo& each) {
    return each.driver.empty() ? each.name : each.name + " with driver " + each.driver;
  };
  return fmt::format(
      "it has {} and the run has {}: times of different devices and drivers do not compare",
      described(info), described(*kind_));
}

void NodeHub::see_in(int socket, const std::function<void()>& proved) {
  auto guest = welcome(socket, proved);
  if (!guest) return;
  if (guest->hello.role == message::Role::reference) {
    {
      const std::lock_guard lock(mutex_);
      references_.push_back(std::move(*guest));
    }
    changed_.notify_all();
    return;
  }
  if (guest->hello.role == message::Role::compilers)
    take_in_compilers(*guest);
  else
    take_in_device(*guest);
}

void NodeHub::take_in_device(const Guest& guest) {
  const auto& [link, hello] = guest;
  std::unique_ptr<device::Device> device;
  try {
    device = open_on_node(link, hello.node, hello.device, options_.patience);
  } catch (const std::runtime_error& error) {
    if (ending_) return;
    const std::string why = printable(error.what(), kLongestReason);
    if (link->next(0ms))
      refuse(*link, hello.node, why);
    else
      log_warning("{} was lost while {} was opened: {}", hello.node, hello.device, why);
    return;
  }
  if (const auto wrong = wrong_kind(device->info())) {
    refuse(*link, hello.node, *wrong);
    return;
  }
  log_info("{} has come: {}", device->info().id, device->info().name);
  const std::lock_guard lock(mutex_);
  arrived_.push_back(device.get());
  devices_.push_back(std::move(device));
  changed_.notify_all();
  if (wake_) wake_();
}

void NodeHub::take_in_compilers(const Guest& guest) {
  const auto& [link, hello] = guest;
  const std::string who = hello.node + "'s compiling";
  if (options_.compilers == nullptr)
    return refuse(*link, who, "this search has no use for compilers");
  if (hello.jobs < 1 || hello.jobs > kMostCompilers)
    return refuse(*link, who,
                  fmt::format("it has {} compilers, of 1 to {}", hello.jobs, kMostCompilers));
  // Its own thread may be the one that finds it gone, and cannot wait for its own end: keep() takes
  // it out.
  const auto compiler = std::make_shared<NodeCompiler>(link, hello, options_.patience, [this] {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
  if (const auto added = options_.compilers->add(compiler, static_cast<int>(hello.jobs)); !added)
    return refuse(*link, who, added.error());
  log_info("node {} has come: compiles {} at a time, {}", hello.node, hello.jobs,
           compiler->version());
  const std::lock_guard lock(mutex_);
  compilers_.push_back(compiler);
  changed_.notify_all();
}

void NodeHub::require_kind(const device::DeviceInfo& kind) {
  const std::lock_guard lock(mutex_);
  kind_ = kind;
}

std::size_t NodeHub::devices_so_far() const {
  const std::lock_guard lock(mutex_);
  return devices_.size();
}

std::set<std::string> NodeHub::connected_nodes() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const Welcomed& each : welcomed_)
    if (const auto link = each.link.lock(); link && link->connected()) names.insert(each.node);
  return names;
}

std::vector<device::Device*> NodeHub::take_arrived() {
  const std::lock_guard lock(mutex_);
  return std::exchange(arrived_, {});
}

void NodeHub::on_arrival(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

device::Device* NodeHub::wait_for_first(const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  while (!stop() && !changed_.wait_for(lock, kStopLook, [this] { return !devices_.empty(); })) {
  }
  return devices_.empty() ? nullptr : devices_.front().get();
}

std::unique_ptr<device::Device> NodeHub::open_reference() {
  const auto until = std::chrono::steady_clock::now() + options_.grace;
  std::string why = "none has come";
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, until, [this] { return !references_.empty(); })) break;
    const Guest guest = std::move(references_.front());
    references_.pop_front();
    lock.unlock();
    try {
      return open_on_node(guest.link, guest.hello.node, guest.hello.device, options_.patience);
    } catch (const MachineError& error) {
      why = error.what();
    }
  }
  throw MachineError(fmt::format("no node runs the reference kernel: {}", why));
}

}  // namespace fa_tune::node
