#include "engine/kernel/compile/compiler_headers.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/source/declarations.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::kernel {
namespace {

constexpr const char* kNothing = "#pragma once\n";

// int64_t is long long as in libcu++ under NVRTC, not long as on a 64-bit Linux: both may be there.
constexpr const char* kStdint = R"(#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
#ifndef INT8_MAX
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
#define SIZE_MAX 18446744073709551615UL
#endif
namespace std {
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
}
)";

constexpr const char* kStddef = R"(#pragma once
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) ((size_t) & reinterpret_cast<char&>(((type*)0)->member))
#endif
namespace std {
using ::size_t;
using ::ptrdiff_t;
using nullptr_t = decltype(nullptr);
}
)";

constexpr const char* kLimits = R"(#pragma once
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MIN (-9223372036854775807L - 1)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#endif
)";

constexpr const char* kFloat = R"(#pragma once
#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN 1.175494351e-38F
#define FLT_MAX 3.402823466e+38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
#endif
)";

constexpr const char* kMath = R"(#pragma once
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __int_as_float(0x7f800000)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
namespace std {
using ::abs;   using ::acos;  using ::acosh; using ::asin;      using ::asinh;    using ::atan;
using ::atan2; using ::atanh; using ::cbrt;  using ::ceil;      using ::copysign; using ::cos;
using ::cosh;  using ::erf;   using ::erfc;  using ::exp;       using ::exp2;     using ::expm1;
using ::fabs;  using ::fdim;  using ::floor; using ::fma;       using ::fmax;     using ::fmin;
using ::fmod;  using ::frexp; using ::hypot; using ::isfinite;  using ::isinf;    using ::isnan;
using ::ldexp; using ::lgamma; using ::log;  using ::log10;     using ::log1p;    using ::log2;
using ::lround; using ::modf; using ::nearbyint; using ::pow;   using ::remainder; using ::rint;
using ::round; using ::signbit; using ::sin; using ::sinh;      using ::sqrt;     using ::tan;
using ::tanh;  using ::tgamma; using ::trunc;
}
)";

// For <algorithm> and what else of C++ is not whole in libcu++.
constexpr const char* kAlgorithm = R"(#pragma once
namespace std {
template <typename T>
__host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <typename T>
__host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <typename T>
__host__ __device__ constexpr const T& clamp(const T& x, const T& low, const T& high) {
  return x < low ? low : high < x ? high : x;
}
template <typename T>
__host__ __device__ constexpr void swap(T& a, T& b) {
  T kept = a;
  a = b;
  b = kept;
}
}
)";

// cub.cuh itself also has what a host calls, which NVRTC refuses.
constexpr const char* kCub = R"(#pragma once
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
)";

std::string of_libcuxx(const std::string& name) {
  return "#pragma once\n#include <cuda/std/" + name +
         ">\nnamespace std { using namespace cuda::std; }\n";
}

}  // namespace

const std::vector<HeaderText>& host_headers() {
  static const std::vector<HeaderText> all = [] {
    std::vector<HeaderText> list = {
        {"algorithm", kAlgorithm}, {"assert.h", kNothing},  {"cassert", kNothing},
        {"cfloat", kFloat},        {"climits", kLimits},    {"cmath", kMath},
        {"cstddef", kStddef},      {"cstdint", kStdint},    {"cstdio", kNothing},
        {"cstdlib", kNothing},     {"cstring", kNothing},   {"ctime", kNothing},
        {"cub/cub.cuh", kCub},     {"float.h", kFloat},     {"limits.h", kLimits},
        {"math.h", kMath},         {"stdbool.h", kNothing}, {"stddef.h", kStddef},
        {"stdint.h", kStdint},     {"stdio.h", kNothing},   {"stdlib.h", kNothing},
        {"string.h", kNothing},    {"time.h", kNothing}};
    for (const char* const name :
         {"array", "complex", "functional", "limits", "tuple", "type_traits", "utility"})
      list.push_back({name, of_libcuxx(name)});
    return list;
  }();
  return all;
}

namespace {

struct NamesOfHeader {
  const char* header;
  const char* of_cxx;  // the same in C++: <cmath> of <math.h>
  std::vector<std::string_view> names;
};

// Whether the name that ends at `end` is defined there and not used.
bool is_defined(std::string_view text, std::string_view before, std::size_t end) {
  if (before == "define" || before == "using" || before == "ifndef") return true;
  const std::size_t next = text.find_first_not_of(" \t\n", end);
  if (next == std::string_view::npos || text[next] != ';') return false;
  const std::size_t statement = text.find_last_of(";}", end - 1);
  const std::size_t begin = statement == std::string_view::npos ? 0 : statement + 1;
  return text.substr(begin, end - begin).contains("typedef");
}

}  // namespace

std::vector<std::string> headers_nvcc_includes(const std::string& source_text) {
  static const std::vector<NamesOfHeader> all = {
      {"stdint.h",
       "cstdint",
       {"int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
        "intptr_t", "uintptr_t"}},
      {"math.h", "cmath", {"INFINITY", "NAN", "HUGE_VAL", "M_PI", "M_PI_2", "M_PI_4", "M_E"}},
      {"limits.h", "climits", {"CHAR_BIT", "INT_MAX", "INT_MIN", "UINT_MAX", "LLONG_MAX"}},
      {"stddef.h", "cstddef", {"NULL", "offsetof"}}};
  std::vector<std::string> headers;
  const std::set<std::string> included = source::declarations(source_text).includes;
  const std::string text = source::without_quotes(source_text);
  for (const auto& [header, of_cxx, names] : all) {
    if (included.contains(header) || included.contains(of_cxx)) continue;
    bool used = false, defined = false;
    std::string_view before;
    for (auto word = source::next_word(text, 0); word;
         word = source::next_word(text, word->end())) {
      if (std::ranges::find(names, word->text) != names.end()) {
        used = true;
        defined |= is_defined(text, before, word->end());
      }
      before = word->text;
    }
    if (used && !defined) headers.emplace_back(header);
  }
  return headers;
}

namespace fs = std::filesystem;

fs::path toolkit_headers(const fs::path& nvrtc) {
  const auto holds_them = [](const fs::path& folder) {
    std::error_code error;
    return fs::is_regular_file(folder / "cuda_fp16.h", error);
  };
  if (const std::string named = environment("FA_TUNE_CUDA_INCLUDE"); !named.empty()) return named;
  // A toolkit's lib64 may be a link; its include folder is one beside either.
  std::error_code error;
  for (const fs::path& file : {nvrtc, fs::canonical(nvrtc, error)}) {
    const fs::path folder = file.parent_path().parent_path() / "include";
    // A distribution's own folder holds the host's headers, which NVRTC cannot read.
    if (folder != "/usr/include" && holds_them(folder)) return folder;
  }
  return {};
}

std::string headers_digest(const fs::path& toolkit) {
  if (toolkit.empty()) return {};
  std::string texts;
  for (const char* const name : {"cuda_fp16.h", "cuda_fp16.hpp", "cuda_bf16.h", "cuda_bf16.hpp",
                                 "cuda_fp8.h", "cuda_fp8.hpp", "cooperative_groups.h", "crt/mma.h",
                                 "crt/mma.hpp", "cccl/cuda/std/__cccl/version.h"}) {
    const std::ifstream file(toolkit / name, std::ios::binary);
    std::ostringstream text;
    if (file) text << file.rdbuf();
    texts += sha256(text.str());
  }
  return sha256(texts);
}

std::vector<std::string> include_options(const fs::path& toolkit) {
  std::vector<std::string> options;
  if (toolkit.empty()) return options;
  for (const char* const folder :
       {"", "cccl", "crt", "cooperative_groups", "cooperative_groups/details"}) {
    const fs::path path = *folder == 0 ? toolkit : toolkit / folder;
    std::error_code error;
    if (fs::is_directory(path, error)) options.push_back("--include-path=" + path.string());
  }
  return options;
}

}  // namespace fa_tune::kernel
