#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// Kernels as text. They measure themselves: each warp notes the SM's clock before and after.

namespace fa_tune::bench {
namespace {

// `times`: begin and end in clocks, then in nanoseconds, of each warp of block 0.
constexpr const char* kFunctions = R"(
__device__ __forceinline__ unsigned long long now() {
  unsigned long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t) :: "memory"); return t;
}
__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) :: "memory"); return t;
}
__device__ __forceinline__ void note(unsigned long long* times, unsigned long long begin,
                                     unsigned long long end, unsigned long long ns) {
  if (blockIdx.x == 0 && threadIdx.x % 32 == 0) {
    times[4 * (threadIdx.x / 32)] = begin;
    times[4 * (threadIdx.x / 32) + 1] = end;
    times[4 * (threadIdx.x / 32) + 2] = ns;
    times[4 * (threadIdx.x / 32) + 3] = nanoseconds();
  }
}
)";

// meet() may come again, in launches of any number of blocks. The wait is longer than a launch takes to
// start all blocks.
constexpr const char* kMeeting = R"(
__device__ unsigned arrived;
__device__ volatile unsigned meetings;
__device__ volatile unsigned long long agreed_ns;
__device__ unsigned long long meet() {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) agreed_ns = nanoseconds() + 20000;
    const unsigned before = meetings;
    __threadfence();
    if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
      arrived = 0;
      __threadfence();
      meetings = before + 1;
    }
    while (meetings == before) {}
    __threadfence();
  }
  __syncthreads();
  return agreed_ns;
}
__device__ void wait_until(unsigned long long ns) { while (nanoseconds() < ns) {} }
)";

constexpr const char* kSignature = R"(
extern __shared__ __align__(1024) unsigned shared[];
extern "C" __global__ void bench(unsigned long long* times, unsigned* data, int count) {
  const unsigned lane = threadIdx.x % 32;
  unsigned base;
  asm("{.reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t;}" : "=r"(base) : "l"(shared));
)";

std::string whole(const std::string& body) { return kernel_prelude() + body + "}\n"; }

constexpr const char* kNoValues = "const unsigned a = 0, b = 0;";
constexpr const char* kIntegers = "const unsigned a = data[1], b = data[2];";
constexpr const char* kFloats =
    "const float a = __uint_as_float(data[1]), b = __uint_as_float(data[2]);";

}  // namespace

std::string kernel_prelude() { return std::string(kFunctions) + kSignature; }
std::string meeting_prelude() { return std::string(kFunctions) + kMeeting + kSignature; }

std::string timed_rounds() {
  return R"(  __syncthreads();
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  #pragma unroll 1
  for (int i = 0; i < count; ++i) {
)";
}

const std::vector<Instruction>& instructions() {
  static const std::vector<Instruction> list = {
      {"fma.f32", "float", "lane", kFloats,
       R"(asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[c]) : "f"(a), "f"(b));)"},
      {"add.f32", "float", "lane", kFloats,
       R"(asm volatile("add.f32 %0, %0, %1;" : "+f"(x[c]) : "f"(a));)"},
      {"max+min", "float", "lane", kFloats,
       R"(asm volatile("max.f32 %0, %0, %1; min.f32 %0, %0, %2;" : "+f"(x[c]) : "f"(a), "f"(b));)",
       2},
      // Each pair is one that no single machine instruction does.
      {"add+xor", "unsigned", "lane", kIntegers,
       R"(asm volatile("add.u32 %0, %0, %1; xor.b32 %0, %0, %2;" : "+r"(x[c]) : "r"(a), "r"(b));)",
       2},
      {"shf.l", "unsigned", "lane", kIntegers,
       R"(asm volatile("shf.l.wrap.b32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));)"},
      {"mad.lo", "unsigned", "lane", kIntegers,
       R"(asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));)"},
      {"setp+selp", "unsigned", "lane", kIntegers,
       R"(asm volatile("{.reg .pred p; setp.gt.u32 p, %0, %1; selp.b32 %0, %2, %0, p;}" : "+r"(x[c]) : "r"(a), "r"(b + c));)",
       2},
      // ptxas makes one instruction of both.
      {"max3.s32", "int", "lane", kIntegers,
       R"(asm volatile("max.s32 %0, %0, %1; max.s32 %0, %0, %2;" : "+r"(x[c]) : "r"(a), "r"(b));)"},
      {"fma.f16x2", "unsigned", "lane", kIntegers,
       R"(asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x[c]) : "r"(a), "r"(b));)"},
      {"ex2.f32", "float", "lane", kFloats,
       R"(asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[c]));)"},
      // As a softmax has them.
      {"fma+ex2+add", "float", "lane", kFloats,
       R"(asm volatile("{.reg .f32 p; fma.rn.f32 p, %0, %1, %2; ex2.approx.ftz.f32 p, p; add.f32 %0, %0, p;}" : "+f"(x[c]) : "f"(a), "f"(b));)",
       3},
      {"cvt.f16x2.f32", "unsigned", "lane", kFloats,
       R"(asm volatile("{.reg .f32 f; mov.b32 f, %0; cvt.rn.f16x2.f32 %0, f, %1;}" : "+r"(x[c]) : "f"(a));)"},
      {"cvt.f32.f16", "unsigned", "lane", kNoValues,
       R"(asm volatile("{.reg .f32 f; .reg .b16 l, h; mov.b32 {l, h}, %0; cvt.f32.f16 f, l; mov.b32 %0, f;}" : "+r"(x[c]));)"},
      {"cvt.s32.f32", "unsigned", "lane", kNoValues,
       R"(asm volatile("{.reg .f32 f; mov.b32 f, %0; cvt.rzi.s32.f32 %0, f;}" : "+r"(x[c]));)"},
      {"mma.m16n8k16", "F4", "{}", "const unsigned a = data[1], b = data[2];",
       R"(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};" : "+f"(x[c].v[0]), "+f"(x[c].v[1]), "+f"(x[c].v[2]), "+f"(x[c].v[3]) : "r"(a), "r"(b));)"},
      // The sum goes through another pipe on its way.
      {"mma+add.f32", "F4", "{}", "const unsigned a = data[1], b = data[2];",
       R"(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3}; add.f32 %0, %0, %0;" : "+f"(x[c].v[0]), "+f"(x[c].v[1]), "+f"(x[c].v[2]), "+f"(x[c].v[3]) : "r"(a), "r"(b));)"},
      {"shfl", "unsigned", "lane", kNoValues,
       R"(asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(x[c]));)"},
      // Every word holds the address from which it was read, or for ldmatrix the one that its
      // reader gives.
      {"ld.shared.b32", "unsigned", "base + lane * 4",
       "const unsigned a = 0, b = 0; for (unsigned i = lane; i < 4096; i += 32) "
       "shared[i] = base + i * 4;",
       R"(asm volatile("ld.shared.b32 %0, [%0];" : "+r"(x[c]));)"},
      // The two ands keep all four words in use.
      {"ld.shared.v4", "unsigned", "base + lane * 16",
       "for (unsigned i = lane; i < 4096; i += 32) shared[i] = base + i / 4 * 16;",
       R"(asm volatile("{.reg .b32 p, q, r, s; ld.shared.v4.b32 {p, q, r, s}, [%0]; and.b32 p, p, q; and.b32 p, p, r; and.b32 %0, p, s;}" : "+r"(x[c]));)"},
      {"ldmatrix.x4", "unsigned", "base + lane * 16",
       "unsigned a = 0, b = 0, e = 0; for (unsigned i = lane; i < 4096; i += 32) "
       "shared[i] = base + i % 32 * 16;",
       R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%0];" : "+r"(x[c]), "=r"(a), "=r"(b), "=r"(e));)"},
      // Rows 144 bytes apart: no two in the same banks.
      {"ldmatrix.x4 padded", "unsigned", "base + lane * 144",
       "unsigned a = 0, b = 0, e = 0; if (threadIdx.x < 32) shared[lane / 4 * 36 + lane % 4] = "
       "base + lane * 144;",
       R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%0];" : "+r"(x[c]), "=r"(a), "=r"(b), "=r"(e));)"},
      // All lanes read the same words.
      {"ld.shared.v4 same", "unsigned", "base", "if (threadIdx.x < 4) shared[threadIdx.x] = base;",
       R"(asm volatile("{.reg .b32 p, q, r, s; ld.shared.v4.b32 {p, q, r, s}, [%0]; and.b32 p, p, q; and.b32 p, p, r; and.b32 %0, p, s;}" : "+r"(x[c]));)"},
      {"ld.shared.v2 same", "unsigned", "base", "if (threadIdx.x < 4) shared[threadIdx.x] = base;",
       R"(asm volatile("{.reg .b32 p, q; ld.shared.v2.b32 {p, q}, [%0]; and.b32 %0, p, q;}" : "+r"(x[c]));)"},
      {"st.shared.b32", "unsigned", "base + lane * 4", kNoValues,
       R"(asm volatile("st.shared.b32 [%0], %1;" :: "r"(x[c] + c * 128), "r"(lane) : "memory");)"},
      {"st.shared.v4", "unsigned", "base + lane * 16", kNoValues,
       R"(asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" :: "r"(x[c] + c * 512), "r"(lane) : "memory");)"},
  };
  return list;
}

std::string chain_source(const Instruction& instruction, int chains, int unroll) {
  return "struct F4 { float v[4]; };\n" +
         whole(fmt::format(R"(
  {values}
  {state} x[{chains}];
  #pragma unroll
  for (int c = 0; c < {chains}; ++c) x[c] = {state}{open}{start}{close};
{timed_rounds}    #pragma unroll
    for (int u = 0; u < {unroll}; ++u) {{
      #pragma unroll
      for (int c = 0; c < {chains}; ++c) {{ {step} }}
    }}
  }}
  unsigned kept = 0;
  #pragma unroll
  for (int c = 0; c < {chains}; ++c) kept ^= *reinterpret_cast<unsigned*>(&x[c]);
  asm volatile("" :: "r"(kept) : "memory");
  const unsigned long long end = now();
  if (kept == 0x12345678u) data[threadIdx.x] = kept;
  note(times, begin, end, ns);
)",
                           fmt::arg("timed_rounds", timed_rounds()),
                           fmt::arg("values", instruction.values),
                           fmt::arg("state", instruction.state), fmt::arg("chains", chains),
                           fmt::arg("unroll", unroll), fmt::arg("start", instruction.start),
                           fmt::arg("open", instruction.state == "F4" ? "" : "("),
                           fmt::arg("close", instruction.state == "F4" ? "" : ")"),
                           fmt::arg("step", instruction.step)));
}

std::string rounds_source(const Instruction& instruction, int chains, int steps,
                          const std::string& goes_on) {
  return fmt::format(R"(
    {values}
    {state} x[{chains}];
    #pragma unroll
    for (int c = 0; c < {chains}; ++c) x[c] = {state}({start});
    #pragma unroll 1
    for (int i = 0; {goes_on}; ++i) {{
      #pragma unroll
      for (int u = 0; u < {steps} / {chains}; ++u) {{
        #pragma unroll
        for (int c = 0; c < {chains}; ++c) {{ {step} }}
      }}
    }}
    #pragma unroll
    for (int c = 0; c < {chains}; ++c) kept += static_cast<unsigned>(x[c]);
)",
                     fmt::arg("values", instruction.values), fmt::arg("state", instruction.state),
                     fmt::arg("start", instruction.start), fmt::arg("chains", chains),
                     fmt::arg("steps", steps), fmt::arg("goes_on", goes_on),
                     fmt::arg("step", instruction.step));
}

std::string barrier_source() {
  return whole(R"(
  __syncthreads();
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  #pragma unroll 16
  for (int i = 0; i < count; ++i) asm volatile("bar.sync 0;" ::: "memory");
  note(times, begin, now(), ns);
)");
}

// data[i] is the index of the next word. One lane goes its way, once round before the clock starts
// where count is negative.
std::string chase_source() {
  return whole(R"(
  const int steps = count < 0 ? -count : count;
  unsigned at = 0;
  if (count < 0)
    for (int i = 0; i < steps; ++i) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(data + at));
  at = at == 0xffffffffu;
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  #pragma unroll 8
  for (int i = 0; i < steps; ++i) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(data + at));
  asm volatile("" :: "r"(at) : "memory");
  const unsigned long long end = now();
  if (at == 0x12345678u) data[0] = at;
  note(times, begin, end, ns);
)");
}

// Every block reads `count` times 16 KB a warp, 16 bytes a lane, and all go round the first
// 2^(count >> 24) bytes of data.
std::string stream_source() {
  return whole(R"(
  const unsigned mask = (1u << (count >> 24)) - 1;
  const int rounds = count & 0xffffff;
  const unsigned warps = gridDim.x * (blockDim.x / 32);
  const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  unsigned kept = 0;
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  for (int i = 0; i < rounds; ++i) {
    const unsigned long long first = (static_cast<unsigned long long>(i) * warps + warp) * 16384;
    unsigned v[8][4];
    #pragma unroll 1
    for (int part = 0; part < 4; ++part) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        const unsigned offset = (first + part * 4096 + j * 512) & mask;
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[j][0]), "=r"(v[j][1]), "=r"(v[j][2]), "=r"(v[j][3]) : "l"(reinterpret_cast<const char*>(data) + offset + lane * 16));
      }
      #pragma unroll
      for (int j = 0; j < 8; ++j) kept ^= v[j][0] ^ v[j][1] ^ v[j][2] ^ v[j][3];
    }
  }
  asm volatile("" :: "r"(kept) : "memory");
  const unsigned long long end = now();
  if (kept == 0x12345678u) data[0] = kept;
  note(times, begin, end, ns);
)");
}

// A block copies blockDim.x * copies * 16 bytes to shared memory, waits, meets; `count` times. Rows
// of 128 bytes lie `pitch` bytes apart.
std::string async_source(int copies, int pitch) {
  return whole(fmt::format(R"(
  const char* from = reinterpret_cast<const char*>(data) + (blockIdx.x % 16) * 131072 + threadIdx.x * 16;
  const unsigned to = base + threadIdx.x / 8 * {1} + threadIdx.x % 8 * 16;
{2}    #pragma unroll
    for (int j = 0; j < {0}; ++j)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to + j * (blockDim.x / 8) * {1}), "l"(from + j * blockDim.x * 16) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
  }}
  note(times, begin, now(), ns);
)",
                           copies, pitch, timed_rounds()));
}

std::string empty_source() {
  return "extern \"C\" __global__ void bench(unsigned long long*, unsigned*, int) {}\n";
}

std::string storing_source() {
  return R"(extern "C" __global__ void bench(unsigned long long*, unsigned* data, int count) {
  __stcg(reinterpret_cast<uint4*>(data) + 64 + blockIdx.x * blockDim.x + threadIdx.x,
         make_uint4(count, 1, 2, 3));
}
)";
}

}  // namespace fa_tune::bench
