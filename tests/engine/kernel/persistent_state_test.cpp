#include "engine/kernel/persistent_state.hpp"

#include <doctest/doctest.h>

#include "engine/base/hash.hpp"
#include "engine/kernel/compiler.hpp"

using namespace fa_tune;

namespace {

const std::string kWithoutState = R"(
__constant__ int table[4] = {1, 2, 3, 4};
constexpr int kLast = 31;
extern "C" __global__ void tried(int* out, int i) {
  __shared__ int tile[32];
  tile[threadIdx.x] = table[i];
  __syncthreads();
  out[threadIdx.x] = tile[kLast - threadIdx.x];
}
)";

const std::string kCounting = R"(
__device__ unsigned launches;
extern "C" __global__ void tried(int* out, int i) {
  if (launches++ < 10) out[threadIdx.x] = i;
}
)";

const std::string kHidden = R"(
extern "C" __global__ void tried(int* out, int i) {
  static __device__ int kept[64] = {7};
  out[threadIdx.x] = kept[i];
  kept[i] = threadIdx.x;
}
)";

std::optional<std::string> state(const std::string& text, BinaryKind kind) {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  auto outcome = compiler->compile({{text, "tried", sha256(text)}, "sm_90", kind, {}});
  if (!outcome) FAIL(outcome.error().message);
  return keeps_state(*outcome);
}

}  // namespace

TEST_CASE("persistent state: none in shared memory, constants and what is known as a number") {
  CHECK_FALSE(state(kWithoutState, BinaryKind::ptx));
  CHECK_FALSE(state(kWithoutState, BinaryKind::cubin));
}

TEST_CASE("persistent state: device variables are found and named, whatever is compiled for") {
  for (const BinaryKind kind : {BinaryKind::ptx, BinaryKind::cubin}) {
    CHECK(state(kCounting, kind)->find(": launches (") != std::string::npos);
    CHECK(state(kHidden, kind)->find("kept") != std::string::npos);
  }
}

TEST_CASE("persistent state: a variable counts if an instruction names it") {
  std::string ptx = "ld.global.f32 %f1, [%rd1];\n\tst.global.f32 [%rd1], %f1;\n";
  CHECK_FALSE(persistent_variables(ptx));
  ptx += ".visible .global .align 4 .f32 seen = 0f00000000;\n.global .align 4 .b8 seen2[8];\n";
  CHECK_FALSE(persistent_variables(ptx));
  ptx += "mov.u64 %rd1, seen2;\n";
  CHECK(persistent_variables(ptx) == "seen2");
  ptx += "ld.global.f32 %f2, [seen];\n";
  CHECK(persistent_variables(ptx) == "seen, seen2");
}
