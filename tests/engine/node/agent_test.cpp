// A node in a thread of this process, and the engines that it finds or loses.
#include "engine/node/agent.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "engine/node/tls_channel.hpp"
#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/node/nodes.hpp"
#include "tests/engine/node/pairs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::node;
using namespace std::chrono_literals;

namespace {

// Of a node with one emulator; `wait`: for its engine.
AgentOptions agent_options(const Address& engine, std::chrono::milliseconds wait) {
  AgentOptions options;
  options.engine = engine;
  options.key = key_of(1);
  options.name = "n1";
  options.devices = {"emulator:l4"};
  options.wait = wait;
  options.patience = short_patience();
  options.open = [](const std::string&) { return open_emulator(); };
  return options;
}

bool never() { return false; }

}  // namespace

TEST_CASE("a node waits for its engine and finds the next one") {
  HubOptions options = hub_options();
  std::future<std::string> node;
  {
    NodeHub early(options);
    options.address = early.address();
  }
  {
    const AgentOptions agent = agent_options(options.address, 10s);
    node = std::async(std::launch::async, [agent] { return serve_engine(agent); });
  }
  std::this_thread::sleep_for(200ms);
  {
    NodeHub hub(options);
    Device* const device = hub.wait_for_first(never);
    REQUIRE(device != nullptr);
    CHECK(works(*device));
  }
  CHECK(node.get() == "the search is over");
}

TEST_CASE("an engine that says nothing is given up, and one that has nothing to ask is not") {
  AgentOptions agent = agent_options({}, 0ms);
  agent.patience.engine = 1500ms;
  std::future<std::string> node;
  {
    NodeHub hub(hub_options());
    agent.engine = hub.address();
    node = std::async(std::launch::async, [agent] { return serve_engine(agent); });
    Device* const device = hub.wait_for_first(never);
    REQUIRE(device != nullptr);
    std::this_thread::sleep_for(2500ms);
    CHECK(works(*device));
  }
  CHECK(node.get() == "the search is over");

  // Its hub says that it lives once in a minute.
  HubOptions silent = hub_options();
  silent.patience.beat = 60s;
  NodeHub hub(silent);
  agent.engine = hub.address();
  node = std::async(std::launch::async, [agent] {
    try {
      return serve_engine(agent);
    } catch (const MachineError& error) {
      return std::string(error.what());
    }
  });
  REQUIRE(hub.wait_for_first(never) != nullptr);
  CHECK(has(node.get(), "cannot be reached: it says nothing for 1500 ms"));
}

TEST_CASE(
    "a node that the engine has known tries again, and longer each time that it is cut soon") {
  Address address{"127.0.0.1", 0};
  const int listening = listen_at(address);
  const AgentOptions agent = agent_options(address, 20s);
  auto node = std::async(std::launch::async, [agent] { return serve_engine(agent); });
  using Role = node::message::Role;
  // The next connection of the device; those for reference kernels are welcomed, and wait.
  std::vector<std::unique_ptr<Link>> references;
  const auto next = [&](unsigned char key) -> std::unique_ptr<Link> {
    for (;;) {
      const int socket = accept_at(listening, 20s);
      REQUIRE(socket >= 0);
      auto channel = TlsChannel::open(socket, TlsChannel::Side::engine, key_of(key), 5s);
      if (!channel) return nullptr;
      auto link = std::make_unique<Link>(std::move(*channel));
      const auto hello = wait_for_message(*link, 5s, 5s);
      REQUIRE(hello.has_value());
      REQUIRE(link->send(node::message::encode(node::message::Welcome{}), 1s).has_value());
      if (std::get<node::message::Hello>(*hello).role == Role::trials) return link;
      references.push_back(std::move(link));
    }
  };
  std::unique_ptr<Link> link = next(1);
  // Both connections are there before one is cut.
  if (references.empty()) {
    const int socket = accept_at(listening, 20s);
    auto channel = TlsChannel::open(socket, TlsChannel::Side::engine, key_of(1), 5s);
    REQUIRE(channel.has_value());
    references.push_back(std::make_unique<Link>(std::move(*channel)));
    REQUIRE(references.back()->send(node::message::encode(node::message::Welcome{}), 1s));
  }
  for (const double pause_ms : {900.0, 1900.0}) {
    const Stopwatch watch;
    link.reset();
    // What looks like another key.
    CHECK(next(2) == nullptr);
    CHECK(watch.milliseconds() > pause_ms);
    link = next(1);
    REQUIRE(link != nullptr);
  }
  const std::string over = node::message::encode(node::message::Over{"enough"});
  CHECK(link->send(over, 1s).has_value());
  CHECK(node.get() == "enough");
  close(listening);
}

}  // namespace fa_tune::test
