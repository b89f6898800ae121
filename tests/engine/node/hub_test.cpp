// An engine and nodes, each in threads of this process.
#include "engine/node/hub.hpp"

#include <filesystem>
#include <future>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/agent.hpp"
#include "engine/node/device_lane.hpp"
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
using namespace std::string_view_literals;

namespace {

const auto kNever = [] { return false; };

// What came of a node that served the hub: why it ended, or the words of its error.
std::future<std::string> serve(const NodeHub& hub, std::vector<std::string> devices,
                               unsigned char key = 1, std::chrono::milliseconds wait = 0ms,
                               std::shared_ptr<kernel::Compiler> compiler = nullptr) {
  AgentOptions options;
  options.engine = hub.address();
  options.key = key_of(key);
  options.name = "n1";
  options.devices = std::move(devices);
  options.wait = wait;
  options.patience = short_patience();
  options.compiler = std::move(compiler);
  options.jobs = options.compiler == nullptr ? 0 : 2;
  options.open = [](const std::string& device) {
    return open_emulator(device.substr(device.find(':') + 1));
  };
  return std::async(std::launch::async, [options] {
    try {
      return serve_engine(options);
    } catch (const UserError& error) {
      return std::string("user: ") + error.what();
    } catch (const MachineError& error) {
      return std::string("machine: ") + error.what();
    }
  });
}

std::vector<Device*> arrived(NodeHub& hub, std::size_t count) {
  std::vector<Device*> all;
  for (int i = 0; i < 500 && all.size() < count; ++i) {
    for (Device* each : hub.take_arrived()) all.push_back(each);
    std::this_thread::sleep_for(20ms);
  }
  return all;
}

// Answers with its own name.
class NamedCompiler final : public kernel::Compiler {
 public:
  NamedCompiler(std::string name, std::string version)
      : name_(std::move(name)), version_(std::move(version)) {}
  kernel::CompileOutcome compile(const kernel::CompileRequest&) override {
    kernel::Compiled compiled;
    compiled.image.bytes = name_;
    return compiled;
  }
  std::string version() const override { return version_; }

 private:
  std::string name_, version_;
};

std::string compiled_by(kernel::Compiler& compiler) {
  const auto outcome = compiler.compile({{"source", "k", ""}, "sm_89", {}, {}});
  return outcome ? outcome->image.bytes : outcome.error().message;
}

}  // namespace

TEST_CASE("nodes bring their devices to an engine and end with it") {
  std::future<std::string> two;
  std::future<std::string> one;
  {
    NodeHub hub(hub_options());
    std::atomic<int> woken{0};
    hub.on_arrival([&] { ++woken; });
    two = serve(hub, {"emulator:l4", "emulator:l4"});
    REQUIRE(hub.wait_for_first(kNever) != nullptr);
    one = serve(hub, {"emulator:l4"});
    const auto devices = arrived(hub, 3);
    REQUIRE(devices.size() == 3);
    CHECK(woken == 3);
    CHECK(hub.take_arrived().empty());
    // All at once.
    std::vector<std::future<bool>> working;
    for (Device* device : devices)
      working.push_back(std::async(std::launch::async, [device] { return works(*device); }));
    for (auto& each : working) CHECK(each.get());
    const auto reference = hub.open_reference();
    CHECK(works(*reference));
    CHECK(works(*hub.open_reference()));
  }
  CHECK(two.get() == "the search is over");
  CHECK(one.get() == "the search is over");
}

TEST_CASE("who is of another kind or has another key is told so, and the others stay") {
  std::future<std::string> first;  // it ends with the hub
  NodeHub hub(hub_options());
  first = serve(hub, {"emulator:l4"});
  Device* const device = hub.wait_for_first(kNever);
  REQUIRE(device != nullptr);
  const std::string other = serve(hub, {"emulator:h100"}).get();
  CHECK(other.starts_with("user: "));
  CHECK(other.find("the run has emulated NVIDIA L4") != std::string::npos);
  const std::string stranger = serve(hub, {"emulator:l4"}, 2).get();
  CHECK(stranger.starts_with("user: "));
  CHECK(stranger.find("no common key") != std::string::npos);
  CHECK(works(*device));
  CHECK(hub.take_arrived().size() == 1);
}

TEST_CASE("a hub tells which nodes are connected, also of those that nobody asks anything") {
  NodeHub hub(hub_options());
  const auto come = [&](const std::string& name, message::Role role) {
    const auto socket = connect_to(hub.address(), 1s);
    REQUIRE(socket.has_value());
    auto channel = TlsChannel::open(*socket, TlsChannel::Side::node, key_of(1), 5s);
    REQUIRE(channel.has_value());
    auto link = std::make_unique<Link>(std::move(*channel));
    const message::Hello hello{message::build_of_this_program(), name, "emulator:l4", role};
    REQUIRE(link->send(message::encode(hello), 5s).has_value());
    REQUIRE(wait_for_message(*link, 5s, 5s).has_value());
    return link;
  };
  CHECK(hub.connected_nodes().empty());
  auto first = come("n1", message::Role::trials);
  auto again = come("n1", message::Role::trials);
  const auto second = come("n2", message::Role::trials);
  const auto reference = come("n3", message::Role::reference);
  const auto becomes = [&](const std::set<std::string>& names) {
    for (int i = 0; i < 500 && hub.connected_nodes() != names; ++i)
      std::this_thread::sleep_for(20ms);
    return hub.connected_nodes() == names;
  };
  CHECK(becomes({"n1", "n2", "n3"}));
  first.reset();
  again->cut();
  CHECK(becomes({"n2", "n3"}));
}

TEST_CASE("strangers on the port, many and slow, hold up neither nodes nor the end") {
  std::vector<int> strangers;
  std::future<std::string> node;
  HubOptions options = hub_options();
  // Longer than all of this may take.
  options.patience.handshake = 60s;
  const Stopwatch watch;
  {
    NodeHub hub(options);
    const auto come = [&](int count) {
      for (int i = 0; i < count; ++i) {
        const auto stranger = connect_to(hub.address(), 1s);
        REQUIRE(stranger.has_value());
        strangers.push_back(*stranger);
      }
    };
    come(200);
    // The beginning of a handshake that comes a byte now and then, and others who come all the time.
    std::jthread slow([&](const std::stop_token& stop) {
      constexpr std::string_view begin = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv;
      for (std::size_t i = 0; !stop.stop_requested(); ++i) {
        const char next = i < begin.size() ? begin[i] : 'x';
        for (const int each : strangers) (void)::send(each, &next, 1, MSG_NOSIGNAL);
        std::this_thread::sleep_for(20ms);
        if (strangers.size() < 400) come(1);
      }
    });
    node = serve(hub, {"emulator:l4"});
    CHECK(hub.wait_for_first(kNever) != nullptr);
  }
  CHECK(watch.milliseconds() < 30'000);
  CHECK(node.get() == "the search is over");
  for (const int each : strangers) close(each);
}

TEST_CASE(
    "nodes bring compilers, alone or beside devices, those of another version nothing but "
    "devices") {
  HubOptions options = hub_options();
  options.compilers = std::make_shared<kernel::CompilerGroup>(
      kernel::CompilerGroup::Options{5s, "a node that compiles"});
  kernel::CompilerGroup& group = *options.compilers;
  std::future<std::string> both, alone, other;
  {
    NodeHub hub(options);
    alone = serve(hub, {}, 1, 0ms, std::make_shared<NamedCompiler>("alone", "v1"));
    CHECK(group.wait_for_first(kNever));
    CHECK(group.version() == "v1");
    CHECK(group.size() == 2);
    CHECK(compiled_by(group) == "alone");
    other = serve(hub, {"emulator:l4"}, 1, 0ms, std::make_shared<NamedCompiler>("other", "v2"));
    Device* const device = hub.wait_for_first(kNever);
    REQUIRE(device != nullptr);
    CHECK(works(*device));
    CHECK(group.size() == 2);
    const std::string refused =
        serve(hub, {}, 1, 0ms, std::make_shared<NamedCompiler>("other", "v2")).get();
    CHECK(refused.starts_with("user: "));
    CHECK(refused.find("it has v2 and the search has v1") != std::string::npos);
    both = serve(hub, {"emulator:l4"}, 1, 0ms, std::make_shared<NamedCompiler>("both", "v1"));
    for (int i = 0; i < 500 && group.size() < 4; ++i) std::this_thread::sleep_for(20ms);
    CHECK(group.size() == 4);
    // A node whose devices are not wanted is told so, and its compilers go with it.
    CHECK(serve(hub, {"emulator:h100"}, 1, 0ms, std::make_shared<NamedCompiler>("c", "v1"))
              .get()
              .starts_with("user: "));
    for (int i = 0; i < 500 && group.size() > 4; ++i) std::this_thread::sleep_for(20ms);
    CHECK(group.size() == 4);
  }
  CHECK(group.size() == 0);
  for (auto* each : {&alone, &other, &both}) CHECK(each->get() == "the search is over");
}

TEST_CASE("a hub without nodes ends its waits") {
  HubOptions options = hub_options();
  options.grace = 100ms;
  NodeHub hub(options);
  CHECK_THROWS_WITH_AS((void)hub.open_reference(),
                       "no node runs the reference kernel: none has come", MachineError);
  CHECK(hub.wait_for_first([] { return true; }) == nullptr);
  CHECK(serve(hub, {"emulator:nothing"}).get().starts_with("user: "));
}

TEST_CASE("a node that comes and goes leaves nothing behind") {
  HubOptions options = hub_options();
  options.compilers = std::make_shared<kernel::CompilerGroup>(kernel::CompilerGroup::Options{});
  NodeHub hub(options);
  const auto files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto connect = [&] {
    const auto socket = connect_to(hub.address(), 5s);
    REQUIRE(socket.has_value());
    auto channel = TlsChannel::open(*socket, TlsChannel::Side::node, key_of(1), 5s);
    REQUIRE(channel.has_value());
    return std::make_shared<Link>(std::move(*channel));
  };
  const auto hello = [](node::message::Role role) {
    return node::message::Hello{
        node::message::build_of_this_program(), "n1", "emulator:l4", role, 1, "v1", ""};
  };
  const auto come_and_go = [&](node::message::Role role) {
    const auto link = connect();
    REQUIRE(link->send(node::message::encode(hello(role)), 1s).has_value());
    if (role != node::message::Role::trials) {
      REQUIRE(wait_for_message(*link, 5s, 5s).has_value());
      return;
    }
    DeviceLane lane([] { return open_emulator(); }, {}, short_patience());
    std::jthread serving([&] { (void)lane.serve(link); });
    const auto came = arrived(hub, 1);
    REQUIRE(came.size() == 1);
    link->cut();
    serving.join();
    CHECK_FALSE(came.front()->ready());
  };
  using enum node::message::Role;
  come_and_go(trials);
  come_and_go(reference);
  come_and_go(compilers);
  const auto before = files();
  for (int i = 0; i < 10; ++i) {
    come_and_go(trials);
    come_and_go(reference);
    come_and_go(compilers);
  }
  // Those for reference kernels and compilers are looked after now and then.
  for (int i = 0; i < 500 && (files() > before || options.compilers->size() > 0); ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(files() <= before);
  CHECK(options.compilers->size() == 0);
}

}  // namespace fa_tune::test
