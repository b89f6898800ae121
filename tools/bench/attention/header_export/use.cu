// An exported header in a program of its own: attention at the header's first sizes in the runtime's context,
// beside float64 on the CPU. Prints the largest error; exit code 1 where it is more than the gate allows.
//
//   nvcc -std=c++17 -arch=native -DHEADER='"winner.hpp"' -DNAME=winner use.cu -lcuda
//   g++ -std=c++17 -x c++ ... use.cu -lcudart -lcuda         the same without nvcc

#include HEADER

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace {

struct Tensor {
  std::vector<__half> host;
  __half* device = nullptr;

  explicit Tensor(std::size_t elements) : host(elements) {
    cudaMalloc(reinterpret_cast<void**>(&device), elements * sizeof(__half));
  }
  void fill(std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (__half& value : host) value = __float2half(normal(random));
    cudaMemcpy(device, host.data(), host.size() * sizeof(__half), cudaMemcpyHostToDevice);
  }
};

double half_ulp(double value) {
  return std::ldexp(1.0, static_cast<int>(std::floor(std::log2(std::max(std::abs(value), 0x1p-14)))) - 11);
}

// The largest error of an element over what the gate allows it (problem/attention/tolerance.hpp).
double worst_error(const NAME::Sizes& s, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o) {
  double worst = 0;
  std::vector<double> p(static_cast<std::size_t>(s.Lk));
  const auto at = [&](const Tensor& tensor, std::int64_t head, std::int64_t length, std::int64_t row, std::int64_t d) {
    return static_cast<double>(__half2float(tensor.host[static_cast<std::size_t>((head * length + row) * s.D + d)]));
  };
  for (std::int64_t row = 0; row < s.B * s.H * s.Lq; ++row) {
    const std::int64_t head = row / s.Lq, i = row % s.Lq, keys = s.causal ? std::min(i + 1, s.Lk) : s.Lk;
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < s.D; ++d) score += at(q, head, s.Lq, i, d) * at(k, head, s.Lk, j, d);
      sum += p[static_cast<std::size_t>(j)] = std::exp(score / std::sqrt(static_cast<double>(s.D)));
    }
    for (std::int64_t d = 0; d < s.D; ++d) {
      double exact = 0, spread = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const double part = p[static_cast<std::size_t>(j)] / sum * at(v, head, s.Lk, j, d);
        exact += part;
        spread += part * part;
      }
      const double noise = std::hypot(0.425 * 0x1p-11 * std::sqrt(spread), half_ulp(exact) / std::sqrt(3.0));
      const double error = std::abs(at(o, head, s.Lq, i, d) - exact) / (8 * noise);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

}  // namespace

int main() {
  const NAME::Sizes sizes;
  const auto queries = static_cast<std::size_t>(sizes.B * sizes.H * sizes.Lq * sizes.D);
  const auto keys = static_cast<std::size_t>(sizes.B * sizes.H * sizes.Lk * sizes.D);
  Tensor q(queries), k(keys), v(keys), o(queries);
  std::mt19937 random(1);
  for (Tensor* given : {&q, &k, &v}) given->fill(random);
  for (int i = 0; i < 3; ++i) {
    const CUresult code = NAME::launch(sizes, q.device, k.device, v.device, o.device);
    if (code != CUDA_SUCCESS) {
      std::printf("launch: error %d\n", static_cast<int>(code));
      return 1;
    }
  }
  cudaMemcpy(o.host.data(), o.device, queries * sizeof(__half), cudaMemcpyDeviceToHost);
  const double worst = worst_error(sizes, q, k, v, o);
  NAME::Sizes strange;
  strange.B = 1 << 20;
  const bool refused = NAME::launch(strange, q.device, k.device, v.device, o.device) == CUDA_ERROR_NOT_FOUND;
  std::printf("largest error %.3f of what is allowed; unknown sizes are %s; %s\n", worst,
              refused ? "refused" : "NOT refused", cudaGetErrorString(cudaDeviceSynchronize()));
  return worst <= 1 && refused && cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
