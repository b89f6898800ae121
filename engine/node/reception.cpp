#include "engine/node/reception.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <stop_token>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/address.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::node {
namespace {

using namespace std::chrono_literals;

// How often it looks whether it is still wanted, and who is through.
constexpr auto kArrivalLook = 200ms;

}  // namespace

Reception::Reception(int listening, SeeIn see_in)
    : listening_(listening),
      see_in_(std::move(see_in)),
      listener_([this](const std::stop_token& stop) { listen(stop); }) {}

Reception::~Reception() {
  listener_.request_stop();
  listener_.join();
  for (Arrival& each : arrivals_) shutdown(each.socket, SHUT_RDWR);
  for (Arrival& each : arrivals_) {
    each.thread.join();
    close(each.socket);
  }
}

void Reception::listen(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const int socket = accept_at(listening_, kArrivalLook);
    sweep();
    if (socket >= 0) begin(socket);
  }
}

void Reception::begin(int socket) {
  make_room();
  const int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    close(socket);
    return;
  }
  Arrival& arrival = arrivals_.emplace_back();
  arrival.socket = copy;
  arrival.from = peer_of(socket);
  try {
    arrival.thread = std::jthread([this, &arrival, socket] {
      see_in_(socket, [&arrival] { arrival.proved = true; });
      arrival.over = true;
    });
  } catch (const std::system_error& error) {
    log_debug("no thread for who came from {}: {}", arrival.from, error.what());
    close(socket);
    close(copy);
    arrivals_.pop_back();
  }
}

void Reception::sweep() {
  arrivals_.remove_if([](Arrival& each) {
    if (!each.over) return false;
    each.thread.join();
    close(each.socket);
    return true;
  });
}

void Reception::make_room() {
  std::map<std::string, std::size_t> unproved;
  std::size_t all = 0;
  for (const Arrival& each : arrivals_) {
    if (each.proved) continue;
    ++unproved[each.from];
    ++all;
  }
  if (all < kMostUnproved) return;
  const auto most =
      std::ranges::max_element(unproved, {}, [](const auto& address) { return address.second; });
  const auto oldest = std::ranges::find_if(
      arrivals_, [&](const Arrival& each) { return !each.proved && each.from == most->first; });
  log_debug("more than {} who have no key have come, most of them from {}: the oldest is cut",
            kMostUnproved, oldest->from);
  shutdown(oldest->socket, SHUT_RDWR);
  oldest->thread.join();
  close(oldest->socket);
  arrivals_.erase(oldest);
}

}  // namespace fa_tune::node
