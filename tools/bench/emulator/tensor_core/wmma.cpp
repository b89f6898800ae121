#include <span>

#include <fmt/format.h>

#include "engine/util/error.hpp"
#include "tools/bench/emulator/tensor_core/parts.hpp"

namespace fa_tune::bench {
namespace {

using emulator::Accumulator;
using emulator::Element;
using nlohmann::ordered_json;

struct Form {
  int m, n, k;
  const char* a;
  const char* b;
  const char* c;
  const char* d;
  Element element;
  Element other;
};

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const auto& [m, n] : {std::pair{16, 16}, {32, 8}, {8, 32}}) {
    for (const char* c : {"f16", "f32"}) {
      for (const char* d : {"f16", "f32"}) {
        all.push_back({m, n, 16, "f16", "f16", c, d, Element::f16, Element::f16});
      }
    }
    all.push_back({m, n, 16, "bf16", "bf16", "f32", "f32", Element::bf16, Element::bf16});
    all.push_back({m, n, 16, "s8", "s8", "s32", "s32", Element::s8, Element::s8});
    all.push_back({m, n, 16, "u8", "u8", "s32", "s32", Element::u8, Element::u8});
  }
  all.push_back({16, 16, 8, "tf32", "tf32", "f32", "f32", Element::tf32, Element::tf32});
  all.push_back({8, 8, 4, "f64", "f64", "f64", "f64", Element::f16, Element::f16});
  return all;
}

bool is(const char* type, std::string_view name) { return name == type; }

int bytes_of(const char* type) {
  if (is(type, "f64")) return 8;
  if (is(type, "f16") || is(type, "bf16")) return 2;
  return is(type, "s8") || is(type, "u8") ? 1 : 4;
}

// A fragment: the registers of one operand in the source.
struct Part {
  std::string name;
  int count;
  const char* word;
  const char* constraint;

  Part(std::string title, int elements, const char* type, bool factor)
      : name(std::move(title)),
        count(factor && is(type, "f16")
                  ? 8
                  : elements * bytes_of(type) / 32 / (is(type, "f64") ? 8 : 4)),
        word(is(type, "f32")   ? "float"
             : is(type, "f64") ? "double"
                               : "unsigned"),
        constraint(is(type, "f32")   ? "f"
                   : is(type, "f64") ? "d"
                                     : "r") {}
  std::string declaration() const { return fmt::format("  {} {}[{}];\n", word, name, count); }
  std::string operands(const char* prefix) const {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += fmt::format("{}\"{}{}\"({}[{}])", i == 0 ? "" : ", ", prefix, constraint, name, i);
    }
    return text;
  }
  std::string places(int from) const {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += fmt::format("{}%{}", i == 0 ? "" : ", ", from + i);
    return text + "}";
  }
};

std::string name_of(const Form& form) {
  const std::string types = is(form.a, "f16")
                                ? fmt::format("{}.{}", form.d, form.c)
                                : fmt::format("{}.{}.{}.{}", form.d, form.a, form.b, form.c);
  return fmt::format("wmma.mma.sync.aligned.row.col.m{}n{}k{}.{}{}", form.m, form.n, form.k, types,
                     is(form.a, "f64") ? ".rn" : "");
}

std::string source(const Form& form) {
  const Part a("a", form.m * form.k, form.a, true);
  const Part b("b", form.n * form.k, form.b, true);
  const Part c("c", form.m * form.n, form.c, false);
  const Part d("d", form.m * form.n, form.d, false);
  const std::string shape = fmt::format("m{}n{}k{}", form.m, form.n, form.k);
  std::string text =
      "extern \"C\" __global__ void k(const char* pa, const char* pb, const char* pc, char* pd) {\n"
      "  const unsigned long long warp = blockIdx.x * 4 + threadIdx.x / 32;\n";
  for (const Part* part : {&a, &b, &c, &d}) text += part->declaration();
  const auto load = [&](const Part& part, const char* layout, const char* type, int elements,
                        int stride) {
    text += fmt::format(
        "  asm volatile(\"wmma.load.{0}.sync.aligned.{1}.{2}.{3} {4}, [%{5}], {6};\" : {7} : "
        "\"l\"(p{0} + warp * {8}) : \"memory\");\n",
        part.name, layout, shape, type, part.places(0), part.count, stride, part.operands("="),
        elements * bytes_of(type));
  };
  load(a, "row", form.a, form.m * form.k, form.k);
  load(b, "col", form.b, form.n * form.k, form.k);
  load(c, "row", form.c, form.m * form.n, form.n);
  text += fmt::format("  asm volatile(\"{} {}, {}, {}, {};\" : {} : {}, {}, {});\n", name_of(form),
                      d.places(0), a.places(d.count), b.places(d.count + a.count),
                      c.places(d.count + a.count + b.count), d.operands("="), a.operands(""),
                      b.operands(""), c.operands(""));
  text += fmt::format(
      "  asm volatile(\"wmma.store.d.sync.aligned.row.{}.{} [%0], {}, {};\" :: \"l\"(pd + warp * "
      "{}), {} : \"memory\");\n}}\n",
      shape, form.d, d.places(1), form.n, form.m * form.n * bytes_of(form.d), d.operands(""));
  return text;
}

struct Buffers {
  std::vector<std::byte> a, b, c;
  std::size_t d_bytes = 0;
};

void append(std::vector<std::byte>& to, std::uint64_t bits, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

Buffers draw(const Form& form, int tiles, Random& random) {
  Format format;
  format.f64 = is(form.a, "f64");
  const Accumulator sums = is(form.c, "f16")   ? Accumulator::f16
                           : is(form.c, "s32") ? Accumulator::s32
                                               : Accumulator::f32;
  format.kind = {form.element, form.other, sums, form.k, emulator::TensorRule::hopper, false};
  Buffers result;
  result.d_bytes = static_cast<std::size_t>(tiles * form.m * form.n * bytes_of(form.d));
  for (int tile = 0; tile < tiles; ++tile) {
    const auto how = static_cast<Draw>(tile % static_cast<int>(Draw::count));
    // Rows and columns of 32 k each are more than a tile has; two draws have enough of them.
    const Operands drawn[2] = {draw_operands(format, how, random),
                               draw_operands(format, how, random)};
    for (std::size_t row = 0; row < static_cast<std::size_t>(form.m); ++row) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(form.k); ++k) {
        append(result.a, drawn[row / 16].a[row % 16][k], bytes_of(form.a));
      }
      for (std::size_t column = 0; column < static_cast<std::size_t>(form.n); ++column) {
        append(result.c, drawn[row / 16].c[row % 16][column % 8], bytes_of(form.c));
      }
    }
    for (std::size_t column = 0; column < static_cast<std::size_t>(form.n); ++column) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(form.k); ++k) {
        append(result.b, drawn[column / 8 % 2].b[column % 8][k + 16 * (column / 16)],
               bytes_of(form.b));
      }
    }
  }
  return result;
}

std::vector<std::byte> run(device::Device& device, kernel::Compiler& compiler, const Form& form,
                           int tiles, const Buffers& buffers) {
  kernel::CompileRequest request;
  request.source = {source(form), "k", ""};
  request.arch = "sm_90";
  request.kind = device.info().accepts;
  const auto compiled = compiler.compile(request);
  if (!compiled) throw MachineError(compiled.error().message);
  const auto kernel = device.load(compiled->image);
  if (!kernel) throw MachineError(kernel.error().message);
  device::Launch launch;
  launch.kernel = *kernel;
  launch.config.grid = {static_cast<std::uint32_t>(tiles / 4), 1, 1};
  launch.config.block = {128, 1, 1};
  std::vector<device::BufferHandle> handles;
  for (const auto* input : {&buffers.a, &buffers.b, &buffers.c}) {
    handles.push_back(device.allocate(input->size()));
    need(device.write(handles.back(), 0, *input));
    launch.arguments.emplace_back(handles.back());
  }
  std::vector<std::byte> result(buffers.d_bytes);
  handles.push_back(device.allocate(result.size()));
  launch.arguments.emplace_back(handles.back());
  need(device.launch(launch));
  need(device.read(handles.back(), 0, result));
  for (const device::BufferHandle handle : handles) device.release(handle);
  device.unload(*kernel);
  return result;
}

}  // namespace

ordered_json compare_wmma(device::Device& one, device::Device& other, kernel::Compiler& compiler,
                          int tiles, std::uint64_t seed) {
  ordered_json rows = ordered_json::array();
  for (const Form& form : forms()) {
    ordered_json row = {{"form", name_of(form)}};
    try {
      Random random(derive_seed(seed, name_of(form)));
      const Buffers buffers = draw(form, tiles, random);
      const auto found = run(one, compiler, form, tiles, buffers);
      const auto expected = run(other, compiler, form, tiles, buffers);
      const auto size = static_cast<std::size_t>(bytes_of(form.d));
      std::uint64_t identical = 0;
      ordered_json different = ordered_json::array();
      for (std::size_t i = 0; i < found.size(); i += size) {
        const bool same = std::equal(found.begin() + static_cast<std::ptrdiff_t>(i),
                                     found.begin() + static_cast<std::ptrdiff_t>(i + size),
                                     expected.begin() + static_cast<std::ptrdiff_t>(i));
        identical += same ? 1 : 0;
        // Its place says which tile and element.
        if (!same && different.size() < 20) different.push_back(i / size);
      }
      row.update(
          {{"results", found.size() / size}, {"identical", identical}, {"different", different}});
      fmt::print("{:<60} {:>10} {:>10}\n", name_of(form), found.size() / size, identical);
    } catch (const MachineError& error) {
      row["error"] = error.what();
      fmt::print("{:<60} {}\n", name_of(form), error.what());
    }
    std::fflush(stdout);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace fa_tune::bench
