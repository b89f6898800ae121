#include "engine/kernel/compile/global_state_check.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

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

TEST_CASE("persistent state: a variable counts if it may be written, or its address gets away") {
  std::string ptx =
      ".visible .global .align 4 .f32 seen = 0f00000000;\n"
      ".global .align 4 .b8 seen2[8];\n.visible .entry k()\n{\n"
      "ld.global.f32 %f1, [%rd1];\n\tst.global.f32 [%rd1], %f1;\n";
  const auto with = [&](const std::string& more) {
    return persistent_variables(ptx + more + "}\n");
  };
  CHECK_FALSE(with(""));
  CHECK_FALSE(with("mov.u64 %rd2, seen2;\nld.global.f32 %f2, [%rd2+4];\n"));
  CHECK_FALSE(
      with("mov.u64 %rd2, seen2; cvta.global.u64 %rd3, %rd2; mad.lo.u64 %rd4, %rd5, 4, %rd3;"
           "ld.global.nc.v2.f32 {%f2, %f3}, [%rd4];\n"));
  CHECK(with("mov.u64 %rd2, seen2; cvta.global.u64 %rd3, %rd2; mad.lo.u64 %rd4, %rd5, 4, %rd3;"
             "@!%p1 red.global.add.u32 [%rd4], 1;\n") == "seen2");
  CHECK(with("st.global.f32 [seen+4], %f2;\n") == "seen");
  CHECK(with("L: atom.shared::cta.exch.b64 %rd9, [%rd8], %rd7; mov.b64 %rd7, seen;\n") == "seen");
  CHECK(with("mov.b64 {%r1, %r2}, %rd2; mov.u64 %rd2, seen; st.v2.u32 [%rd9], {%r3, %r2};\n") ==
        "seen");
  CHECK(with("call.uni (%r1), mine, (seen2);\n.loc 1 2 3\nst.global.f32 [seen], %f2;\n") == "seen");
  CHECK(with("mov.u64 %rd2, seen; st.param.b64 [param0+0], %rd2; call.uni mine, (param0);\n") ==
        "seen");
  CHECK_FALSE(
      with("mov.u64 %rd2, seen; st.param.b64 [param0+0], %rd2;\n"
           "call.uni (retval0), vprintf, (param0);\n"));
  CHECK(persistent_variables(".global .b32 x; .global .u64 to = generic(x)+4;") == "x");
  CHECK_FALSE(persistent_variables(""));
  CHECK_FALSE(persistent_variables(".entry k( .param .u64 .ptr .global .align 16 p ) { ret; "));
}

TEST_CASE("persistent state: declared in any spelling, it is found") {
  const std::string begin =
      "extern \"C\" __global__ void tried(int* out, int i) {\n  int seen = 0;\n";
  const std::string add = "atom.global.add.u32 %0, [s], 1;";
  for (const std::string& declared :
       {"{ .global .align 4 .b32 s; " + add + " }", "{ /**/ .global .b32 s; " + add + " }",
        "{ .global\n // of one\n .align 4\n .b32 s;\n " + add + " }",
        "{.global.align 4 .b32 s;" + add + "}"}) {
    std::string quoted;
    for (const char c : declared) quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
    const std::string text = begin + "  asm volatile(\"" + quoted +
                             "\" : \"=r\"(seen));\n  if (seen < 10) out[i] = seen;\n}\n";
    CAPTURE(text);
    for (const BinaryKind kind : {BinaryKind::ptx, BinaryKind::cubin})
      CHECK(state(text, kind).value_or("none").find(": s") != std::string::npos);
  }
}

TEST_CASE("persistent state: what the machine code holds and no PTX declares is found too") {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  const auto outcome =
      compiler->compile({{kHidden, "tried", sha256(kHidden)}, "sm_90", BinaryKind::cubin, {}});
  REQUIRE(outcome);
  CHECK(persistent_variables("", outcome->image.bytes)->find("kept") != std::string::npos);
  CHECK_FALSE(persistent_variables("", "no machine code"));
}

TEST_CASE("persistent state: tables that are read alone, assert and printf are none") {
  for (const char* text :
       {"static constexpr float t[4] = {1, 2, 3, 4};\n"
        "extern \"C\" __global__ void tried(float* out, int i) { out[i] = t[i % 4]; }\n",
        "__device__ const float t[4] = {1, 2, 3, 4};\n__device__ float u[4] = {5, 6, 7, 8};\n"
        "extern \"C\" __global__ void tried(float* out, int i) {\n"
        "  const float* from = i > 7 ? t : u;\n  for (int k = 0; k < i; ++k) out[k] = from[k % "
        "4];\n}\n",
        "extern \"C\" __global__ void tried(int* out, int i) { assert(i > 0); out[i] = i; }\n",
        "extern \"C\" __global__ void tried(int* out, int i) {\n"
        "  if (i < 0) printf(\"%d is below 0\\n\", i);\n  out[i] = i;\n}\n",
        "extern \"C\" __global__ void tried(float* out, float x) { out[0] = sinf(x); }\n"}) {
    CAPTURE(text);
    CHECK(state(text, BinaryKind::ptx).value_or("none") == "none");
    CHECK(state(text, BinaryKind::cubin).value_or("none") == "none");
  }
}

TEST_CASE("persistent state: other memory than variables: malloc, constants, the time") {
  const auto kept = [](const std::string& body) {
    return state(
               "__constant__ int table[4] = {1, 2, 3, 4};\n"
               "extern \"C\" __global__ void tried(long long* out, int i) {" +
                   body + "}\n",
               BinaryKind::ptx)
        .value_or("none");
  };
  CHECK(kept("int* p = (int*)malloc(4 * i); p[i - 1] = i; out[0] = (long long)p;")
            .find(": memory of malloc()") != std::string::npos);
  // C++ makes a trap of it.
  CHECK(
      kept(
          "asm volatile(\"{ .reg .u64 p; mov.u64 p, table; cvta.const.u64 p, p; st.u32 [p], %0; }\""
          " :: \"r\"(i)); out[0] = table[1];")
          .find(": table") != std::string::npos);
  CHECK(kept("out[0] = clock64() - i;").find(": the time of a clock") != std::string::npos);
  CHECK(kept("__shared__ unsigned long long at[32]; asm volatile(\"mov.u64 %0, %globaltimer;\" : "
             "\"=l\"(at[threadIdx.x])); __syncthreads(); out[i] = at[i % 32];")
            .find(": the time of a clock") != std::string::npos);
  CHECK(kept("const long long begin = clock64(); while (clock64() - begin < i) { } out[0] = i;") ==
        "none");
}

TEST_CASE("persistent state: barriers of the toolkit look at a clock, and keep nothing") {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  const std::string text = R"(
#include <cooperative_groups.h>
#include <cuda/barrier>
extern "C" __global__ void tried(float* out, const float* in) {
  __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
  __shared__ float part[1024];
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(&arrived, blockDim.x);
  block.sync();
  cuda::memcpy_async(block, part, in, sizeof part, arrived);
  arrived.arrive_and_wait();
  out[threadIdx.x] = part[1023 - threadIdx.x];
}
)";
  const auto outcome =
      compiler->compile({{text, "tried", sha256(text)}, "sm_90", BinaryKind::ptx, {}});
  if (!outcome && outcome.error().message.find("not open source file") != std::string::npos) {
    MESSAGE("no headers of a CUDA toolkit here");
    return;
  }
  REQUIRE(outcome);
  CHECK(outcome->image.bytes.find("%globaltimer") != std::string::npos);
  CHECK(keeps_state(*outcome).value_or("none") == "none");
}

}  // namespace fa_tune::test
