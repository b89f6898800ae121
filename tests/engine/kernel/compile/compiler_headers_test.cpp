// What kernels' files may include.

#include "engine/kernel/compile/compiler_headers.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/source/include_flattening.hpp"
#include "engine/util/hash.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::source;

namespace {

// Empty if it compiles.
std::string message_of(const std::string& text) {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  const auto outcome =
      compiler->compile({{text, "k", sha256(text)}, "sm_90", BinaryKind::cubin, {}});
  return outcome ? "" : outcome.error().message;
}

std::string kernel(const std::string& includes, const std::string& body) {
  return includes + "\nextern \"C\" __global__ void k(float* p, int n) {\n" + body + "\n}\n";
}

bool has_toolkit() { return !describe_nvrtc().headers.empty(); }

}  // namespace

TEST_CASE(
    "toolkit headers: where they lie changes nothing in what they are called, what they hold "
    "does") {
  const ScratchFolder one, two;
  for (const auto* folder : {&one, &two}) std::ofstream(folder->path() / "cuda_fp16.h") << "half";
  CHECK(headers_digest(one.path()) == headers_digest(two.path()));
  std::ofstream(two.path() / "cuda_fp16.hpp") << "its functions";
  CHECK(headers_digest(one.path()) != headers_digest(two.path()));
  CHECK(headers_digest(one.path()) != "");
  CHECK(headers_digest("") == "");
  if (has_toolkit()) CHECK(open_nvrtc()->headers() == headers_digest(describe_nvrtc().headers));
}

TEST_CASE("host headers: what a kernel can use of them is there") {
  const struct {
    const char* includes;
    const char* body;
  } uses[] = {
      {"#include <stdio.h>\n#include <stdlib.h>\n#include \"string.h\"",
       "if (n < 0) printf(\"%d\", n); memset(p, 0, 4);"},
      {"#include <cstdio>\n#include <cassert>\n#include <cstdlib>", "assert(n > 0); p[0] = n;"},
      {"#include <stdint.h>\n#include <cstdint>",
       "int64_t a = n; std::uint8_t b = UINT8_MAX; p[0] = (uint32_t)a + b + INT64_MAX;"},
      {"#include <float.h>\n#include <limits.h>", "p[0] = n == INT_MAX ? FLT_MAX : -DBL_EPSILON;"},
      {"#include <math.h>",
       "float x = p[1]; p[0] = M_PI * sqrtf(x) + (isnan(x) ? -INFINITY : NAN);"},
      {"#include <cmath>\n#include <algorithm>",
       "p[0] = std::sqrt(std::max(p[0], 1.0f)) + std::abs(p[1]) + std::min(n, 3);"},
      {"#include <stddef.h>", "p[0] = offsetof(float2, y) + (std::size_t)n + (p == NULL);"},
      {"#include <stdbool.h>", "bool b = n > 0; p[0] = b;"}};
  for (const auto& [includes, body] : uses) {
    CAPTURE(includes);
    CHECK(message_of(kernel(includes, body)) == "");
  }
}

TEST_CASE("host headers: all of them at once") {
  std::string includes;
  for (const HeaderText& header : host_headers())
    if (!header.text.contains("#include")) includes += "#include <" + header.name + ">\n";
  CHECK(message_of(kernel(includes, "p[0] = n;")) == "");
}

TEST_CASE("host headers: all of them at once, with the toolkit's" *
          doctest::test_suite("conditional")) {
  if (!has_toolkit()) return test::skip("no CUDA toolkit's headers are here");
  std::string includes;
  for (const HeaderText& header : host_headers()) includes += "#include <" + header.name + ">\n";
  includes += "#include <cuda_runtime.h>\n#include \"cuda_fp16.h\"\n#include <cuda_bf16.h>\n";
  CHECK(message_of(kernel(includes, "p[0] = n;")) == "");
}

TEST_CASE("the toolkit's headers are found beside NVRTC" * doctest::test_suite("conditional")) {
  if (!has_toolkit()) return test::skip("no CUDA toolkit's headers are here");
  const struct {
    const char* includes;
    const char* body;
  } uses[] = {
      {"#include <cuda_fp16.h>", "p[0] = __half2float(__float2half(p[1]));"},
      {"#include <mma.h>\nusing namespace nvcuda;",
       "wmma::fragment<wmma::accumulator, 16, 16, 16, float> c; wmma::fill_fragment(c, 1.0f); "
       "wmma::store_matrix_sync(p, c, 16, wmma::mem_row_major);"},
      {"#include <cooperative_groups.h>", "cooperative_groups::this_thread_block().sync();"},
      {"#include <cub/cub.cuh>",
       "using Sum = cub::BlockReduce<float, 64>; __shared__ Sum::TempStorage s; "
       "p[0] = Sum(s).Sum(p[threadIdx.x]);"},
      {"#include <limits>\n#include <type_traits>\n#include <cstdint>",
       "static_assert(std::is_same_v<int, std::int32_t>); "
       "p[0] = std::numeric_limits<float>::infinity();"},
      {"#include <cuda.h>\n#include <device_launch_parameters.h>\n#include <cuda_pipeline.h>",
       "p[0] = 1;"}};
  for (const auto& [includes, body] : uses) {
    CAPTURE(includes);
    CHECK(message_of(kernel(includes, body)) == "");
  }
}

TEST_CASE("a header that is none of these is said to be missing, and not remembered") {
  const std::string text = kernel("#include <vector>", "p[0] = 1;");
  const auto outcome =
      open_nvrtc()->compile({{text, "k", sha256(text)}, "sm_90", BinaryKind::cubin, {}});
  REQUIRE_FALSE(outcome);
  CHECK(test::has(outcome.error().message, "open source file \"vector\""));
  CHECK(test::has(outcome.error().message, has_toolkit() ? "host code elsewhere" : "tools/setup"));
  CHECK_FALSE(outcome.error().lasting);
}

TEST_CASE("a working folder's files are no headers") {
  const test::ScratchFolder folder;
  std::ofstream(folder / "mine.h") << "#error found\n";
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string message = message_of(kernel("#include \"mine.h\"\n#include <cstdio>", ""));
  std::filesystem::current_path(before);
  CHECK(test::has(message, "open source file \"mine.h\""));
}

TEST_CASE("what nvcc includes by itself is asked for where a text uses it and does not name it") {
  using Names = std::vector<std::string>;
  CHECK(headers_nvcc_includes("int64_t n = INT_MAX;") == Names{"stdint.h", "limits.h"});
  CHECK(headers_nvcc_includes("#include <cstdint>\nint64_t n;").empty());
  CHECK(headers_nvcc_includes("#include \"stdint.h\"\nint64_t n;").empty());
  // A comment or another header's name is no #include.
  CHECK(headers_nvcc_includes("// as <stdint.h> has it\nint64_t n;") == Names{"stdint.h"});
  CHECK(headers_nvcc_includes("#include <math_constants.h>\nfloat x = INFINITY;") ==
        Names{"math.h"});
  CHECK(headers_nvcc_includes("/* INFINITY */ const char* s = \"NULL\";").empty());
  CHECK(headers_nvcc_includes("typedef long long int64_t;\nint64_t n;").empty());
}

TEST_CASE("toolkit headers: beside a toolkit's library, never a distribution's") {
  const test::ScratchFolder folder;
  std::filesystem::create_directories(folder / "cuda/lib64");
  std::filesystem::create_directories(folder / "cuda/include/cccl");
  const auto library = folder / "cuda/lib64/libnvrtc.so.13";
  std::ofstream(library) << "x";
  CHECK(toolkit_headers(library).empty());
  std::ofstream(folder / "cuda/include/cuda_fp16.h") << "x";
  CHECK(toolkit_headers(library) == folder / "cuda/include");
  CHECK(include_options(folder / "cuda/include") ==
        std::vector<std::string>{"--include-path=" + (folder / "cuda/include").string(),
                                 "--include-path=" + (folder / "cuda/include/cccl").string()});
  CHECK(include_options({}).empty());
  CHECK(toolkit_headers("/usr/lib/libnvrtc.so").empty());
}

TEST_CASE("library headers are told from files by their names") {
  for (const char* name :
       {"stdio.h", "cstdint", "math.h", "cmath", "cuda_fp16.h", "cuda.h", "mma.h", "cub/cub.cuh",
        "cooperative_groups/reduce.h", "device_launch_parameters.h"})
    CHECK_MESSAGE(is_library_header(name), name);
  for (const HeaderText& header : host_headers())
    if (header.name.ends_with(".h") || header.name.starts_with("c"))
      CHECK_MESSAGE((is_library_header(header.name) || header.name == "complex"), header.name);
  for (const char* name : {"mine.h", "stdio", "tile.cuh", "../cuda.h", "ch", "c", "", "h.h",
                           "vector", "common.h", "cfloat.h"})
    CHECK_MESSAGE(!is_library_header(name), name);
}

}  // namespace fa_tune::test
