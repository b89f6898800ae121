#include <doctest/doctest.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/compiler_log.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

// The task's set-up installs NVRTC, so a machine without one fails these tests with the list of
// places that were tried.
Compiler& nvrtc() {
  static const std::unique_ptr<Compiler> compiler = open_nvrtc();
  return *compiler;
}

CompileRequest request(const std::string& text, const std::string& kernel,
                       BinaryKind kind = BinaryKind::cubin) {
  return {{text, kernel, sha256(text)}, "sm_89", kind, {}};
}

const std::string kScale = R"(
extern "C" __global__ void scale(float* x, float s, int n) {
  __shared__ float tile[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) x[i] = tile[threadIdx.x ^ 1] * s;
}
)";

Compiled compiled(const CompileRequest& what) {
  CompileOutcome outcome = nvrtc().compile(what);
  if (!outcome) FAIL(outcome.error().message);
  return std::move(*outcome);
}

}  // namespace

TEST_CASE("NVRTC: facts of this machine") {
  const NvrtcFacts facts = describe_nvrtc();
  CHECK(facts.found);
  CHECK(facts.path.find("libnvrtc") != std::string::npos);
  CHECK(facts.version == nvrtc().version());
  CHECK(facts.version.starts_with("NVRTC 1"));
}

TEST_CASE("NVRTC: a cubin with the resources ptxas reports") {
  const Compiled cubin = compiled(request("#define BLOCK 64\n" + kScale, "scale"));
  CHECK(cubin.image.bytes.starts_with("\x7f\x45LF"));
  CHECK(cubin.image.kernel == "scale");
  CHECK(cubin.image.arch == "sm_89");
  CHECK(cubin.image.resources.registers > 0);
  CHECK(cubin.image.resources.registers < 64);
  CHECK(cubin.image.resources.spill_store_bytes == 0);
  CHECK(cubin.image.resources.spill_load_bytes == 0);
  CHECK(cubin.image.resources.stack_bytes == 0);
  CHECK(cubin.image.resources.static_shared_bytes == 256);
  CHECK(cubin.milliseconds > 0);
  CHECK_FALSE(cubin.from_cache);
  CHECK(cubin.warnings.empty());
}

TEST_CASE("NVRTC: PTX for the real architecture, with the same resources, from one compile") {
  const Compiled ptx = compiled(request("#define BLOCK 64\n" + kScale, "scale", BinaryKind::ptx));
  CHECK(ptx.image.kind == BinaryKind::ptx);
  CHECK(ptx.image.bytes.find(".target sm_89") != std::string::npos);
  CHECK(ptx.image.bytes.find(".entry scale(") != std::string::npos);
  CHECK(ptx.image.bytes.find('\0') == std::string::npos);
  CHECK(ptx.image.resources.registers > 0);
  CHECK(ptx.image.resources.static_shared_bytes == 256);
}

TEST_CASE("NVRTC: equal code has an equal hash, other code another") {
  for (const BinaryKind kind : {BinaryKind::cubin, BinaryKind::ptx}) {
    const auto hash = [kind](const std::string& defines) {
      return compiled(request(defines + kScale, "scale", kind)).code_hash;
    };
    const std::string base = hash("#define BLOCK 64\n");
    CHECK(base == hash("#define UNUSED 1\n// a comment\n#define BLOCK (32 * 2)\n"));
    CHECK(base != hash("#define BLOCK 128\n"));
  }
}

TEST_CASE("NVRTC: a table of constants is part of the code's identity") {
  const auto hash = [](const std::string& value) {
    return compiled(
               request("__constant__ float table[2] = {1, " + value +
                           "};\n"
                           "extern \"C\" __global__ void k(float* x, int i) { *x = table[i]; }",
                       "k"))
        .code_hash;
  };
  CHECK(hash("2") == hash("2.0f"));
  CHECK(hash("2") != hash("3"));
}

TEST_CASE("NVRTC: a kernel short of registers reports its spills") {
  const Compiled spilling = compiled(request(R"(
extern "C" __global__ void __launch_bounds__(1024) spill(float* x) {
  float a[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int round = 1; round < 4; ++round)
#pragma unroll
    for (int i = 0; i < 96; ++i) a[i] = a[i] * a[(i + round * 31) % 96] + 1.0f;
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = a[i];
}
)",
                                             "spill"));
  CHECK(spilling.image.resources.registers == 64);
  CHECK(spilling.image.resources.spill_store_bytes > 0);
  CHECK(spilling.image.resources.spill_load_bytes > 0);
  CHECK(spilling.image.resources.stack_bytes > 0);
}

TEST_CASE("NVRTC: what is refused comes back with its first error") {
  const auto failure = [](const CompileRequest& what) {
    const CompileOutcome outcome = nvrtc().compile(what);
    REQUIRE_FALSE(outcome.has_value());
    return outcome.error();
  };
  const CompileFailure syntax =
      failure(request("extern \"C\" __global__ void k(int* x) {\n  *x = y;\n  z();\n}", "k"));
  CHECK(syntax.message == "k.cu(2): error: identifier \"y\" is undefined");
  CHECK(syntax.log.find("\"z\" is undefined") != std::string::npos);
  CHECK(syntax.lasting);

  CHECK(failure(request("extern \"C\" __global__ void k() { asm volatile(\"foo;\"); }", "k"))
            .message.find("Not a name of any known instruction: 'foo'") != std::string::npos);
  CHECK(failure(
            request("extern \"C\" __global__ void k(int* x) { __shared__ int t[50000]; t[*x] = 1; "
                    "__syncthreads(); *x = t[*x + 1]; }",
                    "k"))
            .message == "200000 bytes of static shared memory, more than 49152 a block");
  // A name of C++ is another one in the code, which nobody says where there is no code.
  CHECK(failure(request("template <int N> __global__ void k(int* x) { __shared__ int t[N]; "
                        "t[*x] = 1; __syncthreads(); *x = t[*x + 1]; }",
                        "k<50000>"))
            .message == "200000 bytes of static shared memory, more than 49152 a block");
  CHECK(
      failure(request("extern \"C\" __global__ void j() {}", "k")).message.find("no kernel 'k'") ==
      0);
  CHECK_FALSE(failure(request("__global__ void j() {}", "k")).message.empty());
  // Not even a file of the working folder is seen.
  CHECK(
      failure(request("#include \"CMakeLists.txt\"\n", "k")).message.find("not open source file") !=
      std::string::npos);

  CompileRequest option = request("extern \"C\" __global__ void k() {}", "k");
  option.options = {"--no-such-option"};
  CHECK(failure(option).message.find("no-such-option") != std::string::npos);
  option.options = {};
  option.arch = "sm_12";
  CHECK_FALSE(failure(option).message.empty());
}

TEST_CASE("NVRTC: a kernel of C++ is found by its name, and an instance of a template is made") {
  const auto entry = [](const std::string& text, const std::string& kernel) {
    const CompileOutcome outcome = nvrtc().compile(request(text, kernel));
    REQUIRE_MESSAGE(outcome.has_value(), outcome.error().message);
    CHECK(outcome->image.resources.registers > 0);
    return outcome->image.kernel;
  };
  CHECK(entry("__global__ void k(int* x) { *x = 1; }", "k") == "_Z1kPi");
  CHECK(entry("extern \"C\" __global__ void k(int* x) { *x = 1; }", "k") == "k");
  const std::string text =
      "namespace a { template <int n, typename T> __global__ void k(T* x) { *x = n; } }";
  const std::string instance = entry(text, "a::k<4, float>");
  CHECK(instance.find("Li4Ef") != std::string::npos);
  CHECK(instance != entry(text, "a::k<5, float>"));
  // Some of a source's functions may be extern "C" and the kernel not.
  const std::string mixed = "extern \"C\" __global__ void j(int* x) { *x = 1; }\n";
  CHECK(entry(mixed + "__global__ void k(int* x) { *x = 2; }", "k") == "_Z1kPi");
  CompileRequest both = request(mixed + "__global__ void k(int* x) { *x = 2; }", "j");
  both.source.more = {"k"};
  const Compiled found = compiled(both);
  CHECK(found.image.kernel == "j");
  CHECK(found.image.more.at(0).kernel == "_Z1kPi");
}

TEST_CASE("NVRTC: what nvcc brings along without an #include is there") {
  const std::string body =
      "template <int N> __global__ void k(int64_t* at, float* x) {\n"
      "  if (*x == INFINITY) *at = INT_MAX; else x[*at] = M_PI * N; }\n";
  const Compiled without = compiled(request(body, "k<2>"));
  CHECK(without.image.kernel.starts_with("_Z1kILi2E"));
  const Compiled with = compiled(
      request("#include <limits.h>\n#include <math.h>\n#include <stdint.h>\n" + body, "k<2>"));
  CHECK(without.code_hash == with.code_hash);
  // A type of the source's own stays what it is.
  CHECK(nvrtc().compile(
      request("typedef long int64_t;\n__global__ void k(int64_t* x) { *x = 1; }", "k")));
  const auto other =
      nvrtc().compile(request("__global__ void k(int64_t* x) { *x = nothing; }", "k"));
  REQUIRE(!other);
  CHECK(other.error().message.find("identifier \"nothing\" is undefined") != std::string::npos);
}

TEST_CASE("NVRTC: several kernels of one source, each with what it takes") {
  CompileRequest both = request(
      "template <int n> __global__ void first(int* x) { __shared__ int y[n]; y[threadIdx.x] = *x;"
      " __syncthreads(); *x = y[0]; }\n__global__ void last(int* x) { *x = 1; }",
      "first<64>");
  const auto refused = [&](const std::string& more) {
    both.source.more = {more};
    const CompileOutcome outcome = nvrtc().compile(both);
    return outcome ? "accepted" : outcome.error().message;
  };
  CHECK(refused("missing").find("missing") != std::string::npos);
  both.source.more = {"last", "first<128>"};
  for (const BinaryKind kind : {BinaryKind::ptx, BinaryKind::cubin}) {
    both.kind = kind;
    const CompileOutcome outcome = nvrtc().compile(both);
    REQUIRE_MESSAGE(outcome.has_value(), outcome.error().message);
    const KernelImage& image = outcome->image;
    REQUIRE(image.entries() == 3);
    CHECK(image.entry(0).resources.static_shared_bytes == 256);
    CHECK(image.entry(1).kernel == "_Z4lastPi");
    CHECK(image.entry(1).resources.static_shared_bytes == 0);
    CHECK(image.entry(1).resources.registers > 0);
    CHECK(image.entry(2).resources.static_shared_bytes == 512);
    CHECK(most_of(image).static_shared_bytes == 512);
    CompileRequest other = both;
    other.source.more = {"last", "first<32>"};
    CHECK(nvrtc().compile(other)->code_hash != outcome->code_hash);
  }
}

TEST_CASE("NVRTC: a flood of messages is kept short") {
  std::string text = "extern \"C\" __global__ void k() {}\n";
  for (int i = 0; i < 2'000; ++i) text += "#warning flood " + std::to_string(i) + "\n";
  text += "#error last\n";
  const CompileOutcome outcome = nvrtc().compile(request(text, "k"));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().log.size() <= kLogLimit);
  CHECK(outcome.error().message.find("last") != std::string::npos);
}

TEST_CASE("NVRTC: extra options reach the compiler, several threads may compile at once") {
  CompilePool pool(nvrtc(), 2);
  CompileRequest defined = request(kScale, "scale");
  std::vector<std::future<CompileOutcome>> futures;
  for (int block : {32, 64, 96, 128}) {
    defined.options = {"-DBLOCK=" + std::to_string(block)};
    futures.push_back(pool.submit(defined));
  }
  int block = 32;
  for (auto& future : futures) {
    const CompileOutcome outcome = future.get();
    REQUIRE(outcome.has_value());
    CHECK(outcome->image.resources.static_shared_bytes == block * 4);
    block += 32;
  }
}

}  // namespace fa_tune::test
