#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/device/cuda/driver_api.hpp"

// A driver without a GPU, for tests: libcuda_fake.so exports the driver API's functions as this
// engine uses them. Device memory is host memory; kernels are functions of the test; a clock goes
// forward by each kernel's time. A launch runs when it is put into the stream; what goes wrong in
// it is heard at the next cuEventQuery, as on a GPU. FAKE_CUDA_FAIL="NAME:N:CODE" makes the Nth
// call of NAME (or of all, "*") since reset() fail; a sticky code makes all later calls fail as
// well.
namespace fa_tune::cuda::fake {

struct Kernel {
  std::vector<std::size_t> parameter_sizes;
  std::function<void(const LaunchSettings&, void** parameters)> body;
  double us = 5;
  Result error = kSuccess;  // what its launch ends with
  bool hangs = false;
  int blocks_an_sm = 2;
};

struct LaunchRecord {
  std::string kernel;
  LaunchSettings settings;
  std::uint32_t cluster[3] = {1, 1, 1};
  bool cooperative = false;
  bool programmatic = false;
  bool captured = false;
  int sms = 0;  // of the green context that its stream was made in; 0: all
};

struct State {
  // Set by the test.
  int gpus = 1;
  int sms = 132;
  Result init = kSuccess;
  std::map<std::string, Kernel> kernels;
  std::size_t memory = std::size_t{1} << 30;
  int max_shared = 232448;
  int highest_khz = 1'980'000;
  int l2_bytes = 1 << 20;
  double memset_us = 40;
  std::string jit_log;
  std::map<std::string, std::vector<std::byte>> variables;  // of every module
  double graph_gap_us = 0;  // between a graph's launch and its first kernel

  // Seen by the test.
  std::vector<std::string> calls;  // names, in order
  std::vector<LaunchRecord> launches;
  std::map<std::string, int>
      live;  // "context", "green context", "stream", "event", "module", "graph", "exec", "memory"
  int graph_launches = 0;
  int kernels_run = 0;

  // The fake's own.
  std::map<std::string, int> call_counts;
  Result dead = kSuccess;
  Result pending = kSuccess;
  bool hung = false;
  Context current = nullptr;
  double clock_us = 0;
  std::size_t used = 0;
  std::map<DevicePointer, std::size_t> blocks;
};

}  // namespace fa_tune::cuda::fake

extern "C" {
fa_tune::cuda::fake::State* fake_cuda_state();
void fake_cuda_reset();
}
