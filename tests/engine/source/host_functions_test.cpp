#include "engine/source/host_functions.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/core.h>

namespace fa_tune::test {

using namespace fa_tune::source;

namespace {

// Blanks at the ends of lines do not count.
std::string stripped(const std::string& text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t word = text.find_first_not_of(' ', at);
    if (text[at] != ' ' || (word != std::string::npos && text[word] != '\n')) lines += text[at];
  }
  return lines;
}

}  // namespace

TEST_CASE("host functions: those that launch, name the runtime or call such a one are blank") {
  const std::string text = R"cu(#include <cuda.h>
#define CHECK(x) if (x != cudaSuccess) exit(1)
__constant__ float weights[9];
constexpr int twice(int n) { return 2 * n; }
static float half_of(float x) { return x / 2; }
__device__ float cube(float x) { return x * x * x; }
namespace mine {
__global__ void scale(float* x) { x[threadIdx.x] *= cube(2.0f); }
extern "C" {
float run(float* x) {  // with a } in a comment
  cudaError_t error;
  #if SLOW
  printf("}%s", cudaGetErrorString(error));
  #endif
  scale<<<1, 32>>>(x);
  return 0;
}
}
}
template <int N>
void again(float* x) { for (int i = 0; i < N; ++i) mine::run(x); }
void twice_again(float* x) {
  again<2>(x);
}
int main(int argc, char** argv) {
  float x[32];
}
int table[] = {1, 2};
struct Holder { void f() { cudaMalloc(nullptr, 4); } };
)cu";
  const std::string expected = R"cu(#include <cuda.h>
#define CHECK(x) if (x != cudaSuccess) exit(1)
__constant__ float weights[9];
constexpr int twice(int n) { return 2 * n; }
static float half_of(float x) { return x / 2; }
__device__ float cube(float x) { return x * x * x; }
namespace mine {
__global__ void scale(float* x) { x[threadIdx.x] *= cube(2.0f); }
extern "C" {


  #if SLOW

  #endif



}
}








int table[] = {1, 2};
struct Holder { void f() { cudaMalloc(nullptr, 4); } };
)cu";
  const std::string found = without_host_functions(text);
  CHECK(stripped(found) == expected);
  CHECK(found.size() == text.size());
  CHECK(without_host_functions(found) == found);
}

// Which takes a minute where each is looked for among all.
TEST_CASE("host functions: a long chain of calls") {
  std::string text;
  for (int i = 30'000; i > 0; --i) text += fmt::format("void f{}() {{ f{}(); }}\n", i, i - 1);
  text += "void f0() { cudaDeviceReset(); }\n";
  CHECK(without_host_functions(text).find_first_not_of(" \n") == std::string::npos);
}

TEST_CASE("host functions: device code stays as it is") {
  for (const std::string text :
       {"__global__ void f(int n) { int cuda = n << 2; }\n", "", "{", "}", "void f(", "main",
        "__host__ __device__ void g() { if (cudaSuccess) return; }\n",
        "#define main int x = {\n__global__ void f() {}\n", "extern \"C\" { void f() {"})
    CHECK(without_host_functions(text) == text);
}

}  // namespace fa_tune::test
