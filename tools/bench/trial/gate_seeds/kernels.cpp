#include "tools/bench/trial/gate_seeds/kernels.hpp"

#include <fmt/format.h>

namespace gate_seeds {
namespace {

const char* const kPrelude = R"(#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class T, class Join> __device__ T over_block(T mine, Join join) {
  __shared__ T all[64];
  all[threadIdx.x] = mine;
  for (int half = 32; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) all[threadIdx.x] = join(all[threadIdx.x], all[threadIdx.x + half]);
  }
  __syncthreads();
  T joined = all[0];
  __syncthreads();
  return joined;
}
template <class T> __device__ T sum_of(T mine) {
  return over_block(mine, [](T a, T b) { return a + b; });
}
struct Best { float value; int at; };
#define EACH(i) for (int i = threadIdx.x; i < columns; i += 64) if (COUNTS(i))
)";

std::string tensor(const std::string& name, const std::string& type, const std::string& more = "",
                   const std::string& shape = "[rows, columns]") {
  return fmt::format("    - {{name: {}, type: {}, shape: {}{}}}\n", name, type, shape,
                     more.empty() ? "" : ", " + more);
}

std::string output(const std::string& type, const std::string& shape = "[rows]") {
  return tensor("y", type, "role: output", shape);
}

}  // namespace

std::vector<Way> ways_of(const Kernel& kernel) {
  std::vector<Way> ways = {
      {.name = "by a block"},
      {.name = "backwards", .at = "(columns - 1 - (i))"},
      {.name = "fast math", .fast_math = true},
      {.name = "one element is its neighbour",
       .kind = Kind::element,
       .at = "((i) == columns / 2 ? (i) - 1 : (i))"},
      {.name = "one term is left out", .kind = Kind::term, .counts = "((i) != columns / 2)"}};
  for (Way& way : ways)
    if (way.fast_math && !kernel.fast_math) way.kind = Kind::unsure;
  return ways;
}

std::vector<Kernel> kernels() {
  const std::string x = tensor("x", "f32");
  const char* const kFloats = "const float* x, float* y";
  return {
      {"sum", x + output("f32"), "[{rows: 1, columns: 700}, {rows: 1, columns: 333}]", kFloats,
       R"(
  float s = 0;
  for (int i = 0; i < columns; ++i) s += x[row * columns + i];
  y[row] = s;)",
       R"(
  float s = 0;
  EACH(i) s += x[row * columns + AT(i)];
  s = sum_of(s);
  if (threadIdx.x == 0) y[row] = s;)"},
      {"norm", x + output("f32"), "[{rows: 3, columns: 300}, {rows: 3, columns: 257}]", kFloats,
       R"(
  float s = 0;
  for (int i = 0; i < columns; ++i) s += x[row * columns + i] * x[row * columns + i];
  y[row] = sqrtf(s);)",
       R"(
  float s = 0;
  EACH(i) s += x[row * columns + AT(i)] * x[row * columns + AT(i)];
  s = sum_of(s);
  if (threadIdx.x == 0) y[row] = sqrtf(s);)"},
      {"dot product, fp16", tensor("x", "f16") + tensor("z", "f16") + output("f16"),
       "[{rows: 2, columns: 300}, {rows: 2, columns: 129}]",
       "const __half* x, const __half* z, __half* y",
       R"(
  float s = 0;
  for (int i = 0; i < columns; ++i)
    s += __half2float(x[row * columns + i]) * __half2float(z[row * columns + i]);
  y[row] = __float2half(s);)",
       R"(
  float s = 0;
  EACH(i) s += __half2float(x[row * columns + AT(i)]) * __half2float(z[row * columns + AT(i)]);
  s = sum_of(s);
  if (threadIdx.x == 0) y[row] = __float2half(s);)"},
      {"softmax of a row", x + tensor("y", "f32", "role: output"),
       "[{rows: 1, columns: 8}, {rows: 1, columns: 7}]", kFloats,
       R"(
  float m = -3e38f, s = 0;
  for (int i = 0; i < columns; ++i) m = fmaxf(m, x[row * columns + i]);
  for (int i = 0; i < columns; ++i) s += expf(x[row * columns + i] - m);
  for (int i = 0; i < columns; ++i) y[row * columns + i] = expf(x[row * columns + i] - m) / s;)",
       R"(
  float m = -3e38f, s = 0;
  for (int i = 0; i < columns; ++i) m = fmaxf(m, x[row * columns + i]);
  EACH(i) s += expf(x[row * columns + AT(i)] - m);
  s = sum_of(s);
  for (int i = threadIdx.x; i < columns; i += 64)
    y[row * columns + i] = expf(x[row * columns + i] - m) / s;)"},
      {"mean and variance", x + output("f32", "[rows, 2]"),
       "[{rows: 4, columns: 128}, {rows: 4, columns: 100}]", kFloats,
       R"(
  float mean = 0, variance = 0;
  for (int i = 0; i < columns; ++i) mean += x[row * columns + i];
  mean /= columns;
  for (int i = 0; i < columns; ++i)
    variance += (x[row * columns + i] - mean) * (x[row * columns + i] - mean);
  y[2 * row] = mean;
  y[2 * row + 1] = variance / columns;)",
       R"(
  float mean = 0, variance = 0;
  EACH(i) mean += x[row * columns + AT(i)];
  mean = sum_of(mean) / columns;
  EACH(i) { float d = x[row * columns + AT(i)] - mean; variance += d * d; }
  variance = sum_of(variance) / columns;
  if (threadIdx.x == 0) { y[2 * row] = mean; y[2 * row + 1] = variance; })"},
      {"argmax", x + output("i32"), "[{rows: 8, columns: 16}, {rows: 8, columns: 12}]",
       "const float* x, int* y",
       R"(
  int best = 0;
  for (int i = 1; i < columns; ++i)
    if (x[row * columns + i] > x[row * columns + best]) best = i;
  y[row] = best;)",
       R"(
  auto better = [](Best a, Best b) {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
  };
  Best best = {-3e38f, columns};
  EACH(i) best = better(best, {x[row * columns + AT(i)], AT(i)});
  best = over_block(best, better);
  if (threadIdx.x == 0) y[row] = best.at;)",
       false},
      {"minimum and maximum", x + output("f32", "[rows, 2]"),
       "[{rows: 4, columns: 16}, {rows: 4, columns: 12}]", kFloats,
       R"(
  float least = x[row * columns], most = least;
  for (int i = 1; i < columns; ++i) {
    least = fminf(least, x[row * columns + i]);
    most = fmaxf(most, x[row * columns + i]);
  }
  y[2 * row] = least;
  y[2 * row + 1] = most;)",
       R"(
  float least = 3e38f, most = -3e38f;
  EACH(i) { float v = x[row * columns + AT(i)]; least = fminf(least, v); most = fmaxf(most, v); }
  least = over_block(least, [](float a, float b) { return fminf(a, b); });
  most = over_block(most, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x == 0) { y[2 * row] = least; y[2 * row + 1] = most; })"},
      {"cross entropy",
       tensor("x", "f32", "", "[columns, 10]") +
           tensor("target", "i32", "fill: {integers: [0, 9]}", "[columns]") + output("f32"),
       "[{rows: 1, columns: 32}, {rows: 1, columns: 20}]",
       "const float* x, const int* target, float* y",
       R"(
  float loss = 0;
  for (int i = 0; i < columns; ++i) {
    float m = -3e38f, s = 0;
    for (int j = 0; j < 10; ++j) m = fmaxf(m, x[i * 10 + j]);
    for (int j = 0; j < 10; ++j) s += expf(x[i * 10 + j] - m);
    loss += m + logf(s) - x[i * 10 + target[i]];
  }
  y[row] = loss / columns;)",
       R"(
  float loss = 0;
  EACH(i) {
    const float* own = x + AT(i) * 10;
    float m = -3e38f, s = 0;
    for (int j = 0; j < 10; ++j) m = fmaxf(m, own[j]);
    for (int j = 0; j < 10; ++j) s += expf(own[j] - m);
    loss += m + logf(s) - own[target[AT(i)]];
  }
  loss = sum_of(loss);
  if (threadIdx.x == 0) y[row] = loss / columns;)"},
      {"histogram",
       tensor("x", "u8", "fill: {integers: [0, 255]}") +
           tensor("y", "u32", "role: inout, fill: {value: 0}", "[8]"),
       "[{rows: 1, columns: 900}, {rows: 1, columns: 500}]", "const unsigned char* x, unsigned* y",
       "for (int i = 0; i < columns; ++i) y[x[i] / 32] += 1;",
       "EACH(i) atomicAdd(y + x[AT(i)] / 32, 1u);"},
      {"last of a scan, int64",
       tensor("x", "i32", "fill: {integers: [-1000, 1000]}") + output("i64"),
       "[{rows: 5, columns: 200}, {rows: 5, columns: 150}]", "const int* x, long long* y",
       R"(
  long long s = 0;
  for (int i = 0; i < columns; ++i) s += x[row * columns + i];
  y[row] = s;)",
       R"(
  long long s = 0;
  EACH(i) s += x[row * columns + AT(i)];
  s = sum_of(s);
  if (threadIdx.x == 0) y[row] = s;)"},
      {"matrix by vector, bf16",
       tensor("x", "bf16") + tensor("v", "bf16", "", "[columns]") + output("bf16"),
       "[{rows: 8, columns: 96}, {rows: 8, columns: 64}]",
       "const __nv_bfloat16* x, const __nv_bfloat16* v, __nv_bfloat16* y",
       R"(
  float s = 0;
  for (int i = 0; i < columns; ++i)
    s += __bfloat162float(x[row * columns + i]) * __bfloat162float(v[i]);
  y[row] = __float2bfloat16(s);)",
       R"(
  float s = 0;
  EACH(i) s += __bfloat162float(x[row * columns + AT(i)]) * __bfloat162float(v[AT(i)]);
  s = sum_of(s);
  if (threadIdx.x == 0) y[row] = __float2bfloat16(s);)"},
      {"log of a sum of exponentials", x + output("f32"),
       "[{rows: 6, columns: 64}, {rows: 6, columns: 50}]", kFloats,
       R"(
  float m = -3e38f, s = 0;
  for (int i = 0; i < columns; ++i) m = fmaxf(m, x[row * columns + i]);
  for (int i = 0; i < columns; ++i) s += expf(x[row * columns + i] - m);
  y[row] = m + logf(s);)",
       R"(
  float m = -3e38f, s = 0;
  for (int i = 0; i < columns; ++i) m = fmaxf(m, x[row * columns + i]);
  EACH(i) s += expf(x[row * columns + AT(i)] - m);
  s = sum_of(s);
  if (threadIdx.x == 0) y[row] = m + logf(s);)"}};
}

Files files_of(const Kernel& kernel, const std::vector<Way>& all) {
  const std::string parameters = kernel.parameters + ", int rows, int columns";
  Files files;
  files.space = "space: seeds\ntarget: h100\nproblem:\n  kind: custom\n  sizes: " + kernel.sizes +
                "\n  arguments:\n" + kernel.arguments +
                "    - {name: rows, type: i32, value: rows}\n"
                "    - {name: columns, type: i32, value: columns}\n"
                "  reference:\n    source: plain.cu\n    kernel: plain\n"
                "    launch: {grid: [1], block: [32]}\ntemplates:\n";
  files.texts.emplace_back(
      "plain.cu", "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void plain(" +
                      parameters + ") {\n  int row = threadIdx.x;\n  if (row >= rows) return;\n" +
                      kernel.plain + "\n}\n");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Way& way = all[i];
    const std::string file = fmt::format("way{}.cu", i);
    files.texts.emplace_back(
        file, fmt::format("#define AT(i) {}\n#define COUNTS(i) {}\n{}__global__ void way({}) {{\n"
                          "  int row = blockIdx.x;\n{}\n}}\n",
                          way.at, way.counts, kPrelude, parameters, kernel.body));
    files.space += fmt::format(
        "  w{}:\n    source: {}\n    kernel: way\n{}"
        "    launch: {{grid: [problem.rows], block: [BLOCK]}}\n",
        i, file, way.fast_math ? "    options: [--use_fast_math]\n" : "");
  }
  files.space += "parameters:\n  BLOCK: [64]\n";
  return files;
}

}  // namespace gate_seeds
