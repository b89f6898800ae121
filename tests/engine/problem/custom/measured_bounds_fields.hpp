#pragma once

#include <string>
#include <vector>

#include <fmt/core.h>

// What measured bounds are tried on: of each kind of problem correct kernels, and wrong ones.
namespace fa_tune::test {

struct Way {
  std::string name;
  std::string body;  // of the kernel, or what the problem's frame puts in its place
  bool correct = true;
  bool fast_math = false;
};

struct Field {
  std::string name;
  std::string arguments;  // in YAML, of the problem
  std::string sizes;
  std::string parameters;  // of the kernels, in C++
  std::string grid;        // of the ways, of 64 threads
  std::string plain;       // the reference's body, for one thread a row, n threads in all
  std::string rows;        // the threads that it needs
  std::vector<Way> ways;
};

// Helpers of all ways: a warp a row, and sums over it.
inline const char* const kPrelude = R"(
__device__ float sum_of(float x) {
  for (int i = 16; i > 0; i /= 2) x += __shfl_xor_sync(~0u, x, i);
  return x;
}
__device__ float max_of(float x) {
  for (int i = 16; i > 0; i /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, i));
  return x;
}
)";

inline const char* const kRowArguments = R"(
    - {name: x, type: f32, shape: [rows, columns]}
    - {name: y, type: f32, shape: [rows, columns], role: output}
    - {name: rows, type: i32, value: rows}
    - {name: columns, type: i32, value: columns})";
inline const char* const kRowParameters = "const float* x, float* y, int rows, int columns";
inline const char* const kRowGrid = "ceil_div(problem.rows, 2)";

// What begins every way that has a warp a row.
inline const char* const kRow = R"(
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* in = x + row * columns;
  float* out = y + row * columns;
)";

inline std::string softmax(const std::string& e, const std::string& also = "",
                           const std::string& scale = "1.0f", const std::string& skip = "-1") {
  return kRow + fmt::format(R"(
  float m = -3e38f, s = 0;
  for (int i = lane; i < columns; i += 32) m = fmaxf(m, in[i]);
  m = max_of(m);
  for (int i = lane; i < columns; i += 32) if (i != {3}) {{ float v = in[i]; s += {0}; }}
  s = sum_of(s);
  for (int i = lane; i < columns; i += 32) {{ float v = in[i]; out[i] = {0} / s * {2}; }}
  {1}
)",
                            e, also, scale, skip);
}

inline std::string log_softmax(const std::string& e, const std::string& y,
                               const std::string& skip = "-1") {
  return kRow + fmt::format(R"(
  float m = -3e38f, s = 0;
  for (int i = lane; i < columns; i += 32) m = fmaxf(m, in[i]);
  m = max_of(m);
  for (int i = lane; i < columns; i += 32) if (i != {2}) {{ float v = in[i]; s += {0}; }}
  s = sum_of(s);
  for (int i = lane; i < columns; i += 32) {{ float v = in[i]; out[i] = {1}; }}
)",
                            e, y, skip);
}

inline std::string norm(const std::string& moments, const std::string& y = "(in[i] - mean) * r",
                        const std::string& also = "") {
  return kRow + fmt::format(R"(
  float mean = 0, var = 0;
  {0}
  float r = rsqrtf(var + 1e-5f);
  for (int i = lane; i < columns; i += 32) out[i] = {1};
  {2}
)",
                            moments, y, also);
}

const std::string kTwoPasses = R"(
  for (int i = lane; i < columns; i += 32) mean += in[i];
  mean = sum_of(mean) / columns;
  for (int i = lane; i < columns; i += 32) { float d = in[i] - mean; var += d * d; }
  var = sum_of(var) / columns;)";
const std::string kOneSkipped = R"(
  for (int i = lane; i < columns - 1; i += 32) mean += in[i];
  mean = sum_of(mean) / columns;
  for (int i = lane; i < columns; i += 32) { float d = in[i] - mean; var += d * d; }
  var = sum_of(var) / columns;)";
const std::string kSquares = R"(
  for (int i = lane; i < columns; i += 32) { mean += in[i]; var += in[i] * in[i]; }
  mean = sum_of(mean) / columns;
  var = sum_of(var) / columns - mean * mean;)";
const std::string kWelford = R"(
  float count = 0;
  for (int i = lane; i < columns; i += 32) {
    float d = in[i] - mean;
    mean += d / ++count;
    var += d * (in[i] - mean);
  }
  for (int k = 1; k < 32; k *= 2) {
    float other = __shfl_xor_sync(~0u, mean, k), more = __shfl_xor_sync(~0u, count, k);
    float others = __shfl_xor_sync(~0u, var, k);
    float d = other - mean, all = count + more;
    if (all > 0) {
      var += others + d * d * count / all * more;
      mean = (mean * count + other * more) / all;
    }
    count = all;
  }
  var /= columns;)";

inline const char* const kOneSum = R"(
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [1], role: output}
    - {name: n, type: i32, value: n})";
inline const char* const kOneParameters = "const float* x, float* y, int n";

// By one block of 64 threads.
inline std::string one_sum(const std::string& add, const std::string& end,
                           const std::string& first = "0") {
  return fmt::format(R"(
  __shared__ float part[2];
  float s = 0;
  for (int i = {2} + threadIdx.x; i < n; i += 64) {{ float v = x[i]; {0}; }}
  s = sum_of(s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {{ s = part[0] + part[1]; y[0] = {1}; }}
)",
                     add, end, first);
}

inline std::string one_after_another(const std::string& from, const std::string& add,
                                     const std::string& end) {
  return fmt::format(
      "if (threadIdx.x > 0) return; float s = 0; for (int i = 0; i < n; ++i) "
      "{{ float v = {}; {}; }} y[0] = {};",
      from, add, end);
}

inline std::string gelu(const std::string& y) {
  return "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float v = x[i]; y[i] = " + y +
         "; }";
}

inline std::vector<Field> fields() {
  std::vector<Field> all;
  const std::string wrong_row =
      "if (row == rows / 2) for (int i = lane; i < columns; i += 32) "
      "out[i] = i > 0 ? out[i - 1] : 0;";
  const std::string wrong_element = "if (row == rows / 2 && lane == 0) out[columns / 2] *= 1.001f;";
  all.push_back({"softmax",
                 kRowArguments,
                 "{rows: 24, columns: 97}",
                 kRowParameters,
                 kRowGrid,
                 R"(
  float m = -3e38f, s = 0;
  for (int i = 0; i < columns; ++i) m = fmaxf(m, x[row * columns + i]);
  for (int i = 0; i < columns; ++i) s += expf(x[row * columns + i] - m);
  for (int i = 0; i < columns; ++i) y[row * columns + i] = expf(x[row * columns + i] - m) / s;
)",
                 "problem.rows",
                 {{"expf", softmax("expf(v - m)")},
                  {"__expf", softmax("__expf(v - m)")},
                  {"exp2f, folded", softmax("exp2f(v * 1.44269504f - m * 1.44269504f)")},
                  {"fast math", softmax("expf(v - m)"), true, true},
                  {"one element", softmax("expf(v - m)", wrong_element), false},
                  {"a term", softmax("expf(v - m)", "", "1.0f", "row % columns"), false},
                  {"a row", softmax("expf(v - m)", wrong_row), false},
                  {"scale", softmax("expf(v - m)", "", "1.001f"), false}}});
  // Rows whose results are as small as e^-300, which all hang on one element.
  all.push_back(all.front());
  all.back().name = "sharp softmax";
  all.back().sizes = "{rows: 64, columns: 150}";
  const std::string plain_fill = "shape: [rows, columns]}\n    - {name: y";
  all.back().arguments.replace(all.back().arguments.find(plain_fill), plain_fill.size(),
                               "shape: [rows, columns], fill: {normal: [0, 3]}}\n    - {name: y");
  all.push_back(
      {"log-softmax",
       kRowArguments,
       "{rows: 24, columns: 97}",
       kRowParameters,
       kRowGrid,
       R"(
  float m = -3e38f, s = 0;
  for (int i = 0; i < columns; ++i) m = fmaxf(m, x[row * columns + i]);
  for (int i = 0; i < columns; ++i) s += expf(x[row * columns + i] - m);
  for (int i = 0; i < columns; ++i) y[row * columns + i] = x[row * columns + i] - m - logf(s);
)",
       "problem.rows",
       {{"plain", log_softmax("expf(v - m)", "v - m - logf(s)")},
        {"all subtracted at once", log_softmax("expf(v - m)", "v - (m + logf(s))")},
        {"__expf", log_softmax("__expf(v - m)", "v - m - __logf(s)")},
        {"exp2f", log_softmax("exp2f((v - m) * 1.44269504f)", "v - m - log2f(s) * 0.693147181f")},
        {"a term", log_softmax("expf(v - m)", "v - m - logf(s)", "row % columns"), false},
        {"one element",
         log_softmax("expf(v - m)",
                     "(v - m - logf(s)) * (row == rows / 2 && i == columns / 2 ? 1.001f : 1)"),
         false},
        {"scale", log_softmax("expf(v - m)", "(v - m - logf(s)) * 1.001f"), false}}});
  all.push_back({"layer norm",
                 kRowArguments,
                 "{rows: 24, columns: 97}",
                 kRowParameters,
                 kRowGrid,
                 R"(
  float mean = 0, var = 0;
  for (int i = 0; i < columns; ++i) mean += x[row * columns + i];
  mean /= columns;
  for (int i = 0; i < columns; ++i)
    var += (x[row * columns + i] - mean) * (x[row * columns + i] - mean);
  var /= columns;
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = (x[row * columns + i] - mean) / sqrtf(var + 1e-5f);
)",
                 "problem.rows",
                 {{"two passes", norm(kTwoPasses)},
                  {"Welford", norm(kWelford)},
                  {"squares", norm(kSquares)},
                  {"folded", norm(kTwoPasses, "in[i] * r - mean * r")},
                  {"fast math", norm(kTwoPasses), true, true},
                  {"one element", norm(kTwoPasses, "(in[i] - mean) * r", wrong_element), false},
                  {"a term", norm(kOneSkipped), false},
                  {"a row", norm(kTwoPasses, "(in[i] - mean) * r", wrong_row), false},
                  {"scale", norm(kTwoPasses, "(in[i] - mean) * r * 1.001f"), false}}});
  all.push_back(
      {"GELU",
       R"(
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n], role: output}
    - {name: n, type: i32, value: n})",
       "{n: 2000}",
       kOneParameters,
       "ceil_div(problem.n, 64)",
       "if (row < n) y[row] = 0.5f * x[row] * (1 + erff(x[row] * 0.70710678f));",
       "problem.n",
       {{"erff", gelu("v * 0.5f * (1.0f + erff(v * 0.707106781f))")},
        {"normcdff", gelu("v * normcdff(v)")},
        {"fma", gelu("fmaf(0.5f * v, erff(v * 0.70710678f), 0.5f * v)")},
        {"fast math", gelu("v * 0.5f * (1.0f + erff(v * 0.707106781f))"), true, true},
        {"tanh", gelu("0.5f * v * (1 + tanhf(0.79788456f * (v + 0.044715f * v * v * v)))"), false},
        {"one element", gelu("v * normcdff(v) * (i == n / 2 ? 1.001f : 1)"), false},
        {"scale", gelu("v * normcdff(v) * 1.001f"), false}}});
  for (const bool squares : {false, true}) {
    const std::string add = squares ? "s += v * v" : "s += v", end = squares ? "sqrtf(s)" : "s";
    all.push_back({squares ? "norm of one vector" : "sum of one vector",
                   kOneSum,
                   "{n: 8192}",
                   kOneParameters,
                   "1",
                   "if (row > 0) return; float s = 0; for (int i = 0; i < n; ++i) { float v = "
                   "x[i]; " +
                       add + "; } y[0] = " + end + ";",
                   "1",
                   {{"by a block", one_sum(add, end)},
                    {"backwards", one_after_another("x[n - 1 - i]", add, end)},
                    {"in steps of 127", one_after_another("x[(i * 127) % n]", add, end)},
                    {"a term", one_sum(add, end, "1"), false},
                    {"scale", one_sum(add, end + " * 1.001f"), false}}});
  }
  // A norm without one of 8192 terms is within a float's noise of it now and then.
  all.back().ways.erase(all.back().ways.begin() + 3);
  const auto four = [](const std::string& last) {
    return kRow + std::string(R"(
  float s = 0, q = 0;
  for (int i = lane; i < 32; i += 32) { float v = x[row * 32 + i]; s += v; q += v * v; }
  s = sum_of(s), q = sum_of(q);
  if (lane == 0) {
    out[0] = s; out[1] = q; out[2] = s + q; out[3] = )") +
           last + ";\n  }\n";
  };
  all.push_back({"four results, one small",
                 R"(
    - {name: x, type: f32, shape: [rows, 32]}
    - {name: y, type: f32, shape: [rows, columns], role: output}
    - {name: rows, type: i32, value: rows}
    - {name: columns, type: i32, value: columns})",
                 "{rows: 48, columns: 4}",
                 kRowParameters,
                 kRowGrid,
                 R"(
  float s = 0, q = 0;
  for (int i = 0; i < 32; ++i) { float v = x[row * 32 + i]; s += v; q += v * v; }
  y[row * 4] = s; y[row * 4 + 1] = q; y[row * 4 + 2] = s + q; y[row * 4 + 3] = q * 1e-9f;
)",
                 "problem.rows",
                 {{"plain", four("q * 1e-9f")},
                  {"divided", four("q / 1e9f")},
                  {"nothing", four("0"), false},
                  {"scale", four("q * 1.001e-9f"), false}}});
  return all;
}

}  // namespace fa_tune::test
