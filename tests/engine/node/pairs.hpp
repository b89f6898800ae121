#pragma once

#include <future>
#include <memory>
#include <utility>

#include <doctest/doctest.h>
#include <sys/socket.h>

#include "engine/node/link.hpp"
#include "engine/node/tls_channel.hpp"

namespace fa_tune::test {

inline node::Key key_of(unsigned char first) {
  node::Key key{};
  key.front() = first;
  return key;
}

inline std::pair<int, int> socket_pair() {
  int ends[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {ends[0], ends[1]};
}

using Opened = std::expected<std::unique_ptr<node::TlsChannel>, node::TlsChannel::Failure>;

// Both ends of a connection: the engine's, the node's.
inline std::pair<Opened, Opened> channels(const node::Key& engine, const node::Key& node) {
  using node::TlsChannel;
  const auto [one, other] = socket_pair();
  auto there = std::async(std::launch::async, [&node, socket = other] {
    return TlsChannel::open(socket, TlsChannel::Side::node, node, std::chrono::seconds(10));
  });
  auto here = TlsChannel::open(one, TlsChannel::Side::engine, engine, std::chrono::seconds(10));
  return {std::move(here), there.get()};
}

inline std::pair<std::shared_ptr<node::Link>, std::shared_ptr<node::Link>> links() {
  auto [engine, node] = channels(key_of(1), key_of(1));
  REQUIRE(engine.has_value());
  REQUIRE(node.has_value());
  return {std::make_shared<node::Link>(std::move(*engine)),
          std::make_shared<node::Link>(std::move(*node))};
}

}  // namespace fa_tune::test
