#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/math/fragments.hpp"

// wmma: whole tiles in every shape, type and layout against products of whole numbers, where the
// fragments keep their elements, and the order in which sums are made.

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::emulator;

namespace {

struct Form {
  int m, n, k;
  const char* a_type;
  const char* b_type;
  const char* c_type;
  const char* d_type;
};

// "s8" is signed: whole numbers from -4 to 4, u8 from 0.
void store_number(std::vector<std::byte>& to, std::size_t index, const std::string& type,
                  int value) {
  const auto put_bytes = [&](const auto& bits) {
    std::memcpy(to.data() + index * sizeof(bits), &bits, sizeof(bits));
  };
  if (type == "f16") put_bytes(to_f16(value));
  if (type == "bf16") put_bytes(to_bf16(value));
  if (type == "tf32" || type == "f32") put_bytes(static_cast<float>(value));
  if (type == "f64") put_bytes(static_cast<double>(value));
  if (type == "s32") put_bytes(value);
  if (type == "s8" || type == "u8") put_bytes(static_cast<std::uint8_t>(value));
}

int load_number(const std::vector<std::byte>& from, std::size_t index, const std::string& type) {
  const auto get = [&](auto bits) {
    std::memcpy(&bits, from.data() + index * sizeof(bits), sizeof(bits));
    return bits;
  };
  if (type == "f16") return static_cast<int>(from_f16(get(std::uint16_t{})));
  if (type == "f32") return static_cast<int>(get(float{}));
  if (type == "f64") return static_cast<int>(get(double{}));
  return get(int{});
}

std::size_t bytes_of(const std::string& type) {
  if (type == "f64") return 8;
  if (type == "s8" || type == "u8") return 1;
  return type == "f16" || type == "bf16" ? 2 : 4;
}

// A matrix of small whole numbers, and how it lies in memory.
struct Matrix {
  int rows, columns;
  std::string type;
  bool by_rows;
  int stride;
  std::vector<int> values = {};

  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(by_rows ? row * stride + column : column * stride + row);
  }
  void draw(Random& random) {
    values.resize(static_cast<std::size_t>(rows * columns));
    for (int& value : values) {
      value = static_cast<int>(random.below(9)) - 4;
      if (type == "u8") value = std::abs(value);
    }
  }
  int at(int row, int column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  std::size_t bytes() const {
    return static_cast<std::size_t>(stride * (by_rows ? rows : columns)) * bytes_of(type);
  }
  std::vector<std::byte> memory() const {
    std::vector<std::byte> result(bytes(), std::byte{0xff});
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        store_number(result, place(row, column), type, at(row, column));
      }
    }
    return result;
  }
};

struct Tile {
  Matrix a, b, c, d;

  Tile(const Form& form, bool a_rows, bool b_rows, bool c_rows, int spare)
      : a{form.m, form.k, form.a_type, a_rows, (a_rows ? form.k : form.m) + spare},
        b{form.k, form.n, form.b_type, b_rows, (b_rows ? form.n : form.k) + spare},
        c{form.m, form.n, form.c_type, c_rows, (c_rows ? form.n : form.m) + spare},
        d{form.m, form.n, form.d_type, c_rows, (c_rows ? form.n : form.m) + spare} {
    Random random(9);
    a.draw(random);
    b.draw(random);
    c.draw(random);
  }

  int expected(int row, int column) const {
    int sum = c.at(row, column);
    for (int k = 0; k < a.columns; ++k) sum += a.at(row, k) * b.at(k, column);
    return sum;
  }
};

int registers(const Form& form, char operand) {
  const std::string type = operand == 'a'   ? form.a_type
                           : operand == 'b' ? form.b_type
                           : operand == 'c' ? form.c_type
                                            : form.d_type;
  if (operand == 'a' || operand == 'b') {
    if (type == "f16") return 8;
    const int lines = operand == 'a' ? form.m : form.n;
    return lines * form.k * static_cast<int>(bytes_of(type)) / (type == "f64" ? 256 : 128);
  }
  return form.m * form.n / 32 / (type == "f16" ? 2 : 1);
}

std::string list(char name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

std::string declare(char name, const std::string& type) {
  const char* kind = type == "f32" ? "f32" : type == "f64" ? "f64" : "b32";
  return fmt::format(".reg .{} %{}<8>;\n", kind, name);
}

// `into`: the name of the registers that take D.
std::string tile_kernel(const Form& form, const Tile& tile, const std::string& space, char into,
                        const std::string& suffix) {
  const std::string shape = fmt::format("m{}n{}k{}", form.m, form.n, form.k);
  const auto layout = [](const Matrix& matrix) { return matrix.by_rows ? "row" : "col"; };
  std::string body = ".reg .b64 %rd<8>; .reg .b32 %s<2>;\n" + declare('a', form.a_type) +
                     declare('b', form.b_type) + declare('c', form.c_type) +
                     declare('d', form.d_type);
  body +=
      "ld.param.u64 %rd0, [pa]; ld.param.u64 %rd1, [pb]; ld.param.u64 %rd2, [pc];\n"
      "ld.param.u64 %rd3, [pd];\n";
  if (space == ".global") {
    body +=
        "cvta.to.global.u64 %rd0, %rd0; cvta.to.global.u64 %rd1, %rd1;\n"
        "cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;\n";
  }
  const auto load = [&](char operand, const Matrix& matrix, int pointer) {
    body +=
        fmt::format("mov.u32 %s0, {};\nwmma.load.{}.sync.aligned.{}.{}{}.{} {}, [%rd{}], %s0;\n",
                    matrix.stride, operand, layout(matrix), shape, space, matrix.type,
                    list(operand, registers(form, operand)), pointer);
  };
  load('a', tile.a, 0);
  load('b', tile.b, 1);
  load('c', tile.c, 2);
  const std::string types =
      std::string(form.a_type) == "f16"
          ? fmt::format("{}.{}", form.d_type, form.c_type)
          : fmt::format("{}.{}.{}.{}", form.d_type, form.a_type, form.b_type, form.c_type);
  body += fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{}{} {}, {}, {}, {};\n", layout(tile.a),
                      layout(tile.b), shape, types, suffix, list(into, registers(form, 'd')),
                      list('a', registers(form, 'a')), list('b', registers(form, 'b')),
                      list('c', registers(form, 'c')));
  body += fmt::format("wmma.store.d.sync.aligned.{}.{}{}.{} [%rd3], {}, {};\n", layout(tile.d),
                      shape, space, form.d_type, list(into, registers(form, 'd')), tile.d.stride);
  return kernel(".param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd", body);
}

// What the kernel leaves of D where it is not what the product says; empty if all is right.
std::string wrong(const std::string& ptx, const Tile& tile, const std::string& arch,
                  const std::string& name = "k", std::optional<int> stride = {}) {
  const auto device = open_emulator(small_profile(arch), 1);
  const auto loaded = device->load(image(ptx, name));
  if (!loaded) return loaded.error().message;
  Launch launch;
  launch.kernel = *loaded;
  launch.config.block = {32, 1, 1};
  for (const Matrix* matrix : {&tile.a, &tile.b, &tile.c, &tile.d}) {
    const BufferHandle buffer = device->allocate(matrix->bytes());
    if (matrix != &tile.d) (void)device->write(buffer, 0, matrix->memory());
    launch.arguments.emplace_back(buffer);
  }
  const auto d = std::get<BufferHandle>(launch.arguments.back());
  if (stride) launch.arguments.push_back(raw(*stride));
  if (const auto outcome = device->launch(launch); !outcome) return outcome.error().message;
  std::vector<std::byte> memory(tile.d.bytes());
  (void)device->read(d, 0, memory);
  for (int row = 0; row < tile.d.rows; ++row) {
    for (int column = 0; column < tile.d.columns; ++column) {
      const int found = load_number(memory, tile.d.place(row, column), tile.d.type);
      if (found != tile.expected(row, column)) {
        return fmt::format("row {}, column {}: {} instead of {}", row, column, found,
                           tile.expected(row, column));
      }
    }
  }
  return "";
}

std::vector<Form> forms() {
  std::vector<Form> all;
  for (const auto& [m, n] : {std::pair{16, 16}, {32, 8}, {8, 32}}) {
    for (const char* c : {"f16", "f32"}) {
      for (const char* d : {"f16", "f32"}) all.push_back({m, n, 16, "f16", "f16", c, d});
    }
    all.push_back({m, n, 16, "bf16", "bf16", "f32", "f32"});
    all.push_back({m, n, 16, "s8", "s8", "s32", "s32"});
    all.push_back({m, n, 16, "u8", "u8", "s32", "s32"});
  }
  all.push_back({16, 16, 8, "tf32", "tf32", "f32", "f32"});
  all.push_back({8, 8, 4, "f64", "f64", "f64", "f64"});
  return all;
}

}  // namespace

TEST_CASE("wmma multiplies tiles of every shape and type in every layout") {
  for (const Form& form : forms()) {
    for (int layouts = 0; layouts < 8; ++layouts) {
      for (const std::string space : {"", ".global"}) {
        for (const int spare : {0, 16}) {
          const Tile tile(form, (layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0, spare);
          const bool integers = std::string(form.c_type) == "s32";
          const std::string suffix = std::string(form.a_type) == "f64" ? ".rn"
                                     : integers && spare != 0          ? ".satfinite"
                                                                       : "";
          CAPTURE(form.m);
          CAPTURE(std::string(form.a_type));
          CAPTURE(std::string(form.c_type));
          CAPTURE(std::string(form.d_type));
          CAPTURE(layouts);
          CHECK(wrong(tile_kernel(form, tile, space, 'd', suffix), tile, "sm_89") == "");
        }
      }
    }
  }
}

TEST_CASE("wmma's result may lie in the registers of a factor or of c") {
  const Form half{16, 16, 16, "f16", "f16", "f16", "f16"};
  const Form tall{32, 8, 16, "f16", "f16", "f16", "f16"};
  const Form integer{8, 32, 16, "u8", "u8", "s32", "s32"};
  for (const Form& form : {half, tall, integer}) {
    const Tile tile(form, true, false, true, 0);
    for (const char into : {'a', 'b', 'c'}) {
      if (registers(form, into) < registers(form, 'd')) continue;
      CAPTURE(into);
      CHECK(wrong(tile_kernel(form, tile, "", into, ""), tile, "sm_90") == "");
    }
    // c's registers, turned by one part of the instruction.
    std::string text = tile_kernel(form, tile, "", 'c', "");
    const int count = registers(form, 'd');
    const std::string straight = "wmma.mma.sync.aligned.row.col";
    const auto at = text.find(straight);
    const auto from = text.find(list('c', count), at);
    std::string turned = "{";
    for (int i = 0; i < count; ++i) {
      turned += fmt::format("{}%c{}", i == 0 ? "" : ", ", (i + count / 2) % count);
    }
    text.replace(from, list('c', count).size(), turned + "}");
    const auto store = text.rfind(list('c', count));
    text.replace(store, list('c', count).size(), turned + "}");
    CHECK(wrong(text, tile, "sm_90") == "");
  }
}

TEST_CASE("kernels that nvcc makes of nvcuda::wmma run") {
  const std::string ptx =
      read_file(std::string(FA_TUNE_ROOT) + "/tests/engine/device/emulator/ptx/wmma.ptx");
  struct Known {
    const char* name;
    Form form;
    bool a_rows;
    bool b_rows;
  };
  constexpr Known known[] = {
      {"f16_square", {16, 16, 16, "f16", "f16", "f32", "f32"}, true, true},
      {"f16_tall", {32, 8, 16, "f16", "f16", "f32", "f32"}, true, false},
      {"f16_flat", {8, 32, 16, "f16", "f16", "f32", "f32"}, false, true},
      {"f16_sums", {16, 16, 16, "f16", "f16", "f16", "f16"}, true, false},
      {"bf16_square", {16, 16, 16, "bf16", "bf16", "f32", "f32"}, true, false},
      {"tf32_square", {16, 16, 8, "tf32", "tf32", "f32", "f32"}, true, false},
      {"s8_square", {16, 16, 16, "s8", "s8", "s32", "s32"}, true, false},
      {"u8_tall", {32, 8, 16, "u8", "u8", "s32", "s32"}, false, true},
      {"f64_square", {8, 8, 4, "f64", "f64", "f64", "f64"}, true, false},
  };
  for (const Known& each : known) {
    Tile tile(each.form, each.a_rows, each.b_rows, true, 0);
    for (Matrix* matrix : {&tile.a, &tile.b, &tile.c, &tile.d}) matrix->stride = 48;
    CAPTURE(std::string(each.name));
    CHECK(wrong(ptx, tile, "sm_89", each.name, 48) == "");
  }
}

TEST_CASE("a fragment of f16 is that of mma.m16n8k16, twice") {
  // The matrix is filled with the places of its elements; PTX ISA, mma.m16n8k16: register i of A
  // holds row group + 8 (i % 2), columns 2t and 2t + 1 (+ 8 from the third register on).
  const std::string body =
      ".reg .b64 %rd<4>; .reg .b32 %a<8>; .reg .b32 %t<2>;\n"
      "ld.param.u64 %rd0, [out]; mov.u32 %t0, %tid.x; mul.wide.u32 %rd1, %t0, 4;\n"
      "add.u64 %rd1, %rd0, %rd1;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, "
      "[%rd0], 16;\n";
  std::string stores;
  for (int i = 0; i < 8; ++i) stores += fmt::format("st.global.b32 [%rd1+{}], %a{};\n", i * 128, i);
  Bench bench(kernel(".param .u64 out", body + stores), 256);
  std::vector<std::uint32_t> words(256);
  for (std::uint32_t i = 0; i < 128; ++i) words[i] = 2 * i | (2 * i + 1) << 16;
  bench.write(words);
  REQUIRE(bench.run());
  const auto found = bench.words();
  for (std::uint32_t i = 0; i < 8; ++i) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t row = lane / 4 + 8 * (i % 2);
      const std::uint32_t column = 2 * (lane % 4) + 8 * (i / 2 % 2);
      const std::uint32_t place = row * 16 + column;
      REQUIRE(found[i * 32 + lane] == (place | (place + 1) << 16));
    }
  }
}

TEST_CASE("wmma of tf32 adds four products at a time, also on sm_90") {
  // 1 + 2^-24 + 2^-24: lost twice where the two come apart, not where they come together.
  const Form form{16, 16, 8, "tf32", "tf32", "f32", "f32"};
  for (const int other : {1, 4}) {
    Tile tile(form, true, true, true, 0);
    tile.a.values.assign(tile.a.values.size(), 0);
    tile.b.values.assign(tile.b.values.size(), 0);
    auto a = tile.a.memory();
    auto b = tile.b.memory();
    const float small = std::ldexp(1.0F, -12);
    for (const int k : {0, other}) {
      std::memcpy(a.data() + tile.a.place(0, k) * 4, &small, 4);
      std::memcpy(b.data() + tile.b.place(k, 0) * 4, &small, 4);
    }
    std::vector<std::byte> c(1024);
    const float one = 1;
    std::memcpy(c.data(), &one, 4);
    const auto device = open_emulator(small_profile("sm_90"), 1);
    const auto loaded = device->load(image(tile_kernel(form, tile, "", 'd', "")));
    REQUIRE(loaded.has_value());
    Launch launch;
    launch.kernel = *loaded;
    launch.config.block = {32, 1, 1};
    for (const auto* memory : {&a, &b, &c, &c}) {
      const BufferHandle buffer = device->allocate(memory->size());
      (void)device->write(buffer, 0, *memory);
      launch.arguments.emplace_back(buffer);
    }
    REQUIRE(device->launch(launch).has_value());
    (void)device->read(std::get<BufferHandle>(launch.arguments[3]), 0, c);
    std::uint32_t found = 0;
    std::memcpy(&found, c.data(), 4);
    CHECK(found == (other == 1 ? 0x3F800001U : 0x3F800000U));
  }
}

TEST_CASE("wmma beyond a buffer, or without its whole warp, is a fault") {
  const std::string body =
      ".reg .b64 %rd<4>; .reg .b32 %a<8>; .reg .b32 %t<2>; .reg .pred %p<2>;\n"
      "ld.param.u64 %rd0, [out]; mov.u32 %t0, %tid.x; setp.eq.u32 %p1, %t0, 3;\n";
  const std::string load =
      "wmma.load.c.sync.aligned.row.m8n32k16.f32 {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, "
      "[%rd0], 32;\n";
  CHECK(fault_of(kernel(".param .u64 out", body + load)).kind == FaultKind::out_of_bounds);
  CHECK(fault_of(kernel(".param .u64 out", body + "@%p1 exit;\n" + load)).kind ==
        FaultKind::barrier);
  for (const std::string opcode :
       {"wmma.load.a.sync.aligned.row.m16n16k8.f16", "wmma.load.b.sync.aligned.row.m16n16k16.f64",
        "wmma.load.c.sync.aligned.row.m8n8k4.f32", "wmma.load.d.sync.aligned.row.m16n16k16.f32",
        "wmma.load.a.sync.aligned.row.m8n8k32.s4"}) {
    CAPTURE(opcode);
    CHECK(fault_of(kernel(".param .u64 out", body + opcode + " {%a0, %a1}, [%rd0], 16;")).kind ==
          FaultKind::unknown_instruction);
  }
}

}  // namespace fa_tune::test
