// A user's program with an exported header of several kernels, and memory that is set and copied.
#include <cstdio>
#include <string>

#include "steps.hpp"

namespace {

struct Seen {
  unsigned grid[3], block[3], shared, attributes, cluster[3];
  CUstream stream;
  void** parameters;
};
std::string seen;

template <typename T>
T value_of(void* parameter) {
  T value;
  std::memcpy(&value, parameter, sizeof value);
  return value;
}

void tell(const Seen* told) {
  seen += "kernel " + std::to_string(told->grid[0]) + " " + std::to_string(told->shared);
  if (told->grid[0] == 7) seen += " a " + std::to_string(value_of<float>(told->parameters[2]));
  for (int i = told->grid[0] == 7 ? 0 : 1; i < (told->grid[0] == 7 ? 2 : 3); ++i)
    seen += " " + std::to_string(value_of<CUdeviceptr>(told->parameters[i]));
  seen += "; ";
}
void tell_move(const char* what, CUdeviceptr to, unsigned long long with, std::size_t bytes) {
  seen += what + std::string(" ") + std::to_string(to) + " " + std::to_string(with) + " " +
          std::to_string(bytes) + "; ";
}

template <typename T>
T* at(std::size_t address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace

extern "C" void fake_tell(void (*)(const Seen*));
extern "C" void fake_tell_moves(void (*)(const char*, CUdeviceptr, unsigned long long,
                                         std::size_t));

int main() {
  fake_tell(tell);
  fake_tell_moves(tell_move);
  cuCtxSetCurrent(at<CUctx_st>(0x1000));
  const steps::Sizes sizes;
  steps::Sizes other = sizes;
  other.rows = 33;
  if (steps::bytes_of_parts(sizes) != 128 || steps::bytes_of_parts(other) != 0) return 1;
  const CUresult code = steps::launch(sizes, at<std::int32_t>(16), at<__half>(32), at<float>(48),
                                      at<std::int32_t>(64), at<float>(80), at<CUstream_st>(0x77));
  const std::string expected =
      "copy 20480 80 64; set 16 3 128; kernel 4 512 48 64; copy 64 16 128; "
      "kernel 7 64 a 2.500000 64 48; ";
  std::printf("%s\n%s\n", seen.c_str(), expected.c_str());
  return code == CUDA_SUCCESS && seen == expected ? 0 : 1;
}
