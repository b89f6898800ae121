#pragma once

#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/local/emulated.hpp"

// Small PTX kernels for the emulator's tests.

namespace fa_tune::test {

inline device::DeviceProfile small_profile(const std::string& arch = "sm_89") {
  device::DeviceProfile profile;
  profile.name = "test";
  profile.title = "test GPU";
  profile.arch = arch;
  profile.sms = 4;
  profile.max_threads_per_block = 1024;
  profile.max_threads_per_sm = 1536;
  profile.max_blocks_per_sm = 24;
  profile.registers_per_sm = 65536;
  profile.registers_per_block = 65536;
  profile.max_registers_per_thread = 255;
  profile.register_allocation_unit = 256;
  profile.shared_per_block = 101376;
  profile.shared_per_sm = 102400;
  profile.shared_reserved_per_block = 1024;
  profile.shared_allocation_unit = 128;
  profile.l2_bytes = 4 << 20;
  profile.clock_mhz = 1000;
  profile.dram_gb_per_s = 300;
  profile.l2_bytes_per_clock_sm = 32;
  profile.shared_bytes_per_clock_sm = 128;
  profile.tensor_f16_flop_per_clock_sm = 1024;
  profile.wgmma_f16_flop_per_clock_sm = 2048;
  profile.fma_f32_per_clock_sm = 128;
  profile.alu_int_per_clock_sm = 64;
  profile.special_per_clock_sm = 16;
  profile.issue_per_clock_sm = 4;
  profile.l2_port_bytes_per_clock_sm = 64;
  profile.launch_us = 1;
  profile.block_start_clocks = 100;
  profile.arithmetic_latency = 4;
  profile.special_latency = 17;
  profile.tensor_latency = 24;
  profile.shared_latency = 23;
  profile.l2_latency = 250;
  profile.barrier_latency = 13;
  profile.barrier_warp_clocks = 2;
  return profile;
}

template <class T>
device::Argument raw(T value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// A kernel called k from its parameters and its body.
inline std::string kernel(const std::string& parameters, const std::string& body,
                          const std::string& before = "") {
  return ".version 9.0\n.target sm_89\n.address_size 64\n" + before + ".visible .entry k(" +
         parameters + ")\n{\n" + body + "\nret;\n}\n";
}

inline KernelImage image(const std::string& ptx, const std::string& name = "k") {
  KernelImage result;
  result.kind = BinaryKind::ptx;
  result.arch = "sm_89";
  result.kernel = name;
  result.bytes = ptx;
  return result;
}

// A device, a kernel and one buffer of words that the kernel gets as its first argument.
class Bench {
 public:
  explicit Bench(const std::string& ptx, std::size_t words = 32, int threads = 1,
                 const std::string& name = "k")
      : device(device::open_emulator(small_profile(), threads)), words_(words) {
    buffer = device->allocate(words * 4);
    write(std::vector<std::uint32_t>(words, 0));
    auto loaded = device->load(image(ptx, name));
    if (loaded) {
      launch.kernel = *loaded;
    } else {
      load_fault = loaded.error();
    }
    launch.config.block = {32, 1, 1};
    launch.arguments = {buffer};
  }

  void write(const std::vector<std::uint32_t>& words) {
    (void)device->write(buffer, 0, std::as_bytes(std::span(words)));
  }
  std::expected<void, device::Fault> run() {
    if (!load_fault.message.empty()) return std::unexpected(load_fault);
    return device->launch(launch);
  }
  std::vector<std::uint32_t> words() {
    std::vector<std::uint32_t> result(words_);
    (void)device->read(buffer, 0, std::as_writable_bytes(std::span(result)));
    return result;
  }

  std::unique_ptr<device::Device> device;
  device::BufferHandle buffer{};
  device::Launch launch;
  device::Fault load_fault;

 private:
  std::size_t words_;
};

// The fault of a kernel whose first parameter is a buffer of 32 words.
inline device::Fault fault_of(const std::string& ptx, std::uint32_t threads = 32) {
  Bench bench(ptx);
  bench.launch.config.block = {threads, 1, 1};
  const auto outcome = bench.run();
  return outcome ? device::Fault{device::FaultKind::device_lost, "it ran"} : outcome.error();
}

}  // namespace fa_tune::test
