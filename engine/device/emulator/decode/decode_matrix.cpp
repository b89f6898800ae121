#include <algorithm>
#include <optional>
#include <utility>

#include "engine/device/emulator/decode/decoder.hpp"

// Matrices in registers: mma, and the moves of 8 x 8 matrices between memory and registers.

namespace fa_tune::emulator {

std::optional<Element> element_of(std::string_view word) {
  constexpr std::pair<std::string_view, Element> known[] = {
      {"f16", Element::f16},   {"bf16", Element::bf16}, {"tf32", Element::tf32},
      {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2}, {"s8", Element::s8},
      {"u8", Element::u8}};
  for (const auto& [name, element] : known) {
    if (name == word) return element;
  }
  return {};
}

std::optional<Accumulator> accumulator_of(std::string_view word) {
  if (word == "f32") return Accumulator::f32;
  if (word == "f16") return Accumulator::f16;
  if (word == "s32") return Accumulator::s32;
  return {};
}

namespace {

bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }
bool is_byte(Element element) { return element == Element::s8 || element == Element::u8; }

}  // namespace

bool go_together(Element a, Element b, Accumulator sums) {
  if (a != b && !(is_fp8(a) && is_fp8(b)) && !(is_byte(a) && is_byte(b))) return false;
  if (is_byte(a)) return sums == Accumulator::s32;
  if (sums == Accumulator::s32) return false;
  return sums == Accumulator::f32 || a == Element::f16 || is_fp8(a);
}

namespace {

constexpr std::pair<std::string_view, std::pair<int, int>> kShapes[] = {
    {"m8n8k4", {8, 4}},   {"m8n8k16", {8, 16}},   {"m16n8k4", {16, 4}},
    {"m16n8k8", {16, 8}}, {"m16n8k16", {16, 16}}, {"m16n8k32", {16, 32}},
};

}  // namespace

// ldmatrix.sync.aligned.m8n8.num{.trans}.shared.b16 {...}, [row]
// stmatrix.sync.aligned.m8n8.num{.trans}.shared.b16 [row], {...}
bool Decoder::ldmatrix_or_stmatrix() {
  if (last_type() != Type::b16 || !has("sync") || !has("aligned") || !has("m8n8")) return false;
  const std::size_t count = has("x4") ? 4 : has("x2") ? 2 : has("x1") ? 1 : 0;
  if (count == 0) return false;
  const bool transposed = has("trans");
  const Space where = space();
  if (where != Space::shared && where != Space::generic) return false;
  want_operands(2, 2);
  const bool loads = root() == "ldmatrix";
  const std::vector<Ref> refs = fragment(loads ? 0 : 1, count, Type::b32, loads);
  Draft& draft = emit(Kind::converge, Pipe::load_store, loads ? run_ldmatrix : run_stmatrix);
  for (std::size_t i = 0; i < count; ++i) (loads ? write : read)(draft, i, refs[i]);
  address(draft, operand(loads ? 1 : 0), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[4] = static_cast<std::uint8_t>(count);
  draft.op.m[5] = transposed ? 1 : 0;
  draft.op.m[6] = 1;
  return true;
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a
bool Decoder::movmatrix() {
  if (last_type() != Type::b16 || !has("sync") || !has("aligned") || !has("m8n8") || !has("trans"))
    return false;
  want_operands(2, 2);
  const Ref result = target(operand(0), Type::b32);
  const Ref from = source(operand(1), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_movmatrix, {result}, {from});
  draft.op.m[6] = 1;
  return true;
}

// The registers of operand `index`: a vector in braces, or a single register if there is one.
std::vector<Ref> Decoder::fragment(std::size_t index, std::size_t count, Type type, bool written) {
  std::vector<Operand> parts = {operand(index)};
  if (operand(index).kind == Operand::Kind::vector) parts = operand(index).parts;
  if (parts.size() != count) malformed("a fragment has another number of registers");
  std::vector<Ref> refs;
  refs.reserve(count);
  for (const Operand& part : parts) {
    refs.push_back(written ? target(part, type) : source(part, type));
  }
  return refs;
}

// mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c {d}, {a}, {b}, {c}
bool Decoder::mma() {
  if (words_.size() < 8 || !has("sync") || !has("aligned") || !has("row") || !has("col")) {
    return false;
  }
  const auto shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                  [&](const auto& each) { return has(each.first); });
  if (shape == std::end(kShapes)) return false;
  const auto [m, k] = shape->second;
  const auto types = std::span(words_).last(4);
  for (std::size_t i = words_.size() - 4; i < words_.size(); ++i) understood_[i] = true;
  if (std::all_of(types.begin(), types.end(), [](auto word) { return word == "f64"; })) {
    return mma_f64(m, k);
  }
  const auto a = element_of(types[1]);
  const auto b = element_of(types[2]);
  const auto sums = accumulator_of(types[0]);
  if (!a || !b || !sums || types[0] != types[3] || !go_together(*a, *b, *sums)) return false;
  const int bits = k * bits_of(*a);
  if (bits != 128 && bits != 256) return false;
  if (m == 8 && (!is_byte(*a) || bits != 128)) return false;
  const bool saturate = has("satfinite");
  if (saturate && *sums != Accumulator::s32) return false;
  want_operands(4, 4);
  const auto rows = static_cast<std::size_t>(m) / 8;
  const auto columns = static_cast<std::size_t>(bits) / 128;
  const std::size_t results = *sums == Accumulator::f16 ? rows : 2 * rows;
  const Type type = *sums == Accumulator::f32 ? Type::f32 : Type::b32;
  MmaParts parts;
  parts.d = fragment(0, results, type, true);
  parts.a = fragment(1, rows * columns, Type::b32, false);
  parts.b = fragment(2, columns, Type::b32, false);
  parts.c = fragment(3, results, type, false);
  emit_mma({*a, *b, *sums, k, rule_, saturate}, m, parts);
  return true;
}

void Decoder::require_arithmetic(Accumulator sums) const {
  if (rule_ == TensorRule::unknown && sums != Accumulator::s32)
    fail_unknown(statement_->line, std::string(statement_->opcode) +
                                       " (how the tensor cores of this architecture add)");
}

void Decoder::emit_mma(const MmaKind& kind, int m, const MmaParts& parts) {
  require_arithmetic(kind.accumulator);
  // A product of 8 rows has the even registers of one of 16; the others stay empty.
  const std::size_t step = m == 8 ? 2 : 1;
  Draft& draft = emit(Kind::converge, Pipe::tensor, run_mma);
  for (std::size_t i = 0; i < parts.d.size(); ++i) {
    write(draft, i, parts.d[i]);
    read(draft, 10 + i, parts.c[i]);
  }
  for (std::size_t i = 0; i < parts.a.size(); ++i) read(draft, 4 + step * i, parts.a[i]);
  for (std::size_t i = 0; i < parts.b.size(); ++i) read(draft, 8 + i, parts.b[i]);
  draft.op.m = {static_cast<std::uint8_t>(kind.a),
                static_cast<std::uint8_t>(kind.b),
                static_cast<std::uint8_t>(kind.accumulator),
                static_cast<std::uint8_t>(kind.k),
                static_cast<std::uint8_t>(kind.rule),
                kind.saturate ? std::uint8_t{1} : std::uint8_t{0},
                1};
  draft.op.immediate = std::int64_t{2} * m * 8 * kind.k;
}

// m8n8k4, and m16n8 with k4, k8 or k16.
bool Decoder::mma_f64(int m, int k) {
  if (m == 8 ? k != 4 : k > 16) return false;
  want_operands(4, 4);
  const auto rows = static_cast<std::size_t>(m) / 8;
  const auto columns = static_cast<std::size_t>(k) / 4;
  MmaParts parts;
  parts.d = fragment(0, 2 * rows, Type::f64, true);
  parts.a = fragment(1, rows * columns, Type::f64, false);
  parts.b = fragment(2, columns, Type::f64, false);
  parts.c = fragment(3, 2 * rows, Type::f64, false);
  emit_mma_f64(m, k, parts);
  return true;
}

// k16 as two of k8, since the sum runs over k in order.
void Decoder::emit_mma_f64(int m, int k, const MmaParts& parts) {
  const auto rows = static_cast<std::size_t>(m) / 8;
  const auto columns = static_cast<std::size_t>(k) / 4;
  const int each = std::min(k, 8);
  const auto step = static_cast<std::size_t>(each) / 4;
  std::vector<Ref> sums = parts.c;
  for (std::size_t from = 0; from < columns; from += step) {
    std::vector<Ref> results = parts.d;
    if (from + step < columns) {
      for (Ref& ref : results) ref = new_register(Type::f64, !function_->is_entry);
    }
    Draft& draft = emit(Kind::converge, Pipe::tensor, run_mma_f64);
    for (std::size_t i = 0; i < results.size(); ++i) {
      write(draft, i, results[i]);
      read(draft, 10 + i, sums[i]);
    }
    for (std::size_t i = 0; i < rows * step; ++i) read(draft, 4 + i, parts.a[rows * from + i]);
    for (std::size_t i = 0; i < step; ++i) read(draft, 8 + i, parts.b[from + i]);
    draft.op.m[0] = static_cast<std::uint8_t>(m);
    draft.op.m[3] = static_cast<std::uint8_t>(each);
    draft.op.m[6] = 1;
    draft.op.immediate = std::int64_t{2} * m * 8 * each;
    sums = results;
  }
}

}  // namespace fa_tune::emulator
