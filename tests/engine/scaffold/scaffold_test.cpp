#include "engine/scaffold/scaffold.hpp"

#include <string>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using scaffold::space_for;

namespace {

std::string space_of(const std::string& text, const std::string& kernel = "") {
  return space_for(text, {.source = "mine.cu", .name = "", .kernel = kernel});
}

}  // namespace

TEST_CASE("init: a guarded kernel of one size") {
  const std::string space = space_of(R"(
__global__ void scale(const float* __restrict__ x, float* y, float alpha, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = alpha * x[i];
}
)");
  CHECK(has(space, "space: scale\n"));
  CHECK(has(space, "- {name: x, type: f32, shape: [n]}  # guessed: the shape\n"));
  CHECK(has(space, "- {name: y, type: f32, shape: [n], role: output}  # guessed:"));
  CHECK(has(space, "- {name: alpha, type: f32, value: 1.5}  # guessed: the value\n"));
  CHECK(has(space, "- {name: n, type: i32, value: n}\n"));
  CHECK(has(space, "- {n: 1048576}\n    - {n: 1000}\n"));
  CHECK(has(space, "grid: [\"ceil_div(problem.n, BLOCK)\"]  # guessed: from its guards\n"));
  CHECK(has(space, "block: [BLOCK]\n"));
  CHECK(has(space, "BLOCK: [64, 128, 256, 512]  # guessed: threads of a block\n"));
  CHECK(has(space, "grid: [\"ceil_div(problem.n, 256)\"]\n      block: [256]\n"));
  CHECK(has(space, "# fill in: a plain kernel"));
}

TEST_CASE("init: tiles, template parameters and three sizes") {
  const std::string space = space_of(R"(
template <int TILE, typename T, bool FAST = true>
__global__ void gemm(const T* A, const T* B, T* C, int M, int N, int K) {
  __shared__ T a[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t)
    for (int k = 0; k < TILE; ++k) sum += A[row * K + t * TILE + k] * B[(t * TILE + k) * N + col];
  if (row < M && col < N) C[row * N + col] = sum;
}
)");
  CHECK(has(space, "kernel: \"gemm<16, float, true>\""));
  CHECK(has(space, "kernel: \"gemm<TILE, float, FAST>\""));
  CHECK(has(space, "{name: A, type: f32, shape: [K, M]}"));
  CHECK(has(space, "{name: B, type: f32, shape: [K, N]}"));
  CHECK(has(space, "{name: C, type: f32, shape: [M, N], role: output}"));
  CHECK(has(space, "grid: [\"ceil_div(problem.N, TILE)\", \"ceil_div(problem.M, TILE)\"]"));
  CHECK(has(space, "TILE: [8, 16, 32]"));
  CHECK(has(space, "FAST: [true, false]"));
  CHECK(has(space, "{expr: \"TILE * TILE <= 1024\""));
}

TEST_CASE("init: macros under #ifndef are parameters, others are told of") {
  const std::string source = R"(
#ifndef PER
#define PER 4
#endif
#define STEP 32
__global__ void k(const float* x, float* y, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * PER;
  for (int k = 0; k < PER; ++k) if (i + k < n) y[i + k] = x[i + k] * STEP;
}
)";
  const std::string space = space_of(source);
  CHECK(has(space, "PER: [1, 2, 4, 8]  # guessed: line 3\n"));
  CHECK(has(space, "grid: [\"ceil_div(problem.n, BLOCK * PER)\"]"));
  CHECK(has(space,
            "# Note: STEP (line 5) is a parameter where #ifndef STEP and #endif are around it."));
}

TEST_CASE("init: what the source leaves open the reference is given") {
  const std::string space = space_of(R"(
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)");
  CHECK(has(space, "derived: {block_size_x: 128}\n    defines: [block_size_x]\n"));
  CHECK(has(space, "block: [block_size_x]\n"));
  CHECK(has(space, "block_size_x: [32, 64, 128, 256]  # guessed: the source leaves it open\n"));
}

TEST_CASE("init: names behind #pragma unroll are parameters") {
  const auto kernel = [](const std::string& before, const std::string& unroll) {
    return space_of(before + R"(
__global__ void k(const float* x, float* y, int n) {
  const int steps = 4;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll )" + unroll +
                    R"(
  for (int j = 0; j < 64; ++j) sum += x[i * 64 + j];
  if (i < n) y[i] = sum;
}
)");
  };
  const std::string open = kernel("", "(U)");
  CHECK(has(open, "U: [1, 2, 4, 8]  # guessed: the source leaves it open\n"));
  CHECK(has(open, "derived: {U: 4}\n    defines: [U]\n"));
  CHECK(has(kernel("#ifndef U\n#define U 2\n#endif", "U"), "U: [1, 2, 4, 8]  # guessed: line 2\n"));
  CHECK(has(kernel("#define U 2", "U"), "# Note: U (line 1) is a parameter where #ifndef U"));
  for (const char* none : {"", "4", "steps"})
    CHECK(!has(kernel("", none), "the source leaves it open"));
  CHECK(!has(kernel("#if 0\n#pragma unroll U\n#endif", ""), "U: ["));
}

TEST_CASE("init: a warp has a row, and an index that was read points into one") {
  const std::string warps = space_of(R"(
__global__ void rows(const float* x, float* y, int n, int width) {
  int row = (blockIdx.x * threads + threadIdx.x) / 32;
  if (row < n)
    for (int i = threadIdx.x % 32; i < width; i += 32) y[row * width + i] = x[row * width + i];
}
)");
  CHECK(has(warps, "block: [threads]"));
  CHECK(has(warps, "grid: [\"ceil_div(problem.n, (threads / 32))\"]"));
  const std::string rows = space_of(R"(
__global__ void pick(const float* x, const int* which, float* y, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* row = x + i * width;
  y[i] = row[which[i]];
}
)");
  CHECK(has(rows, "{name: which, type: i32, shape: [n], fill: {integers: [0, width - 1]}}"));
  CHECK(has(rows, "{name: x, type: f32, shape: [n, width]}"));
}

TEST_CASE("init: two kernels' tiles go through shared memory, where rows of threads step") {
  const std::string space = space_of(R"(
__global__ void transpose(float* out, const float* in, int width, int height) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
)");
  CHECK(has(space, "block: [32, 8]"));
  CHECK(has(space, "grid: [\"ceil_div(problem.width, 32)\", \"ceil_div(problem.height, 32)\"]"));
  CHECK(has(space, "{name: out, type: f32, shape: [height, width], role: output}"));
  CHECK(!has(space, "width: 100"));
}

TEST_CASE("init: blocks have one size where the number of results depends on it") {
  const std::string space = space_of(R"(
__global__ void __launch_bounds__(512) sum(const double* in, double* out, int n) {
  extern __shared__ double part[];
  int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  part[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (tid < k) part[tid] += part[tid + k];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = part[0];
}
)");
  CHECK(has(space, "shape: [\"ceil_div(n, 256)\"], role: output"));
  CHECK(has(space, "block: [256]\n      shared: \"256 * 8\""));
  CHECK(has(space, "tolerance: {absolute: 1e-9, relative: 1e-9}  # guessed:"));
  CHECK(has(space, "parameters: {}"));
}

TEST_CASE("init: rows of a sparse matrix, indices, atomics and constants") {
  const std::string sparse = space_of(R"(
__global__ void spmv(const int* ptr, const int* col, const float* val, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int j = ptr[r], end = ptr[r + 1]; j < end; j += 1) sum += val[j] * x[col[j]];
  y[r] = sum;
}
)");
  CHECK(has(sparse, "{name: ptr, type: i32, shape: [\"rows + 1\"], fill: {offsets: nnz}}"));
  CHECK(has(sparse, "{name: col, type: i32, shape: [nnz], fill: {integers: [0, rows - 1]}}"));
  CHECK(has(sparse, "{name: x, type: f32, shape: [rows]}"));
  const std::string histogram = space_of(R"(
__constant__ float weights[3 * 3];
__global__ void count(const unsigned char* pixels, unsigned int* bins, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[pixels[i]], (unsigned)weights[0]);
}
)");
  CHECK(has(histogram, "{name: pixels, type: u8, shape: [n], fill: {integers: [0, 255]}}"));
  CHECK(has(histogram, "shape: [256], role: inout, fill: {value: 0}}"));
  CHECK(has(histogram, "{name: weights, type: f32, constant: true, shape: [9]}"));
  CHECK(has(histogram, "{name: n, type: u64, value: n}"));
}

TEST_CASE("init: one line says what it cannot read") {
  const auto refusal = [](const std::string& text, const std::string& kernel = "") {
    return message_of<UserError>([&] { (void)space_of(text, kernel); });
  };
  const std::string two =
      "__global__ void a(float* x) { x[0] = 1; }\n__global__ void b(float* x) { x[1] = 1; }";
  CHECK(refusal(two) == "mine.cu: has 2 kernels; choose one with --kernel: a, b");
  CHECK(refusal(two, "bb") == "mine.cu: has no kernel 'bb', did you mean 'b'?; it has a, b");
  CHECK(has(space_of(two, "b"), "space: b\n"));
  CHECK(refusal("int main() {}") == "mine.cu: there is no __global__ function with a body");
  CHECK(has(refusal("__global__ void k(Ray* r, int n) { r[0] = 1; }"),
            "kernel 'k' (line 1): parameter 'r' has the type 'Ray', which init cannot state"));
  CHECK(has(refusal("__global__ void k(const float** r) { r[0][0] = 1; }"),
            "parameter 'r' is a pointer to pointers, 'float**', which init cannot state"));
  CHECK(has(refusal("__global__ void k(const float* x, int n) {}"),
            "writes to none of its arguments"));
  CHECK(has(refusal("__global__ void k() {}"), "has no parameters"));
  CHECK(has(
      refusal(
          "__global__ void k(cudaTextureObject_t t, float* y) { y[0] = tex2D<float>(t, 0, 0); }"),
      "a space has no textures"));
}

}  // namespace fa_tune::test
