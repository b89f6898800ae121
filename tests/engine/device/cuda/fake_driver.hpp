#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "engine/device/cuda/cuda_device.hpp"
#include "fake_libcuda.hpp"

namespace fa_tune::cuda::fake {

// Puts the fake driver in the place of the real one, fresh, for the length of a test.
class FakeDriver {
 public:
  explicit FakeDriver(const char* path = FAKE_LIBCUDA) {
    setenv("FA_TUNE_LIBCUDA", path, 1);
    // Not what the machine may have.
    setenv("FA_TUNE_LIBNVML", "/no/libnvidia-ml.so.1", 1);
    unsetenv("FAKE_CUDA_FAIL");
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    get_ = reinterpret_cast<State* (*)()>(dlsym(library, "fake_cuda_state"));
    reinterpret_cast<void (*)()>(dlsym(library, "fake_cuda_reset"))();
  }
  ~FakeDriver() { unsetenv("FAKE_CUDA_FAIL"); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  State* operator->() const { return get_(); }

  void fail(const std::string& plan) const { setenv("FAKE_CUDA_FAIL", plan.c_str(), 1); }
  int calls(const std::string& name) const {
    const auto found = get_()->call_counts.find(name);
    return found == get_()->call_counts.end() ? 0 : found->second;
  }
  int leaks() const {
    int total = 0;
    for (const auto& [kind, count] : get_()->live) total += count < 0 ? -count : count;
    return total;
  }

 private:
  State* (*get_)() = nullptr;
};

inline KernelImage image_of(const std::string& kernel) {
  return {BinaryKind::cubin,
          "sm_90",
          kernel,
          "\x7f"
          "ELF " +
              kernel,
          {}};
}

template <typename T>
std::vector<std::byte> scalar(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
T value_at(void** parameters, std::size_t index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

inline std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

inline std::vector<float> read_floats(device::Device& device, device::BufferHandle buffer,
                                      std::size_t offset, int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  REQUIRE(device.read(buffer, offset, std::as_writable_bytes(std::span(values))));
  return values;
}

// y[i] = factor * x[i], for the whole grid: what the tests launch.
inline Kernel scale_kernel() {
  return {{8, 8, 4, 4},
          [](const LaunchSettings&, void** parameters) {
            const auto* x = reinterpret_cast<const float*>(value_at<DevicePointer>(parameters, 0));
            auto* y = reinterpret_cast<float*>(value_at<DevicePointer>(parameters, 1));
            const auto factor = value_at<float>(parameters, 2);
            const int n = value_at<int>(parameters, 3);
            for (int i = 0; i < n; ++i) y[i] = factor * x[i];
          },
          5,
          kSuccess,
          false};
}

}  // namespace fa_tune::cuda::fake
