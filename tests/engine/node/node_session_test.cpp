// A device behind a connection, with the node's end in a thread of this process.
#include "engine/node/node_session.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "engine/node/device_lane.hpp"
#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/node/nodes.hpp"
#include "tests/engine/node/pairs.hpp"
#include "tests/forwarding_device.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::node;
using namespace std::chrono_literals;

namespace {

// A node's end, which is welcome without a Hello.
class Node {
 public:
  explicit Node(
      DeviceLane::Opener open = [] { return open_emulator(); }, DeviceLane::ServiceMaker serve = {})
      : lane_(std::move(open), std::move(serve), short_patience()) {
    auto [engine, node] = links();
    engine_ = engine;
    node_ = node;
    thread_ = std::jthread([this] { end_ = lane_.serve(node_); });
    REQUIRE(engine_->send(node::message::encode(node::message::Welcome{}), 1s).has_value());
  }
  ~Node() { engine_->cut(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::unique_ptr<Device> open() {
    return open_on_node(engine_, "n1", "emulator:l4", short_patience());
  }
  Link& link() { return *engine_; }
  Lane::End end() {
    thread_.join();
    return end_;
  }

 private:
  DeviceLane lane_;
  std::shared_ptr<Link> engine_;
  std::shared_ptr<Link> node_;
  Lane::End end_;
  std::jthread thread_;
};

constexpr std::size_t kNumbers = 64;

// Whether a kernel on it adds one to each number; a Fault if there is one.
std::expected<bool, Fault> counts(Device& device, const std::string& accident = "none") {
  const auto kernel = device.load(counting_kernel(accident));
  if (!kernel) return std::unexpected(kernel.error());
  const BufferHandle buffer = device.allocate(kNumbers * 4);
  std::array<std::uint32_t, kNumbers> numbers{};
  std::iota(numbers.begin(), numbers.end(), 0U);
  Launch launch;
  launch.kernel = *kernel;
  launch.config.block.x = kNumbers;
  launch.arguments.push_back(device.address(buffer, 0));
  const std::vector<BufferWrite> writes = {{buffer, 0, std::as_bytes(std::span(numbers))}};
  const std::vector<BufferRead> reads = {{buffer, 0, std::as_writable_bytes(std::span(numbers))}};
  if (auto done = device.launch_between(writes, launch, reads); !done)
    return std::unexpected(done.error());
  bool right = true;
  for (std::uint32_t i = 0; i < kNumbers; ++i) right &= numbers[i] == i + 1;
  device.unload(*kernel);
  device.release(buffer);
  return right;
}

}  // namespace

TEST_CASE("a device of a node is the device") {
  Node node;
  {
    const auto device = node.open();
    CHECK(device->info().id == "n1/emulator:l4");
    CHECK(device->info().name == "emulated NVIDIA L4");
    CHECK(device->apart());
    CHECK(counts(*device) == true);
    // More than a window holds.
    const std::size_t bytes = worker::Window::kBytes + 4096;
    std::vector<std::byte> tensor(bytes);
    for (std::size_t i = 0; i < bytes; i += 997) tensor[i] = static_cast<std::byte>(i / 997);
    const BufferHandle large = device->allocate(bytes);
    REQUIRE(device->write(large, 0, tensor).has_value());
    std::vector<std::byte> back(bytes);
    REQUIRE(device->read(large, 0, back).has_value());
    CHECK((back == tensor));
    device->release(large);
    CHECK(device->deaths().empty());
    // What ran there before is gone with its process.
    const std::uint64_t life = device->life();
    CHECK(device->renew());
    CHECK(device->life() == life + 1);
    CHECK(counts(*device) == true);
  }
  // The next engine's device is the same one, begun anew.
  CHECK(counts(*node.open()) == true);
  REQUIRE(node.link().send(node::message::encode(node::message::Over{"done"}), 1s).has_value());
  const Lane::End end = node.end();
  CHECK(end.how == Lane::End::How::over);
  CHECK(end.why == "done");
}

TEST_CASE("a kernel that ends its process on a node is told as here, and the node goes on") {
  const WorkerMemory memory;
  Node node;
  const auto device = node.open();
  auto outcome = counts(*device, "segfault");
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().kind == FaultKind::died);
  CHECK(device->deaths().size() == 1);
  CHECK(counts(*device) == true);
  outcome = counts(*device, "hang");
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().kind == FaultKind::timeout);
  CHECK(device->deaths().size() == 2);
  CHECK(counts(*device) == true);
  CHECK_FALSE(device->lost());
  // From outside: nobody's fault, and the device is not gone with it.
  std::jthread killer([] {
    std::this_thread::sleep_for(300ms);
    kill_children();
  });
  CHECK_THROWS_AS((void)counts(*device, "hang"), MachineError);
  killer.join();
  CHECK(device->deaths().back().kind == FaultKind::killed);
  CHECK(counts(*device) == true);
}

namespace {

// Its work is the name of an accident. What it answers says how often it has been asked.
class Counting final : public OffloadService {
 public:
  explicit Counting(Device& device) : device_(device) {}

  std::string answer(const std::string& accident) override {
    ++asked_;
    if (accident == "user") throw UserError("there is no such work");
    if (accident == "machine") throw MachineError("the disk is full");
    const auto outcome = counts(device_, accident);
    const std::string found =
        outcome ? *outcome ? "right" : "wrong" : to_text(outcome.error().kind);
    return fmt::format("{} {}", asked_, found);
  }

 private:
  Device& device_;
  int asked_ = 0;
};

std::expected<std::string, Fault> offloaded(Device& device, const std::string& work) {
  std::string said;
  const auto done =
      device.offload(work, [&](const std::string& answer) -> std::expected<void, std::string> {
        said = answer;
        return {};
      });
  if (!done) return std::unexpected(done.error());
  return said;
}

std::unique_ptr<OffloadService> count_with(Device& device) {
  return std::make_unique<Counting>(device);
}

}  // namespace

TEST_CASE("offloaded work is done beside the device, and its deaths are the device's") {
  const WorkerMemory memory;
  Node node([] { return open_emulator(); }, count_with);
  const auto device = node.open();
  REQUIRE(device->offloads());
  const std::uint64_t life = device->life();
  CHECK(offloaded(*device, "none") == "1 right");
  // What it has loaded itself is untouched by that.
  CHECK(counts(*device) == true);
  CHECK(offloaded(*device, "none") == "2 right");
  CHECK(device->life() == life);
  CHECK(device->deaths().empty());

  CHECK(offloaded(*device, "segfault") == "3 died");
  REQUIRE(device->deaths().size() == 1);
  CHECK(device->deaths().back().kind == FaultKind::died);
  CHECK(device->life() == life + 1);
  CHECK(offloaded(*device, "none") == "4 right");
  CHECK(counts(*device) == true);
  CHECK(device->deaths().size() == 1);

  CHECK_THROWS_WITH_AS((void)offloaded(*device, "user"), "there is no such work", UserError);
  CHECK_THROWS_WITH_AS((void)offloaded(*device, "machine"), "the disk is full", MachineError);
  CHECK(device->deaths().size() == 1);
  // From outside: there is no answer, and nobody is at fault.
  std::jthread killer([] {
    std::this_thread::sleep_for(300ms);
    kill_children();
  });
  CHECK_THROWS_AS((void)offloaded(*device, "hang"), MachineError);
  killer.join();
  REQUIRE(device->deaths().size() == 2);
  CHECK(device->deaths().back().kind == FaultKind::killed);
  CHECK(offloaded(*device, "none") == "8 right");
  CHECK_FALSE(device->lost());

  node.link().cut();
  CHECK_THROWS_AS((void)offloaded(*device, "none"), DeviceGone);
  CHECK(device->lost());
  CHECK_THROWS_AS((void)offloaded(*open_emulator(), "none"), std::logic_error);
}

TEST_CASE(
    "an answer that makes no sense loses the device with its node, and no kernel is charged") {
  Node node([] { return open_emulator(); }, count_with);
  const auto device = node.open();
  const auto refuse = [](const std::string& answer) -> std::expected<void, std::string> {
    return std::unexpected("it said " + answer);
  };
  CHECK_THROWS_WITH_AS((void)device->offload("none", refuse),
                       "n1/emulator:l4 is set aside: node n1 is gone: it said 1 right", DeviceGone);
  REQUIRE(device->lost());
  CHECK(device->lost_because() == "node n1 is gone: it said 1 right");
  CHECK(device->deaths().empty());
  CHECK_THROWS_AS((void)offloaded(*device, "none"), DeviceGone);
  // It hears of it: its connection is cut.
  CHECK(node.end().how == Lane::End::How::lost);
}

TEST_CASE("offloaded work that lasts is waited for") {
  class Slow final : public OffloadService {
    std::string answer(const std::string&) override {
      std::this_thread::sleep_for(3000ms);  // longer than the silence that is borne
      return "done";
    }
  };
  Node node([] { return open_emulator(); }, [](Device&) { return std::make_unique<Slow>(); });
  CHECK(offloaded(*node.open(), "") == "done");
}

TEST_CASE("a node that is gone is no fault of a kernel's") {
  Node node;
  const auto device = node.open();
  CHECK(counts(*device) == true);
  node.link().cut();
  CHECK_THROWS_AS((void)counts(*device), DeviceGone);
  CHECK(device->lost());
  CHECK(device->deaths().empty());
  CHECK_FALSE(device->ready());
  CHECK_FALSE(device->renew());
  CHECK_THROWS_AS((void)device->allocate(64), DeviceGone);
  CHECK_FALSE(device->joules().has_value());
}

namespace {

// Its process ends when a buffer is released, which nobody answers.
class DiesOfRelease final : public ForwardingDevice {
 public:
  DiesOfRelease() : ForwardingDevice(open_emulator()) {}
  std::span<const Fault> deaths() const override { return deaths_; }
  void release(BufferHandle buffer) override {
    ForwardingDevice::release(buffer);
    if (deaths_.empty()) deaths_.push_back({FaultKind::died, "release: it was too much"});
  }

 private:
  std::vector<Fault> deaths_;
};

}  // namespace

TEST_CASE("a process that ends over what is not answered is told with the next answer") {
  Node node([] { return std::make_unique<DiesOfRelease>(); });
  const auto device = node.open();
  device->release(device->allocate(64));
  const auto outcome = counts(*device);
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message == "release: it was too much");
  REQUIRE(device->deaths().size() == 1);
  for (int i = 0; i < 3; ++i) CHECK(counts(*device) == true);
  CHECK(device->deaths().size() == 1);
}

TEST_CASE("an idle device whose node is gone is not ready") {
  Node node;
  const auto device = node.open();
  REQUIRE(node.link().send(node::message::encode(node::message::Over{"done"}), 1s).has_value());
  CHECK(node.end().how == Lane::End::How::over);
  node.link().cut();
  CHECK_FALSE(device->ready());
  CHECK(device->deaths().empty());
}

TEST_CASE("a node that is long at work is waited for, one that has stopped is not") {
  // Opening takes longer than the silence that is borne.
  Node slow([] {
    std::this_thread::sleep_for(3000ms);
    return open_emulator();
  });
  CHECK(counts(*slow.open()) == true);

  auto [engine, node] = links();
  std::jthread silent([&stranger = *node] { (void)stranger.next(5s); });
  const Stopwatch watch;
  CHECK_THROWS_AS((void)open_on_node(engine, "n1", "emulator:l4", short_patience()), MachineError);
  CHECK(watch.milliseconds() > 1900);
  CHECK(watch.milliseconds() < 6000);
}

TEST_CASE("a device that a node cannot open is told with its reason") {
  Node node([]() -> std::unique_ptr<Device> { throw MachineError("there is no such GPU"); });
  CHECK_THROWS_WITH_AS((void)node.open(), "there is no such GPU", MachineError);
  Node other([]() -> std::unique_ptr<Device> { throw UserError("there is no such profile"); });
  CHECK_THROWS_WITH_AS((void)other.open(), "there is no such profile", UserError);
}

TEST_CASE("what no peer says ends the connection") {
  const auto answers = [](const std::string& bytes) {
    auto [engine, node] = links();
    std::jthread other([&stranger = *node, &bytes] {
      (void)stranger.wait(5s, 5s);
      (void)stranger.send(bytes, 1s);
      (void)stranger.wait(2s, 2s);
    });
    try {
      (void)open_on_node(engine, "n1", "emulator:l4", short_patience());
    } catch (const MachineError& error) {
      return std::string(error.what());
    }
    return std::string("opened");
  };
  // A length of 2 GiB, of which nothing comes.
  CHECK(answers(std::string("fatw\x04\x01\x00\x00\x00\x00\x00\x80", 12)).find("2147483648 bytes") !=
        std::string::npos);
  CHECK(answers("GET / HTTP/1.1\r\n\r\n").find("what is no frame") != std::string::npos);
  CHECK(answers(worker::encode_frame(0x777, "")).find("of kind") != std::string::npos);
  CHECK(answers(worker::encode_frame(node::message::kTensorBytes, "x")).find("of kind") !=
        std::string::npos);

  const auto is_told = [](const std::string& bytes) {
    Node node;
    (void)node.link().send(bytes, 1s);
    return node.end();
  };
  CHECK(is_told("GET / HTTP/1.1\r\n\r\n").how == Lane::End::How::lost);
  CHECK(is_told(worker::encode_frame(0x777, "")).why.find("of kind") != std::string::npos);
  const auto too_large = worker::Window::kBytes + 1;
  CHECK(is_told(worker::message::encode(worker::message::Write{{}, 0, too_large})).why ==
        "it said tensors that are larger than a window");
  worker::message::Step step;
  step.reads = {{{}, 0, 8}, {{}, 0, ~std::uint64_t{0} - 7}};
  CHECK(is_told(worker::message::encode(worker::message::Request(step))).why ==
        "it said tensors that are larger than a window");
}

}  // namespace fa_tune::test
