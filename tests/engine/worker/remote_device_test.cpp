#include "engine/worker/remote_device.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/worker/buffer_free_list.hpp"
#include "engine/worker/shared_window.hpp"
#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::worker;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kNumbers = 64;

RemoteOptions options(milliseconds launch = Deadlines::of_emulator().launch) {
  RemoteOptions remote;
  remote.words = test::bad_worker({"--device", "l4"});
  remote.deadlines = Deadlines::of_emulator();
  remote.deadlines.launch = launch;
  remote.pauses = {milliseconds(0), milliseconds(20), milliseconds(50)};
  return remote;
}

// A buffer of numbers from 0 on and a kernel that adds one to each.
struct Counting {
  explicit Counting(Device& on, const std::string& accident = "none") : device(on) {
    const auto loaded = device.load(test::counting_kernel(accident));
    if (!loaded) {
      fault = loaded.error();
      return;
    }
    buffer = device.allocate(kNumbers * 4);
    std::array<std::uint32_t, kNumbers> numbers{};
    std::iota(numbers.begin(), numbers.end(), 0U);
    if (auto wrote = device.write(buffer, 0, std::as_bytes(std::span(numbers))); !wrote)
      fault = wrote.error();
    launch.kernel = *loaded;
    launch.config.block.x = kNumbers;
    launch.arguments.push_back(device.address(buffer, 0));
  }

  std::optional<Fault> run() {
    if (fault) return fault;
    auto done = device.launch(launch);
    return done ? std::nullopt : std::optional(done.error());
  }
  // Each number with as much added.
  bool has_added(std::uint32_t added) {
    std::array<std::uint32_t, kNumbers> numbers{};
    if (!device.read(buffer, 0, std::as_writable_bytes(std::span(numbers)))) return false;
    for (std::uint32_t i = 0; i < kNumbers; ++i)
      if (numbers[i] != i + added) return false;
    return true;
  }

  Device& device;
  BufferHandle buffer{};
  Launch launch;
  std::optional<Fault> fault;
};

bool still_counts(Device& device) {
  Counting counting(device);
  return !counting.run() && counting.has_added(1);
}

}  // namespace

TEST_CASE("a device in another process is the device") {
  const auto device = open_remote(options());
  CHECK(device->info().id == "emulator:l4");
  CHECK(device->info().name == "emulated NVIDIA L4");
  CHECK(device->info().times == TimeKind::predicted);
  Counting counting(*device);
  CHECK_FALSE(counting.run().has_value());
  CHECK_FALSE(counting.run().has_value());
  CHECK(counting.has_added(2));

  // Two pieces written, a launch, two pieces read.
  std::array<std::uint32_t, kNumbers> numbers{};
  const auto bytes = std::as_writable_bytes(std::span(numbers));
  const auto half = bytes.size() / 2;
  const std::vector<std::uint32_t> sevens(kNumbers / 2, 7);
  const std::vector<std::uint32_t> nines(kNumbers / 2, 9);
  const std::vector<BufferWrite> writes = {
      {counting.buffer, half, std::as_bytes(std::span(sevens))},
      {counting.buffer, 0, std::as_bytes(std::span(nines))}};
  const std::vector<BufferRead> reads = {{counting.buffer, half, bytes.first(half)},
                                         {counting.buffer, 0, bytes.last(half)}};
  CHECK(device->launch_between(writes, counting.launch, reads).has_value());
  CHECK(std::ranges::all_of(std::span(numbers).first(kNumbers / 2),
                            [](std::uint32_t each) { return each == 8; }));
  CHECK(std::ranges::all_of(std::span(numbers).last(kNumbers / 2),
                            [](std::uint32_t each) { return each == 10; }));
  // What does not fit in the window goes the long way.
  const BufferHandle large = device->allocate(Window::kBytes + 1);
  std::vector<std::byte> more(Window::kBytes + 1, std::byte{3});
  CHECK(device
            ->launch_between(std::vector<BufferWrite>{{large, 0, more}}, counting.launch,
                             std::vector<BufferRead>{{large, 0, more}})
            .has_value());
  CHECK(more.back() == std::byte{3});
  device->release(large);

  // Three launches, other numbers, and one more.
  const Counting fresh(*device);
  const std::vector<BufferCopy> copies = {{fresh.buffer, counting.buffer, kNumbers * 4}};
  CHECK(device->launch_exchanging(counting.launch, 3, {}, copies).has_value());
  CHECK(counting.has_added(1));
  const auto timing = device->time(counting.launch, {});
  REQUIRE(timing.has_value());
  CHECK(timing->model == "l4");
  CHECK(timing->samples_us.size() == 1);

  // Faults of kernels come through as they are, and cost nothing.
  Launch wide = counting.launch;
  wide.config.block.x = 2 * kNumbers;
  const auto beyond = device->launch(wide);
  REQUIRE_FALSE(beyond.has_value());
  CHECK(beyond.error().kind == FaultKind::out_of_bounds);
  CHECK(device->load({BinaryKind::ptx, "sm_89", "none:no", "no PTX", {}}).error().kind ==
        FaultKind::load_failed);
  device->unload(counting.launch.kernel);
  CHECK(device->launch(counting.launch).error().kind == FaultKind::load_failed);
  device->release(counting.buffer);
  CHECK_FALSE(counting.has_added(2));
  CHECK(device->deaths().empty());
}

TEST_CASE(
    "a device that is renewed goes on in another process: kernels are there, buffers are not") {
  const WorkerMemory memory;
  const auto device = open_remote(options());
  Counting before(*device);
  REQUIRE_FALSE(before.run().has_value());
  CHECK(device->renew());
  CHECK(device->deaths().empty());
  std::array<std::byte, 4> bytes{};
  CHECK(device->read(before.buffer, 0, bytes).error().kind == FaultKind::gone);
  Counting after(*device);
  CHECK_FALSE(after.run().has_value());
  CHECK(after.has_added(1));
  // The old kernel, with the new data: it is loaded again when it is used.
  before.launch.arguments = after.launch.arguments;
  CHECK(device->launch(before.launch).has_value());
  CHECK(after.has_added(2));
  device->release(before.buffer);
}

TEST_CASE("buffers are parked where that is asked: the next of the same size has the place") {
  const WorkerMemory memory;
  const auto address_of = [](Device& device, BufferHandle buffer) {
    return std::get<std::vector<std::byte>>(device.address(buffer, 0));
  };
  RemoteOptions remote = options();
  for (const bool parks : {false, true}) {
    CAPTURE(parks);
    remote.parks_buffers = parks;
    const auto device = open_remote(remote);
    const BufferHandle first = device->allocate(1000), other = device->allocate(1000);
    const auto first_address = address_of(*device, first);
    CHECK(first_address != address_of(*device, other));
    const std::vector<std::byte> secret(1000, std::byte{7});
    CHECK(device->write(first, 0, secret).has_value());
    device->release(first);
    const BufferHandle longer = device->allocate(1001), again = device->allocate(1000);
    CHECK(again != first);
    CHECK(address_of(*device, longer) != first_address);
    CHECK((address_of(*device, again) == first_address) == parks);
    std::vector<std::byte> bytes(1000, std::byte{5}), read(1000);
    // What was left there is not: it could be the result that another kernel is to compute.
    CHECK(device->read(again, 0, read).has_value());
    if (parks) CHECK(read == std::vector<std::byte>(1000, std::byte{0xff}));
    CHECK(device->write(again, 0, bytes).has_value());
    CHECK(device->read(again, 0, read).has_value());
    CHECK(read == bytes);
    CHECK(device->read(first, 0, read).error().kind == FaultKind::out_of_bounds);
    // What is parked goes with its process.
    device->release(again);
    CHECK(device->renew());
    CHECK(device->write(device->allocate(1000), 0, bytes).has_value());
    CHECK(device->deaths().empty());
  }
}

TEST_CASE("buffers are wiped together, before whatever could tell") {
  const WorkerMemory memory;
  RemoteOptions remote = options();
  remote.parks_buffers = true;
  const auto device = open_remote(remote);
  Counting teller(*device, "tell_fills");
  std::vector<BufferHandle> buffers;
  for (std::size_t i = 0; i < 5; ++i) buffers.push_back(device->allocate(1000 + i));
  for (const BufferHandle each : buffers) device->release(each);
  CHECK(teller.run()->message == "fills: 5");
  const BufferHandle held = device->allocate(1000);
  REQUIRE(device->fill({{held, 0, 1000, 1}, {held, 10, 20, 2}}));
  REQUIRE(device->fill({{held, 20, 5, 3}}));
  std::vector<std::byte> read(31);
  REQUIRE(device->read(held, 0, read));
  CHECK(read[9] == std::byte{1});
  CHECK(read[10] == std::byte{2});
  CHECK(read[20] == std::byte{3});
  CHECK(read[29] == std::byte{2});
  CHECK(read[30] == std::byte{1});
  CHECK(teller.run()->message == "fills: 5 3");
  // What went with a process is not to be filled in the next.
  REQUIRE(device->fill({{held, 0, 1000, 1}}));
  CHECK(device->renew());
  CHECK(device->fill({{held, 0, 1000, 1}}).error().kind == FaultKind::gone);
  Counting after(*device, "tell_fills");
  CHECK(after.run()->message == "fills:");
}

TEST_CASE("buffers are parked up to a limit, then let go") {
  BufferFreeList parked;
  constexpr std::size_t kHalf = BufferFreeList::kMost / 2;
  CHECK(parked.put({BufferHandle{1}, 1, 0, kHalf}));
  CHECK(parked.put({BufferHandle{2}, 1, 0, kHalf}));
  CHECK_FALSE(parked.put({BufferHandle{3}, 1, 0, 1}));
  CHECK_FALSE(parked.take(1, 1));
  CHECK(parked.take(kHalf, 1));
  CHECK(parked.put({BufferHandle{3}, 1, 0, 1}));
  CHECK_FALSE(parked.take(1, 2));
  CHECK(parked.put({BufferHandle{4}, 2, 0, kHalf}));
  CHECK(parked.drop().size() == 1);
  CHECK_FALSE(parked.take(kHalf, 1));
}

TEST_CASE("a tensor map is made once for a buffer, and anew in another process") {
  const WorkerMemory memory;
  RemoteOptions remote = options();
  remote.words = test::bad_worker({"--device", "h100"});
  const auto device = open_remote(remote);
  TensorMap map;
  map.element = TensorMap::Element::f16;
  map.buffer = device->allocate(64 * 64 * 2);
  map.dims = {64, 64};
  map.strides = {128};
  map.box = {64, 16};
  const auto first = device->tensor_map(map);
  REQUIRE(first.has_value());
  CHECK(*device->tensor_map(map) == *first);
  map.box = {64, 32};
  CHECK(*device->tensor_map(map) != *first);
  CHECK(device->renew());
  CHECK(device->tensor_map(map).error().kind == FaultKind::gone);
}

TEST_CASE("what is larger than the window goes in pieces") {
  const auto device = open_remote(options());
  std::vector<std::byte> out(Window::kBytes + 12345);
  for (std::size_t i = 0; i < out.size(); i += 4096) out[i] = static_cast<std::byte>(i >> 12U);
  out.back() = std::byte{9};
  const BufferHandle buffer = device->allocate(out.size());
  REQUIRE(device->write(buffer, 0, out).has_value());
  std::vector<std::byte> back(out.size());
  REQUIRE(device->read(buffer, 0, back).has_value());
  CHECK(back == out);
  CHECK(device->read(buffer, 1, back).error().kind == FaultKind::out_of_bounds);
}

TEST_CASE("a worker that dies costs its kernel, and nobody else") {
  const WorkerMemory memory;
  const auto device = open_remote(options());
  Counting before(*device);
  REQUIRE_FALSE(before.run().has_value());
  const struct {
    const char* accident;
    const char* words;
  } accidents[] = {{"segfault", "launch: signal 11"},
                   {"abort", "launch: signal 6"},
                   {"exit", "launch: exit code 7"},
                   {"mid_frame", "launch: exit code 0, in mid-frame"},
                   {"garbage", "launch: it said what is no frame"},
                   {"huge", "launch: it said a frame of"},
                   {"throw", "launch: it failed: thrown over it"},
                   {"other", "launch: it answered another question"}};
  std::size_t deaths = 0;
  for (const auto& each : accidents) {
    CAPTURE(each.accident);
    Counting unlucky(*device, each.accident);
    const auto fault = unlucky.run();
    REQUIRE(fault.has_value());
    CHECK(fault->kind == FaultKind::died);
    CHECK(test::has(fault->message, each.words));
    REQUIRE(device->deaths().size() == ++deaths);
    CHECK(device->deaths().back().message == fault->message);
    CHECK(device->ready());
    // Its buffers went with it, which is no fault of theirs; its kernel and all others are there.
    std::array<std::byte, 4> four{};
    CHECK(device->read(unlucky.buffer, 0, four).error().kind == FaultKind::gone);
    CHECK(still_counts(*device));
  }
  CHECK(device->read(before.buffer, 0, {}).error().kind == FaultKind::gone);
  Counting after(*device);
  Launch old_kernel = after.launch;
  old_kernel.kernel = before.launch.kernel;
  CHECK(device->launch(old_kernel).has_value());
  CHECK(after.has_added(1));
  CHECK_FALSE(device->lost());
}

TEST_CASE("a death while loading is told too") {
  const auto device = open_remote(options());
  KernelImage image = test::counting_kernel();
  image.kernel = "load_segfault";
  CHECK(device->load(image).error().kind == FaultKind::died);
  CHECK(still_counts(*device));
}

TEST_CASE("a kernel that hangs is ended by the engine's deadline") {
  const WorkerMemory memory;
  const auto device = open_remote(options(milliseconds(1500)));
  Counting hanging(*device, "hang");
  const auto fault = hanging.run();
  REQUIRE(fault.has_value());
  CHECK(fault->kind == FaultKind::timeout);
  CHECK(fault->message == "launch: no answer in 1500 ms");
  CHECK(still_counts(*device));
}

TEST_CASE("an incumbent shortens the wait, down to a least") {
  const WorkerMemory memory;
  RemoteOptions remote = options();
  remote.deadlines.incumbents = 20;
  remote.deadlines.least = milliseconds(500);
  const auto device = open_remote(remote);
  device->note_incumbent(5);
  Counting hanging(*device, "hang");
  CHECK(hanging.run()->message == "launch: no answer in 500 ms");
  // 20 x 4 ms x 10 launches
  device->note_incumbent(4'000);
  Counting slow(*device, "hang");
  CHECK(device->time(slow.launch, {2, 4, 1}).error().message == "timing: no answer in 800 ms");
}

TEST_CASE("an error that costs the context costs the worker, and the next one is new") {
  const auto device = open_remote(options());
  Counting sticky(*device, "sticky");
  const auto fault = sticky.run();
  REQUIRE(fault.has_value());
  CHECK(fault->kind == FaultKind::out_of_bounds);
  CHECK(device->deaths().size() == 1);
  CHECK_FALSE(device->lost());
  CHECK(still_counts(*device));
}

TEST_CASE("a device on which no worker starts any more is set aside") {
  const WorkerMemory memory;
  const auto device = open_remote(options(milliseconds(1000)));
  Counting wedge(*device, "wedge");
  CHECK(wedge.run()->kind == FaultKind::timeout);
  CHECK_FALSE(device->lost());
  CHECK_FALSE(device->ready());
  CHECK(device->lost());
  const auto after = device->load(test::counting_kernel());
  REQUIRE_FALSE(after.has_value());
  CHECK(after.error().kind == FaultKind::device_lost);
  CHECK(test::has(after.error().message, "emulator:l4 is set aside"));
  CHECK(test::has(after.error().message, "the device is wedged"));
}

TEST_CASE("what the first worker cannot open is thrown here") {
  const auto start = [](const std::string& how) {
    RemoteOptions remote = options();
    remote.words = test::bad_worker({"--device", "l4", "--start", how});
    if (how == "hang") remote.deadlines.start = milliseconds(1000);
    return open_remote(remote);
  };
  CHECK(test::message_of<UserError>([&] { start("refuse"); }) == "this device is refused");
  CHECK(test::has(test::message_of<MachineError>([&] { start("segfault"); }), "signal 11"));
  CHECK(test::has(test::message_of<MachineError>([&] { start("hang"); }), "no answer in 1000 ms"));
  CHECK(test::has(test::message_of<MachineError>([&] { start("other"); }), "not a worker"));
  RemoteOptions nothing = options();
  nothing.words = {"/no/such/program"};
  CHECK_THROWS_AS(open_remote(nothing), UserError);
}

}  // namespace fa_tune::test
