// Matrix products of a warpgroup (128 threads) with sm_90a's wgmma: 64 rows, kN columns, 32 bytes
// deep (16 elements; 32 of e4m3), summed in single precision. B, and A where it is not in
// registers, are read from shared memory, where they lie as the copy engine writes them with its
// 128-byte swizzle: rows of 128 bytes, eight of them to an atom of 1024 bytes.
//
// The sums: thread t of the warpgroup holds of rows 16 * (t / 32) + t % 32 / 4 (and + 8) the
// columns 8 i + t % 4 * 2 (and + 1); sums[4 i + 2 h + c] is row h, column c. An A operand in
// registers is laid out like two such fragments side by side; of e4m3 a register has four columns,
// 4 (t % 4) on, and the next one of the same row is 16 columns further on.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions", "Matrix Descriptor Format".
#pragma once

// A matrix in shared memory, by its descriptor. The low half alone tells where it lies, so that
// another place is one sum of 32 bits.
struct Matrix {
  unsigned low;
  unsigned high;
  __device__ __forceinline__ unsigned long long descriptor() const {
    return static_cast<unsigned long long>(high) << 32 | low;
  }
};

// A matrix at `address`; `leading` and `stride` are the bytes between its atoms in the direction of
// the rows that lie in an atom's 128 bytes, and across it.
__device__ __forceinline__ Matrix matrix_at(unsigned address, unsigned leading, unsigned stride) {
  constexpr unsigned kSwizzle128 = 1u << 30;
  return {((address & 0x3ffff) >> 4) + (leading >> 4 << 16), stride >> 4 | kSwizzle128};
}

// The same matrix `bytes` further on.
__device__ __forceinline__ Matrix moved(Matrix matrix, unsigned bytes) {
  return {matrix.low + (bytes >> 4), matrix.high};
}

// The same matrix `times` kBytes further on.
template <unsigned kBytes>
__device__ __forceinline__ Matrix moved_by(Matrix matrix, unsigned times) {
  return {matrix.low + times * (kBytes >> 4), matrix.high};
}

// Registers written before are visible to the products that follow.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most kPending committed groups are under way.
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// The compiler takes products for done where they are issued: this keeps reads and writes of
// `values` on their side of it.
template <int kCount>
__device__ __forceinline__ void pin_registers(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

// Keeps ptxas from moving barriers and wgmma.wait_group over independent math, which it does within
// a block of code but not across a branch. Never taken (value >= 0): a loop, as it would make one
// instruction with a predicate of anything less.
template <typename Number>
__device__ __forceinline__ void fence_by_branch(Number value) {
  while (value < Number(-1)) asm volatile("nanosleep.u32 0;" ::: "memory");
}

// Wgmma<kN>::from_shared(sums, a, b, add): sums = a b^T, + sums with add; both have their depth
// along the rows of 128 bytes.
// Wgmma<kN>::from_registers<kTransposed>(sums, a, b, add): the same with a in registers;
// kTransposed: sums = a b, b has its columns along the rows, which e4m3 cannot.
template <int kN>
struct Wgmma;

#if DTYPE_E4M3
#define WGMMA_TYPES "k32.f32.e4m3.e4m3 "
#elif DTYPE_BF16
#define WGMMA_TYPES "k16.f32.bf16.bf16 "
#else
#define WGMMA_TYPES "k16.f32.f16.f16 "
#endif

// The end of an instruction: which operands are transposed, which is said of 16-bit elements alone.
#if DTYPE_E4M3
#define WGMMA_NONE_TRANSPOSED ""
#define WGMMA_B_TRANSPOSED(i) ""
#else
#define WGMMA_NONE_TRANSPOSED ", 0, 0"
#define WGMMA_B_TRANSPOSED(i) ", %" #i
#endif

// Names of the first N sums in the text of an instruction, and the sums themselves.
#define WGMMA_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WGMMA_NAMES_16 WGMMA_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_NAMES_24 WGMMA_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_NAMES_32 WGMMA_NAMES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_40 WGMMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_NAMES_48 WGMMA_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_56 WGMMA_NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_NAMES_64 WGMMA_NAMES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_72 WGMMA_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_NAMES_80 WGMMA_NAMES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_NAMES_88 WGMMA_NAMES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_NAMES_96 WGMMA_NAMES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_NAMES_104 WGMMA_NAMES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define WGMMA_NAMES_112 WGMMA_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_NAMES_120 WGMMA_NAMES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define WGMMA_NAMES_128 WGMMA_NAMES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"

#define WGMMA_EIGHT(i) \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), \
      "+f"(sums[i + 5]), "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define WGMMA_SUMS_8 WGMMA_EIGHT(0)
#define WGMMA_SUMS_16 WGMMA_SUMS_8, WGMMA_EIGHT(8)
#define WGMMA_SUMS_24 WGMMA_SUMS_16, WGMMA_EIGHT(16)
#define WGMMA_SUMS_32 WGMMA_SUMS_24, WGMMA_EIGHT(24)
#define WGMMA_SUMS_40 WGMMA_SUMS_32, WGMMA_EIGHT(32)
#define WGMMA_SUMS_48 WGMMA_SUMS_40, WGMMA_EIGHT(40)
#define WGMMA_SUMS_56 WGMMA_SUMS_48, WGMMA_EIGHT(48)
#define WGMMA_SUMS_64 WGMMA_SUMS_56, WGMMA_EIGHT(56)
#define WGMMA_SUMS_72 WGMMA_SUMS_64, WGMMA_EIGHT(64)
#define WGMMA_SUMS_80 WGMMA_SUMS_72, WGMMA_EIGHT(72)
#define WGMMA_SUMS_88 WGMMA_SUMS_80, WGMMA_EIGHT(80)
#define WGMMA_SUMS_96 WGMMA_SUMS_88, WGMMA_EIGHT(88)
#define WGMMA_SUMS_104 WGMMA_SUMS_96, WGMMA_EIGHT(96)
#define WGMMA_SUMS_112 WGMMA_SUMS_104, WGMMA_EIGHT(104)
#define WGMMA_SUMS_120 WGMMA_SUMS_112, WGMMA_EIGHT(112)
#define WGMMA_SUMS_128 WGMMA_SUMS_120, WGMMA_EIGHT(120)

// Operands follow the sums: their numbers are i0, i1, ...
#define WGMMA_SHAPE(n, count, i0, i1, i2, i3, i4, i5, i6)                                          \
  template <>                                                                                      \
  struct Wgmma<n> {                                                                                \
    __device__ __forceinline__ static void from_shared(float (&sums)[count], Matrix a, Matrix b,   \
                                                       int add) {                                  \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #i2                                        \
                   ", 0;\n"                                                                        \
                   "wgmma.mma_async.sync.aligned.m64n" #n WGMMA_TYPES "{" WGMMA_NAMES_##count      \
                   "}, %" #i0 ", %" #i1 ", p, 1, 1" WGMMA_NONE_TRANSPOSED ";\n}"                   \
                   : WGMMA_SUMS_##count                                                            \
                   : "l"(a.descriptor()), "l"(b.descriptor()), "r"(add));                          \
    }                                                                                              \
    template <int kTransposed>                                                                     \
    __device__ __forceinline__ static void from_registers(float (&sums)[count],                    \
                                                          const unsigned (&a)[4], Matrix b,        \
                                                          int add) {                               \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #i5                                        \
                   ", 0;\n"                                                                        \
                   "wgmma.mma_async.sync.aligned.m64n" #n WGMMA_TYPES "{" WGMMA_NAMES_##count      \
                   "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4                            \
                   ", p, 1, 1" WGMMA_B_TRANSPOSED(i6) ";\n}"                                       \
                   : WGMMA_SUMS_##count                                                            \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.descriptor()),              \
                     "r"(add), "n"(kTransposed));                                                  \
    }                                                                                              \
  };

WGMMA_SHAPE(16, 8, 8, 9, 10, 11, 12, 13, 14)
WGMMA_SHAPE(32, 16, 16, 17, 18, 19, 20, 21, 22)
WGMMA_SHAPE(48, 24, 24, 25, 26, 27, 28, 29, 30)
WGMMA_SHAPE(64, 32, 32, 33, 34, 35, 36, 37, 38)
WGMMA_SHAPE(80, 40, 40, 41, 42, 43, 44, 45, 46)
WGMMA_SHAPE(96, 48, 48, 49, 50, 51, 52, 53, 54)
WGMMA_SHAPE(112, 56, 56, 57, 58, 59, 60, 61, 62)
WGMMA_SHAPE(128, 64, 64, 65, 66, 67, 68, 69, 70)
WGMMA_SHAPE(144, 72, 72, 73, 74, 75, 76, 77, 78)
WGMMA_SHAPE(160, 80, 80, 81, 82, 83, 84, 85, 86)
WGMMA_SHAPE(176, 88, 88, 89, 90, 91, 92, 93, 94)
WGMMA_SHAPE(192, 96, 96, 97, 98, 99, 100, 101, 102)
WGMMA_SHAPE(208, 104, 104, 105, 106, 107, 108, 109, 110)
WGMMA_SHAPE(224, 112, 112, 113, 114, 115, 116, 117, 118)
WGMMA_SHAPE(240, 120, 120, 121, 122, 123, 124, 125, 126)
WGMMA_SHAPE(256, 128, 128, 129, 130, 131, 132, 133, 134)
