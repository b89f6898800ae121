#pragma once

#include <numeric>

#include "engine/device/tensor_map.hpp"
#include "tests/engine/device/emulator/support.hpp"

// Small Hopper kernels: clusters, mbarriers, bulk copies, warpgroups.

namespace fa_tune::test {

// Interleavings that every correct kernel is run in; see Interleaving.
inline constexpr std::uint64_t kSchedules = 6;

class HopperBench {
 public:
  explicit HopperBench(const std::string& ptx, const std::string& name = "k")
      : device(device::open_emulator(profile(), 2)) {
    auto loaded = device->load(image(ptx, name));
    if (loaded) {
      launch.kernel = *loaded;
    } else {
      load_fault = to_text(loaded.error().kind) + ": " + loaded.error().message;
    }
    launch.config.block = {128, 1, 1};
  }

  static device::DeviceProfile profile() {
    device::DeviceProfile profile = small_profile("sm_90a");
    profile.shared_per_block = 232448;
    return profile;
  }

  template <class T>
  device::BufferHandle buffer(const std::vector<T>& values) {
    const device::BufferHandle made = device->allocate(values.size() * sizeof(T));
    (void)device->write(made, 0, std::as_bytes(std::span(values)));
    return made;
  }
  template <class T>
  std::vector<T> read(device::BufferHandle from, std::size_t count) {
    std::vector<T> values(count);
    (void)device->read(from, 0, std::as_writable_bytes(std::span(values)));
    return values;
  }
  void add_map(const device::TensorMap& map) {
    launch.arguments.push_back(*device->tensor_map(map));
  }

  // What went wrong, or nothing.
  std::string run() {
    if (!load_fault.empty()) return load_fault;
    const auto outcome = device->launch(launch);
    return outcome ? "" : to_text(outcome.error().kind) + ": " + outcome.error().message;
  }

  std::unique_ptr<device::Device> device;
  device::Launch launch;
  std::string load_fault;
};

inline std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  std::iota(words.begin(), words.end(), 1U);
  return words;
}

inline const std::string kHopperRegisters = R"(
  .reg .pred %p<8>;
  .reg .b16 %rs<4>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
)";

// %r1: the thread; %p1: it is not the first. The first makes the mbarrier `bar` for one arrival.
inline const std::string kMakeBarrier = R"(
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra MADE;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
MADE:
  bar.sync 0;
)";

inline const std::string kWaitForBarrier = R"(
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
)";

// Copies `bytes` of shared memory at `box` to [%rd1], by 128 threads.
inline std::string dump(int bytes) {
  return R"(
  shl.b32 %r30, %r1, 2;
  mov.u32 %r31, box;
DUMP:
  add.u32 %r32, %r31, %r30;
  ld.shared.u32 %r33, [%r32];
  cvt.u64.u32 %rd18, %r30;
  add.u64 %rd18, %rd1, %rd18;
  st.global.u32 [%rd18], %r33;
  add.u32 %r30, %r30, 512;
  setp.lt.u32 %p7, %r30, )" +
         std::to_string(bytes) + R"(;
  @%p7 bra DUMP;
)";
}

// box[i] = first + i for `bytes` of words, by 128 threads.
inline std::string fill(int bytes, int first) {
  return R"(
  shl.b32 %r30, %r1, 2;
  mov.u32 %r31, box;
  add.u32 %r33, %r1, )" +
         std::to_string(first) + R"(;
FILL:
  add.u32 %r32, %r31, %r30;
  st.shared.u32 [%r32], %r33;
  add.u32 %r30, %r30, 512;
  add.u32 %r33, %r33, 128;
  setp.lt.u32 %p7, %r30, )" +
         std::to_string(bytes) + R"(;
  @%p7 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
)";
}

}  // namespace fa_tune::test
