// What a device in a process of its own costs beside one in this process: the round trip of a call,
// and bytes a second to a buffer and back. The emulator's memory is the machine's, so what is
// measured is the way there.
//
//   bench_worker_speed FA_TUNE      the program that is started as worker; JSON to standard output

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/stopwatch.hpp"
#include "engine/worker/remote_device.hpp"

namespace {

using namespace fa_tune;

// The median over repetitions: other work on the machine falls out.
double median_ms(int repetitions, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    const Stopwatch watch;
    work();
    times.push_back(watch.milliseconds());
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

nlohmann::ordered_json measure(device::Device& device) {
  nlohmann::ordered_json result;
  // Two calls each; the least that any call costs.
  constexpr int kPairs = 200;
  result["call_us"] = 1000.0 / (2 * kPairs) * median_ms(21, [&] {
                        for (int i = 0; i < kPairs; ++i) device.release(device.allocate(256));
                      });
  for (const std::size_t kib : {64, 1024, 16 * 1024, 256 * 1024}) {
    std::vector<std::byte> bytes(kib * 1024, std::byte{1});
    const device::BufferHandle buffer = device.allocate(bytes.size());
    const auto gigabytes_a_second = [&](const std::function<void()>& copy) {
      copy();
      return static_cast<double>(bytes.size()) / 1e6 / median_ms(11, copy);
    };
    auto& row = result["copies"].emplace_back();
    row["kib"] = kib;
    row["write_gb_s"] = gigabytes_a_second([&] { (void)device.write(buffer, 0, bytes); });
    row["read_gb_s"] = gigabytes_a_second([&] { (void)device.read(buffer, 0, bytes); });
    device.release(buffer);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "bench_worker_speed FA_TUNE\n");
    return 2;
  }
  const std::string root = find_root().string();
  const auto here = device::open_device("emulator:l4", {}, root);
  worker::RemoteOptions options;
  options.words = {argv[1], "worker", "--device", "emulator:l4", "--root", root};
  options.deadlines = worker::Deadlines::of_emulator();
  const double start_ms = median_ms(11, [&] { worker::open_remote(options); });
  const auto there = worker::open_remote(options);
  nlohmann::ordered_json result;
  result["in_process"] = measure(*here);
  result["in_worker"] = measure(*there);
  result["in_worker"]["start_and_end_ms"] = start_ms;
  fmt::print("{}\n", result.dump(2));
  return 0;
}
