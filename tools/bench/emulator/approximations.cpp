// How far are the emulator's approximations (ex2.approx and the like) from a GPU's?
//
//   bench_approximations DEVICE OTHER OUT.json [STRIDE [TABLES [NAME...]]]
//   bench_approximations cuda:0 emulator:h100 approximations.json 1 tables ex2.approx.ftz.f32
//
// Runs every function (or those named) on every input: all 2^32 of f32 and of the upper words of
// f64, all 2^16 of f16 and bf16; with a STRIDE other than 1 on every so manyth of the large ones
// (take an odd one: all binades are then met). The same PTX goes to both devices. With TABLES, a
// folder, the first device's answers for a few binades are written there too, a signed byte a
// mantissa: how many units in the last place they lie from the correctly rounded value (127:
// further than that).

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"

namespace fa_tune::bench {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kChunk = std::uint64_t{1} << 24;  // inputs a launch
constexpr std::uint32_t kThreads = 256;

enum class Width { f32, f64_upper, sixteen };

using Exact = long double (*)(long double);

struct Function {
  std::string name;  // the opcode, which is also the way to ask for it
  Width width = Width::f32;
  Exact exact = nullptr;
  std::vector<std::uint32_t> binades;  // first inputs of 2^23 each to be written as tables
};

std::vector<Function> functions() {
  const Exact ex2 = [](long double x) { return std::exp2(x); };
  const Exact lg2 = [](long double x) { return std::log2(x); };
  const Exact rcp = [](long double x) { return 1 / x; };
  const Exact rsqrt = [](long double x) { return 1 / std::sqrt(x); };
  const Exact root = [](long double x) { return std::sqrt(x); };
  const Exact sine = [](long double x) { return std::sin(x); };
  const Exact cosine = [](long double x) { return std::cos(x); };
  const Exact tanh = [](long double x) { return std::tanh(x); };
  return {
      {"ex2.approx.ftz.f32",
       Width::f32,
       ex2,
       {0x3f800000, 0x3f000000, 0x3e800000, 0x3c000000, 0x41000000, 0xbf800000, 0xbf000000}},
      {"ex2.approx.f32", Width::f32, ex2, {}},
      {"lg2.approx.ftz.f32", Width::f32, lg2, {0x3f800000, 0x3f000000, 0x40000000}},
      {"lg2.approx.f32", Width::f32, lg2, {}},
      {"rcp.approx.ftz.f32", Width::f32, rcp, {0x3f800000}},
      {"rcp.approx.f32", Width::f32, rcp, {}},
      {"rsqrt.approx.ftz.f32", Width::f32, rsqrt, {0x3f800000, 0x40000000}},
      {"rsqrt.approx.f32", Width::f32, rsqrt, {}},
      {"sqrt.approx.ftz.f32", Width::f32, root, {0x3f800000, 0x40000000}},
      {"sqrt.approx.f32", Width::f32, root, {}},
      {"sin.approx.ftz.f32", Width::f32, sine, {0x3f000000, 0x3f800000, 0x40000000}},
      {"sin.approx.f32", Width::f32, sine, {}},
      {"cos.approx.ftz.f32", Width::f32, cosine, {0x3f000000, 0x3f800000}},
      {"cos.approx.f32", Width::f32, cosine, {}},
      {"tanh.approx.f32",
       Width::f32,
       tanh,
       {0x3d000000, 0x3d800000, 0x3e000000, 0x3e800000, 0x3f000000, 0x3f800000, 0x40000000,
        0x40800000}},
      {"rcp.approx.ftz.f64", Width::f64_upper, rcp, {0x3ff00000}},
      {"rsqrt.approx.ftz.f64", Width::f64_upper, rsqrt, {0x3ff00000}},
      {"ex2.approx.f16", Width::sixteen, ex2, {0}},
      {"ex2.approx.ftz.bf16", Width::sixteen, ex2, {0}},
      {"tanh.approx.f16", Width::sixteen, tanh, {0}},
      {"tanh.approx.bf16", Width::sixteen, tanh, {0}},
  };
}

// Thread i: out[i] = function(first + stride i). Of f64 the upper word, whose lower word is zero.
std::string ptx_of(const Function& function) {
  std::string apply;
  switch (function.width) {
    case Width::f32:
      apply = function.name + " %r6, %r5;";
      break;
    case Width::f64_upper:
      apply = "mov.b32 %r7, 0; mov.b64 %l3, {%r7, %r5}; " + function.name +
              " %l4, %l3; mov.b64 {%r7, %r6}, %l4;";
      break;
    case Width::sixteen:
      apply = "cvt.u16.u32 %h1, %r5; " + function.name + " %h2, %h1; cvt.u32.u16 %r6, %h2;";
      break;
  }
  return ".version 7.8\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 out, .param .u32 first, .param .u32 stride)\n{\n"
         ".reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %l<5>;\n"
         "ld.param.u64 %l1, [out]; ld.param.u32 %r1, [first]; ld.param.u32 %r8, [stride];\n"
         "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x;\n"
         "mad.lo.u32 %r4, %r2, %r4, %r3; mad.lo.u32 %r5, %r4, %r8, %r1;\n" +
         apply +
         "\ncvta.to.global.u64 %l1, %l1; mad.wide.u32 %l2, %r4, 4, %l1; st.global.u32 [%l2], %r6;\n"
         "ret;\n}\n";
}

// One function on one device.
class Runner {
 public:
  Runner(device::Device& device, const Function& function, std::uint64_t count)
      : device_(device), count_(count) {
    KernelImage image;
    image.kind = BinaryKind::ptx;
    image.arch = "sm_90";
    image.kernel = "k";
    image.bytes = ptx_of(function);
    auto kernel = device.load(image);
    if (!kernel) throw UserError(function.name + ": " + kernel.error().message);
    kernel_ = *kernel;
    buffer_ = device.allocate(count * sizeof(std::uint32_t));
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() {
    device_.release(buffer_);
    device_.unload(kernel_);
  }

  void run(std::uint32_t first, std::uint32_t stride, Words& out) {
    out.resize(count_);
    const auto raw = [](std::uint32_t value) {
      std::vector<std::byte> bytes(sizeof(value));
      std::memcpy(bytes.data(), &value, sizeof(value));
      return bytes;
    };
    device::Launch launch;
    launch.kernel = kernel_;
    launch.config.grid = {static_cast<std::uint32_t>(count_ / kThreads), 1, 1};
    launch.config.block = {kThreads, 1, 1};
    launch.arguments = {buffer_, raw(first), raw(stride)};
    if (const auto done = device_.launch(launch); !done) throw MachineError(done.error().message);
    if (!device_.read(buffer_, 0, std::as_writable_bytes(std::span(out)))) {
      throw MachineError("the results cannot be read");
    }
  }

 private:
  device::Device& device_;
  std::uint64_t count_;
  device::KernelHandle kernel_{};
  device::BufferHandle buffer_{};
};

// Numbers of a format in their order, so that neighbours differ by one.
std::int64_t ordered(std::uint32_t bits, int width) {
  const std::uint32_t sign = 1U << (width - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

bool is_nan(std::uint32_t bits, const Function& function) {
  switch (function.width) {
    case Width::f32:
      return (bits & 0x7fffffffU) > 0x7f800000U;
    case Width::f64_upper:
      return (bits & 0x7fffffffU) >= 0x7ff00001U;
    default:
      return (bits & 0x7fffU) > (function.name.ends_with("bf16") ? 0x7f80U : 0x7c00U);
  }
}

struct Result {
  std::uint64_t inputs = 0;
  std::uint64_t identical = 0;
  std::uint64_t nan_differs = 0;  // one says NaN and the other not, or another NaN
  std::uint64_t largest = 0;      // units in the last place
  std::uint32_t worst_input = 0;
  std::array<std::uint64_t, 5> within{};  // 0 to 3 units, more
};

void compare(const Function& function, std::uint32_t first, std::uint32_t stride, const Words& a,
             const Words& b, Result& into) {
  const int width = function.width == Width::sixteen ? 16 : 32;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint32_t input = first + stride * static_cast<std::uint32_t>(i);
    ++into.inputs;
    if (a[i] == b[i]) {
      ++into.identical;
      ++into.within[0];
      continue;
    }
    if (is_nan(a[i], function) || is_nan(b[i], function)) {
      if (into.nan_differs++ == 0) {
        fmt::print("  {}: input 0x{:08x}: 0x{:08x} and 0x{:08x}\n", function.name, input, a[i],
                   b[i]);
      }
      continue;
    }
    const auto distance =
        static_cast<std::uint64_t>(std::abs(ordered(a[i], width) - ordered(b[i], width)));
    ++into.within[std::min<std::uint64_t>(distance, into.within.size() - 1)];
    if (distance > into.largest) {
      into.largest = distance;
      into.worst_input = input;
    }
  }
}

void write_table(const Function& function, std::uint32_t first, Runner& runner,
                 const std::filesystem::path& folder) {
  Words words;
  const bool wide = function.width == Width::f64_upper;
  const std::size_t count = std::size_t{1} << (wide ? 20 : 23);
  runner.run(first, 1, words);
  std::string bytes;
  if (function.width == Width::sixteen) {
    for (const std::uint32_t word : words) {
      bytes += static_cast<char>(word);
      bytes += static_cast<char>(word >> 8);
    }
    write_file(folder / (function.name + ".bin"), bytes);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto input = first + static_cast<std::uint32_t>(i);
    std::uint32_t right = 0;
    if (wide) {
      const auto x = std::bit_cast<double>(std::uint64_t{input} << 32);
      const auto y = static_cast<double>(function.exact(x));
      right = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(y) >> 32);
    } else {
      right = std::bit_cast<std::uint32_t>(
          static_cast<float>(function.exact(std::bit_cast<float>(input))));
    }
    const std::int64_t off = ordered(words[i], 32) - ordered(right, 32);
    bytes += static_cast<char>(std::abs(off) < 127 ? off : 127);
  }
  write_file(folder / fmt::format("{}.{:08x}.bin", function.name, first), bytes);
}

int compare_devices(const std::string& one, const std::string& other, const std::string& out,
                    std::uint32_t stride, const std::string& tables,
                    const std::vector<std::string>& names) {
  const auto a = device::open_device(one, {}, find_root());
  const auto b = device::open_device(other, {}, find_root());
  if (!tables.empty()) std::filesystem::create_directories(tables);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Function& function : functions()) {
    if (!names.empty() && std::find(names.begin(), names.end(), function.name) == names.end()) {
      continue;
    }
    const std::uint64_t total = std::uint64_t{1} << (function.width == Width::sixteen ? 16 : 32);
    const std::uint64_t step = std::min(total, kChunk);
    const std::uint32_t every = total == step ? 1 : stride;
    Result result;
    try {
      Runner first(*a, function, step);
      if (!tables.empty()) {
        for (const std::uint32_t binade : function.binades) {
          write_table(function, binade, first, tables);
        }
      }
      Runner second(*b, function, step);
      Words left;
      Words right;
      for (std::uint64_t at = 0; at < total; at += step * every) {
        const auto begin = static_cast<std::uint32_t>(at);
        first.run(begin, every, left);
        second.run(begin, every, right);
        compare(function, begin, every, left, right, result);
      }
    } catch (const UserError& error) {
      fmt::print("{}\n", error.what());
      continue;
    }
    fmt::print(
        "{:<22} {:.6f}% identical, largest difference {} ulp (input 0x{:08x}), NaN otherwise {}\n",
        function.name,
        100.0 * static_cast<double>(result.identical) / static_cast<double>(result.inputs),
        result.largest, result.worst_input, result.nan_differs);
    std::fflush(stdout);
    rows.push_back({{"instruction", function.name},
                    {"inputs", result.inputs},
                    {"identical", result.identical},
                    {"by_ulp_0_1_2_3_more", result.within},
                    {"largest_ulp", result.largest},
                    {"worst_input", fmt::format("0x{:08x}", result.worst_input)},
                    {"nan_differs", result.nan_differs}});
    const nlohmann::ordered_json page = {{"devices", {a->info().name, b->info().name}},
                                         {"driver", a->info().driver},
                                         {"rows", rows}};
    write_file(out, page.dump(1) + "\n");
  }
  return 0;
}

}  // namespace
}  // namespace fa_tune::bench

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: bench_approximations DEVICE OTHER OUT.json [STRIDE [TABLES [NAME...]]]\n");
    return 2;
  }
  try {
    return fa_tune::bench::compare_devices(
        argv[1], argv[2], argv[3], argc > 4 ? static_cast<std::uint32_t>(std::stoul(argv[4])) : 1,
        argc > 5 ? argv[5] : "", {argv + std::min(argc, 6), argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_approximations: {}\n", error.what());
    return 3;
  }
}
