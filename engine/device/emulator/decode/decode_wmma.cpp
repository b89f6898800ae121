#include <algorithm>

#include "engine/device/emulator/decode/decoder.hpp"
#include "engine/device/emulator/matrix/wmma_layout.hpp"

// wmma: loads and stores of fragments, and products as the mma that ptxas 13 makes of them.

namespace fa_tune::emulator {
namespace {

Type register_type(int bits, std::string_view type) {
  if (bits == 64) return Type::f64;
  return type == "f32" ? Type::f32 : Type::b32;
}

std::vector<Ref> slice(const std::vector<Ref>& refs, std::size_t from, std::size_t count) {
  const auto begin = refs.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

bool Decoder::wmma() {
  if (words_.size() < 6 || !has("sync") || !has("aligned")) return false;
  const std::string_view what = words_[1];
  understood_[1] = true;
  if (what == "load") return wmma_memory(false);
  if (what == "store") return wmma_memory(true);
  return what == "mma" && wmma_mma();
}

// wmma.load.a.sync.aligned.layout.shape{.space}.type r, [p]{, stride}; c as well;
// wmma.store.d.sync.aligned.layout.shape{.space}.type [p], r{, stride}
bool Decoder::wmma_memory(bool store) {
  const std::string_view operand_word = words_[2];
  if (store ? operand_word != "d"
            : operand_word != "a" && operand_word != "b" && operand_word != "c")
    return false;
  understood_[2] = true;
  const bool by_rows = has("row");
  if (!by_rows && !has("col")) return false;
  const auto shape_word = std::find_if(words_.begin(), words_.end(), [](std::string_view word) {
    return wmma_shape(word).has_value();
  });
  if (shape_word == words_.end()) return false;
  has(*shape_word);
  const Space where = space();
  if (where != Space::generic && where != Space::global && where != Space::shared) return false;
  const std::string_view type = words_.back();
  understood_.back() = true;
  const auto fragment_of =
      wmma_fragment(*wmma_shape(*shape_word), store ? 'c' : operand_word[0], type, by_rows);
  if (!fragment_of) return false;
  want_operands(2, 3);
  const std::vector<Ref> refs =
      fragment(store ? 1 : 0, static_cast<std::size_t>(fragment_of->registers),
               register_type(fragment_of->bits, type), !store);
  const Ref stride = operand_count() == 3
                         ? source(operand(2), Type::b32)
                         : constant(static_cast<std::uint64_t>(fragment_of->line_length), 4);
  Draft& draft = emit(Kind::converge, Pipe::load_store, store ? run_wmma_store : run_wmma_load);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    store ? read(draft, i, refs[i]) : write(draft, i, refs[i]);
  }
  address(draft, operand(store ? 0 : 1), 8, 2);
  read(draft, 9, stride);
  fragment_of->pack(draft.op);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[6] = 1;
  return true;
}

// wmma.mma.sync.aligned.alayout.blayout.shape.d.c d, a, b, c for f16, else .d.a.b.c; .rn for f64,
// .satfinite for s32.
bool Decoder::wmma_mma() {
  const auto is_layout = [](std::string_view word) { return word == "row" || word == "col"; };
  if (words_.size() < 9 || !is_layout(words_[4]) || !is_layout(words_[5])) return false;
  const auto shape = wmma_shape(words_[6]);
  if (!shape) return false;
  const bool saturate = words_.back() == "satfinite";
  const bool rounded = words_.back() == "rn";
  const std::size_t end = words_.size() - (saturate || rounded ? 1 : 0);
  const std::vector<std::string_view> types(words_.begin() + 7,
                                            words_.begin() + static_cast<std::ptrdiff_t>(end));
  const bool f16 = types.size() == 2;
  if (!f16 && types.size() != 4) return false;
  const std::string_view a_type = f16 ? "f16" : types[1];
  const std::string_view b_type = f16 ? "f16" : types[2];
  const std::string_view d_type = types.front();
  const std::string_view c_type = types.back();
  const auto a_at = wmma_fragment(*shape, 'a', a_type, true);
  const auto b_at = wmma_fragment(*shape, 'b', b_type, true);
  const auto c_at = wmma_fragment(*shape, 'c', c_type, true);
  const auto d_at = wmma_fragment(*shape, 'c', d_type, true);
  if (!a_at || !b_at || !c_at || !d_at) return false;
  understood_.assign(words_.size(), true);
  want_operands(4, 4);
  const auto refs = [&](std::size_t index, const WmmaFragment& at, std::string_view type) {
    return fragment(index, static_cast<std::size_t>(at.registers), register_type(at.bits, type),
                    index == 0);
  };
  MmaParts parts;
  parts.d = refs(0, *d_at, d_type);
  parts.a = refs(1, *a_at, a_type);
  parts.b = refs(2, *b_at, b_type);
  parts.c = refs(3, *c_at, c_type);
  if (a_type == "f64") {
    if (b_type != "f64" || saturate) return false;
    emit_mma_f64(8, 4, parts);
    return true;
  }
  const auto a = element_of(a_type);
  const auto b = element_of(b_type);
  const auto d_sums = accumulator_of(d_type);
  const auto c_sums = accumulator_of(c_type);
  if (!a || !b || !d_sums || !c_sums || rounded) return false;
  if (!go_together(*a, *b, *d_sums) || !go_together(*a, *b, *c_sums)) return false;
  if (saturate && *d_sums != Accumulator::s32) return false;
  keep_sources(parts);
  // Where c and d differ, the sums are f32: c is widened before, d rounded after.
  const std::vector<Ref> results = parts.d;
  const bool mixed = *d_sums != *c_sums;
  if (mixed && *c_sums == Accumulator::f16) parts.c = to_f32_pairs(parts.c);
  if (mixed && *d_sums == Accumulator::f16) parts.d = new_registers(2 * results.size(), Type::f32);
  const Accumulator sums = mixed ? Accumulator::f32 : *d_sums;
  const bool exchanged = a_at->role == WmmaFragment::Role::right;
  if (exchanged) std::swap(parts.a, parts.b);
  const MmaKind kind{exchanged ? *b : *a, exchanged ? *a : *b, sums, shape->k, rule_, saturate};
  emit_wmma(kind, exchanged ? shape->n / 16 : shape->m / 16, exchanged ? 1 : shape->n / 8, parts);
  if (mixed && *d_sums == Accumulator::f16) from_f32_pairs(parts.d, results);
  return true;
}

// `groups` of 16 lines by `columns` of 8: one of the two is 1. tf32 goes by k4, whatever the device
// could do at once.
void Decoder::emit_wmma(const MmaKind& kind, int groups, int columns, const MmaParts& parts) {
  require_arithmetic(kind.accumulator);
  const auto blocks = static_cast<std::size_t>(kind.k * bits_of(kind.a) / 128);
  const std::size_t each = kind.accumulator == Accumulator::f16 ? 2 : 4;
  const std::size_t steps = kind.a == Element::tf32 ? blocks : 1;
  const std::size_t step_blocks = blocks / steps;
  MmaKind part = kind;
  part.k = kind.k / static_cast<int>(steps);
  const int products = groups * columns;
  for (std::size_t i = 0; i < static_cast<std::size_t>(products); ++i) {
    const std::size_t group = groups > 1 ? i : 0;
    const std::size_t column = columns > 1 ? i : 0;
    for (std::size_t step = 0; step < steps; ++step) {
      MmaParts of;
      of.d = slice(parts.d, each * i, each);
      of.c = step == 0 ? slice(parts.c, each * i, each) : of.d;
      of.a = slice(parts.a, 2 * (blocks * group + step_blocks * step), 2 * step_blocks);
      of.b = slice(parts.b, blocks * column + step_blocks * step, step_blocks);
      emit_mma(part, 16, of);
    }
  }
}

// An instruction that becomes several writes some results before it has read all: what it writes
// over is copied first, but c's register of the same place.
void Decoder::keep_sources(MmaParts& parts) {
  const auto written = [&](const Ref& ref) {
    return std::any_of(parts.d.begin(), parts.d.end(), [&](const Ref& result) {
      return ref.kind == Ref::Kind::reg && result.id == ref.id;
    });
  };
  for (std::vector<Ref>* refs : {&parts.a, &parts.b}) {
    for (Ref& ref : *refs) {
      if (written(ref)) ref = copy_of(ref);
    }
  }
  for (std::size_t i = 0; i < parts.c.size(); ++i) {
    const bool same_place = parts.c.size() == parts.d.size() && parts.c[i].id == parts.d[i].id;
    if (written(parts.c[i]) && !same_place) parts.c[i] = copy_of(parts.c[i]);
  }
}

std::vector<Ref> Decoder::new_registers(std::size_t count, Type type) {
  std::vector<Ref> refs;
  refs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    refs.push_back(new_register(type, !function_->is_entry));
  }
  return refs;
}

std::vector<Ref> Decoder::to_f32_pairs(const std::vector<Ref>& halves) {
  std::vector<Ref> refs = new_registers(2 * halves.size(), Type::f32);
  LaneKey split;
  split.op = LaneOp::unpack;
  split.type = Type::b32;
  LaneKey widen;
  widen.op = LaneOp::convert;
  widen.type = Type::f32;
  widen.from = Type::f16;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const Ref half = new_register(Type::f16, !function_->is_entry);
    Draft& upper = emit(Kind::lanes, Pipe::alu, lanes_handler(split));
    write(upper, 0, half);
    read(upper, 1, halves[i / 2]);
    upper.op.m[0] = static_cast<std::uint8_t>(16 * (i % 2));
    emit(Kind::lanes, Pipe::convert, lanes_handler(widen), {refs[i]}, {half});
  }
  return refs;
}

void Decoder::from_f32_pairs(const std::vector<Ref>& from, const std::vector<Ref>& halves) {
  LaneKey key{.op = LaneOp::convert_pair, .type = Type::f16x2, .from = Type::f32};
  for (std::size_t i = 0; i < halves.size(); ++i) {
    emit(Kind::lanes, Pipe::convert, lanes_handler(key), {halves[i]},
         {from[2 * i + 1], from[2 * i]});
  }
}

}  // namespace fa_tune::emulator
