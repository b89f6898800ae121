// A user's program with two exported headers: what is launched must be what was exported.
#include <cstdio>

#include "first.hpp"
#include "second.hpp"

namespace {

struct Seen {
  unsigned grid[3], block[3], shared, attributes, cluster[3];
  CUstream stream;
  void** parameters;
};
Seen seen;
float a = 0;
std::int32_t n = 0;
CUdeviceptr y = 0, mapped = 0;

void tell(const Seen* told) {
  seen = *told;
  std::memcpy(&mapped, told->parameters[0], sizeof mapped);
  std::memcpy(&y, told->parameters[1], sizeof y);
  std::memcpy(&a, told->parameters[2], sizeof a);
  std::memcpy(&n, told->parameters[3], sizeof n);
}

int wrong(const char* what) {
  std::printf("wrong: %s\n", what);
  return 1;
}

template <typename T>
T* at(std::size_t address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace

extern "C" void fake_tell(void (*)(const Seen*));
extern "C" int fake_loads();

int main() {
  fake_tell(tell);
  const first::Sizes sizes;
  const auto launch = [&](const first::Sizes& of, const first::Options& options) {
    return first::launch(of, at<__half>(0x6000), at<float>(0x8000), at<float>(0x7000),
                         at<CUstream_st>(0x77), options);
  };
  if (launch(sizes, {}) != CUDA_ERROR_INVALID_CONTEXT) return wrong("no context");
  cuCtxSetCurrent(at<CUctx_st>(0x1000));
  if (launch(sizes, {}) != CUDA_SUCCESS) return wrong("a launch");
  if (seen.grid[0] != 4 || seen.grid[1] != 2 || seen.block[0] != 128 || seen.shared != 512)
    return wrong("sizes");
  if (seen.attributes != 1 || seen.cluster[0] != 2 || seen.stream != at<CUstream_st>(0x77))
    return wrong("cluster");
  if (mapped != 0x6000 || y != 0x8000 || a != 2.5F || n != 64) return wrong("arguments");
  first::Options options;
  options.a = 0.5F;
  if (launch(sizes, options) != CUDA_SUCCESS || a != 0.5F) return wrong("an option");
  first::Sizes other = sizes;
  other.rows = 33;
  if (launch(other, {}) != CUDA_ERROR_NOT_FOUND) return wrong("unknown sizes");
  other.rows = 16;
  if (launch(other, {}) != CUDA_SUCCESS || seen.grid[0] != 9)
    return wrong("what was tuned on this device");
  if (fake_loads() != 2) return wrong("loads");
  if (first::launch(sizes, at<__half>(0x6008), at<float>(0x8000), at<float>(0x7000)) ==
      CUDA_SUCCESS)
    return wrong("an odd address");
  if (second::launch({}, at<__half>(0x6000), at<float>(0x8000), at<float>(0x7000)) != CUDA_SUCCESS)
    return wrong("the second header");
  std::printf("all right\n");
  return 0;
}
