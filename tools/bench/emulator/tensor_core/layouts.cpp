#include <span>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "tools/bench/emulator/tensor_core/parts.hpp"

namespace fa_tune::bench {
namespace {

using nlohmann::ordered_json;

struct Load {
  const char* operand;  // a, b, c
  const char* shape;
  const char* type;
  int bits;      // of an element
  int elements;  // of the matrix
  int registers;
  int row_stride;  // elements between rows where rows are contiguous
  int column_stride;
};

// PTX ISA, "wmma.load": registers of each fragment.
constexpr Load kLoads[] = {
    {"a", "m16n16k16", "f16", 16, 256, 8, 16, 16},  {"b", "m16n16k16", "f16", 16, 256, 8, 16, 16},
    {"c", "m16n16k16", "f16", 16, 256, 4, 16, 16},  {"c", "m16n16k16", "f32", 32, 256, 8, 16, 16},
    {"a", "m32n8k16", "f16", 16, 512, 8, 16, 32},   {"b", "m32n8k16", "f16", 16, 128, 8, 8, 16},
    {"c", "m32n8k16", "f16", 16, 256, 4, 8, 32},    {"c", "m32n8k16", "f32", 32, 256, 8, 8, 32},
    {"a", "m8n32k16", "f16", 16, 128, 8, 16, 8},    {"b", "m8n32k16", "f16", 16, 512, 8, 32, 16},
    {"c", "m8n32k16", "f16", 16, 256, 4, 32, 8},    {"c", "m8n32k16", "f32", 32, 256, 8, 32, 8},
    {"a", "m16n16k16", "bf16", 16, 256, 4, 16, 16}, {"b", "m16n16k16", "bf16", 16, 256, 4, 16, 16},
    {"a", "m32n8k16", "bf16", 16, 512, 8, 16, 32},  {"b", "m32n8k16", "bf16", 16, 128, 2, 8, 16},
    {"a", "m8n32k16", "bf16", 16, 128, 2, 16, 8},   {"b", "m8n32k16", "bf16", 16, 512, 8, 32, 16},
    {"a", "m16n16k8", "tf32", 32, 128, 4, 8, 16},   {"b", "m16n16k8", "tf32", 32, 128, 4, 16, 8},
    {"c", "m16n16k8", "f32", 32, 256, 8, 16, 16},   {"a", "m16n16k16", "s8", 8, 256, 2, 16, 16},
    {"b", "m16n16k16", "u8", 8, 256, 2, 16, 16},    {"a", "m32n8k16", "u8", 8, 512, 4, 16, 32},
    {"b", "m32n8k16", "s8", 8, 128, 1, 8, 16},      {"a", "m8n32k16", "s8", 8, 128, 1, 16, 8},
    {"b", "m8n32k16", "u8", 8, 512, 4, 32, 16},     {"c", "m16n16k16", "s32", 32, 256, 8, 16, 16},
    {"c", "m32n8k16", "s32", 32, 256, 8, 8, 32},    {"c", "m8n32k16", "s32", 32, 256, 8, 32, 8},
    {"a", "m8n8k4", "f64", 64, 32, 1, 4, 8},        {"b", "m8n8k4", "f64", 64, 32, 1, 8, 4},
    {"c", "m8n8k4", "f64", 64, 64, 2, 8, 8},
};

std::string instruction(const Load& load, const char* layout) {
  return fmt::format("wmma.load.{}.sync.aligned.{}.{}.{}", load.operand, layout, load.shape,
                     load.type);
}

std::string source(const Load& load, const char* layout, int stride) {
  const std::string type = load.type;
  const char* constraint = type == "f32" ? "f" : type == "f64" ? "d" : "r";
  const char* word = type == "f32" ? "float" : type == "f64" ? "double" : "unsigned";
  std::string text =
      fmt::format("extern \"C\" __global__ void k(const void* in, {0}* out) {{\n  {0} r[{1}];\n",
                  word, load.registers);
  std::string outputs;
  std::string places;
  for (int i = 0; i < load.registers; ++i) {
    places += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    outputs += fmt::format("{}\"={}\"(r[{}])", i == 0 ? "" : ", ", constraint, i);
  }
  text += fmt::format(
      "  asm volatile(\"{} {{{}}}, [%{}], {};\" : {} : \"l\"(in) : \"memory\");\n"
      "  for (int i = 0; i < {}; ++i) out[i * 32 + threadIdx.x] = r[i];\n}}\n",
      instruction(load, layout), places, load.registers, stride, outputs, load.registers);
  return text;
}

// The registers after a load of a matrix whose element p has the bits (p >> shift).
std::vector<std::uint64_t> registers_after(device::Device& device, device::KernelHandle kernel,
                                           const Load& load, int shift) {
  const auto element_bytes = static_cast<std::size_t>(load.bits) / 8;
  std::vector<std::byte> matrix(static_cast<std::size_t>(load.elements) * element_bytes);
  for (std::size_t p = 0; p < static_cast<std::size_t>(load.elements); ++p) {
    for (std::size_t i = 0; i < std::min<std::size_t>(element_bytes, 4); ++i) {
      matrix[p * element_bytes + i] = static_cast<std::byte>(p >> shift >> (8 * i));
    }
  }
  const std::size_t register_bytes = load.bits == 64 ? 8 : 4;
  std::vector<std::byte> bytes(static_cast<std::size_t>(load.registers) * 32 * register_bytes);
  const device::BufferHandle in = device.allocate(matrix.size());
  const device::BufferHandle out = device.allocate(bytes.size());
  need(device.write(in, 0, matrix));
  device::Launch launch;
  launch.kernel = kernel;
  launch.config.block = {32, 1, 1};
  launch.arguments = {in, out};
  need(device.launch(launch));
  need(device.read(out, 0, bytes));
  device.release(in);
  device.release(out);
  std::vector<std::uint64_t> words(bytes.size() / register_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    words[i / register_bytes] |= static_cast<std::uint64_t>(bytes[i]) << (8 * (i % register_bytes));
  }
  return words;
}

ordered_json layout_of(device::Device& device, kernel::Compiler& compiler, const Load& load,
                       const char* layout, int stride) {
  kernel::CompileRequest request;
  request.source = {source(load, layout, stride), "k", ""};
  request.arch = "sm_90";
  request.kind = device.info().accepts;
  const auto compiled = compiler.compile(request);
  if (!compiled) throw MachineError(compiled.error().message);
  const auto kernel = device.load(compiled->image);
  if (!kernel) throw MachineError(kernel.error().message);
  const auto low = registers_after(device, *kernel, load, 0);
  const auto high =
      load.bits == 8 ? registers_after(device, *kernel, load, 8) : std::vector<std::uint64_t>();
  device.unload(*kernel);
  ordered_json rows = ordered_json::array();
  for (std::size_t r = 0; r < static_cast<std::size_t>(load.registers); ++r) {
    ordered_json row = ordered_json::array();
    for (std::size_t i = r * 32; i < (r + 1) * 32; ++i) {
      for (int from = 0; from < std::max(load.bits, 32); from += load.bits) {
        const std::uint64_t mask = load.bits == 64 ? ~0ULL : (1ULL << load.bits) - 1;
        std::uint64_t place = low[i] >> from & mask;
        if (!high.empty()) place |= (high[i] >> from & mask) << 8;
        row.push_back(place);
      }
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

ordered_json wmma_layouts(device::Device& device, kernel::Compiler& compiler) {
  ordered_json result = ordered_json::array();
  for (const Load& load : kLoads) {
    for (const bool row : {true, false}) {
      const char* layout = row ? "row" : "col";
      ordered_json each = {{"load", instruction(load, layout)}};
      try {
        each["registers"] =
            layout_of(device, compiler, load, layout, row ? load.row_stride : load.column_stride);
      } catch (const MachineError& error) {
        each["error"] = error.what();
      }
      result.push_back(each);
    }
  }
  return result;
}

}  // namespace fa_tune::bench
