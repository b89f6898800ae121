#include <algorithm>
#include <bit>

#include "engine/device/emulator/decoder.hpp"
#include "engine/device/emulator/tensor_core.hpp"

// Matrices and exchanges within a warp.

namespace fa_tune::emulator {

// ldmatrix.sync.aligned.m8n8.num{.trans}.shared.b16 {...}, [row]
bool Decoder::ldmatrix() {
  if (last_type() != Type::b16 || !has("sync") || !has("aligned") || !has("m8n8")) return false;
  const std::size_t count = has("x4") ? 4 : has("x2") ? 2 : has("x1") ? 1 : 0;
  if (count == 0) return false;
  const bool transposed = has("trans");
  const Space where = space();
  if (where != Space::shared && where != Space::generic) return false;
  want_operands(2, 2);
  std::vector<Operand> parts = {operand(0)};
  if (operand(0).kind == Operand::Kind::vector) parts = operand(0).parts;
  if (parts.size() != count) malformed("as many registers as matrices are expected");
  std::vector<Ref> refs;
  refs.reserve(count);
  for (const Operand& part : parts) refs.push_back(target(part, Type::b32));
  Draft& draft = emit(Kind::converge, Pipe::load_store, run_ldmatrix);
  for (std::size_t i = 0; i < count; ++i) write(draft, i, refs[i]);
  address(draft, operand(1), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[4] = static_cast<std::uint8_t>(count);
  draft.op.m[5] = transposed ? 1 : 0;
  draft.op.m[6] = 1;
  return true;
}

// mma.sync.aligned.shape.row.col.d.a.b.c {d}, {a}, {b}, {c}
bool Decoder::mma() {
  struct Known {
    std::string_view shape;
    std::string_view types;
    Element element;
    Accumulator accumulator;
    int k;
    std::size_t d, a, b;  // registers; c has as many as d
    std::int64_t flop;
  };
  constexpr Known known[] = {
      {"m16n8k16", "f32.f16.f16.f32", Element::f16, Accumulator::f32, 16, 4, 4, 2,
       2LL * 16 * 8 * 16},
      {"m16n8k16", "f32.bf16.bf16.f32", Element::bf16, Accumulator::f32, 16, 4, 4, 2,
       2LL * 16 * 8 * 16},
      {"m16n8k8", "f32.f16.f16.f32", Element::f16, Accumulator::f32, 8, 4, 2, 1, 2LL * 16 * 8 * 8},
      {"m16n8k16", "f16.f16.f16.f16", Element::f16, Accumulator::f16, 16, 2, 4, 2,
       2LL * 16 * 8 * 16},
  };
  if (!has("sync") || !has("aligned") || !has("row") || !has("col")) return false;
  const std::string_view opcode = statement_->opcode;
  const auto found = std::find_if(std::begin(known), std::end(known), [&](const Known& each) {
    return has(each.shape) && opcode.ends_with(std::string(".col.") + std::string(each.types));
  });
  if (found == std::end(known)) return false;
  for (std::size_t i = words_.size() - 4; i < words_.size(); ++i) understood_[i] = true;
  want_operands(4, 4);
  const std::size_t sizes[] = {found->d, found->a, found->b, found->d};
  const Type accumulator = found->accumulator == Accumulator::f16 ? Type::b32 : Type::f32;
  std::vector<Ref> refs[4];
  for (std::size_t i = 0; i < 4; ++i) {
    if (operand(i).kind != Operand::Kind::vector || operand(i).parts.size() != sizes[i]) {
      malformed("a fragment has another number of registers");
    }
    for (const Operand& part : operand(i).parts) {
      if (i == 0) {
        refs[i].push_back(target(part, accumulator));
      } else {
        refs[i].push_back(source(part, i == 3 ? accumulator : Type::b32));
      }
    }
  }
  // The result may be written before all of a and b has been read.
  const std::vector<Ref> results = refs[0];
  for (std::size_t i = 1; i < 3; ++i) {
    for (Ref& ref : refs[i]) {
      const bool overlaps = std::any_of(results.begin(), results.end(), [&](const Ref& result) {
        return ref.kind == Ref::Kind::reg && result.id == ref.id;
      });
      if (overlaps) ref = copy_of(ref);
    }
  }
  Draft& draft = emit(Kind::converge, Pipe::tensor, run_mma);
  constexpr std::size_t places[] = {0, 4, 8, 10};
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < refs[i].size(); ++j) {
      if (i == 0) {
        write(draft, places[i] + j, refs[i][j]);
      } else {
        read(draft, places[i] + j, refs[i][j]);
      }
    }
  }
  draft.op.m[0] = static_cast<std::uint8_t>(found->element);
  draft.op.m[1] = static_cast<std::uint8_t>(found->element);
  draft.op.m[2] = static_cast<std::uint8_t>(found->accumulator);
  draft.op.m[3] = static_cast<std::uint8_t>(found->k);
  draft.op.m[4] = static_cast<std::uint8_t>(hopper_ ? TensorRule::hopper : TensorRule::ampere);
  draft.op.m[6] = 1;
  draft.op.immediate = found->flop;
  return true;
}

// shfl.sync.mode.b32 d{|p}, a, b, c, members
bool Decoder::shuffle() {
  if (last_type() != Type::b32 || !has("sync")) return false;
  Shuffle mode = Shuffle::idx;
  if (has("up")) {
    mode = Shuffle::up;
  } else if (has("down")) {
    mode = Shuffle::down;
  } else if (has("bfly")) {
    mode = Shuffle::bfly;
  } else if (!has("idx")) {
    return false;
  }
  want_operands(5, 5);
  Operand first = operand(0);
  first.second = -1;
  const Ref result = target(first, Type::b32);
  Ref p;
  if (operand(0).second >= 0) p = predicate_register(operand(0).second);
  Ref sources[4];
  for (std::size_t i = 0; i < 4; ++i) sources[i] = source(operand(i + 1), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_shuffle);
  write(draft, 0, result);
  if (p.kind != Ref::Kind::none) write(draft, 1, p);
  for (std::size_t i = 0; i < 3; ++i) read(draft, i + 2, sources[i]);
  read(draft, 15, sources[3]);
  draft.op.m[0] = static_cast<std::uint8_t>(mode);
  return true;
}

// vote.sync.mode.pred d, a, members; vote.sync.ballot.b32 d, a, members
bool Decoder::vote() {
  const Type type = last_type();
  if (!has("sync")) return false;
  Vote mode = Vote::uni;
  if (has("all")) {
    mode = Vote::all;
  } else if (has("any")) {
    mode = Vote::any;
  } else if (has("ballot")) {
    mode = Vote::ballot;
  } else if (!has("uni")) {
    return false;
  }
  if (type != (mode == Vote::ballot ? Type::b32 : Type::pred)) return false;
  want_operands(3, 3);
  const Ref result =
      mode == Vote::ballot ? target(operand(0), Type::b32) : predicate_target(operand(0));
  bool negated = false;
  const Ref p = predicate_source(operand(1), negated);
  const Ref members = source(operand(2), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_vote);
  write(draft, 0, result);
  read(draft, 1, p);
  read(draft, 15, members);
  draft.op.m[0] = static_cast<std::uint8_t>(mode);
  draft.op.m[1] = negated ? 1 : 0;
  return true;
}

// match.any.sync.type d, a, members; match.all.sync.type d{|p}, a, members
bool Decoder::match() {
  const Type type = last_type();
  const bool all = has("all");
  if ((!all && !has("any")) || !has("sync") || (type != Type::b32 && type != Type::b64))
    return false;
  want_operands(3, 3);
  Operand first = operand(0);
  first.second = -1;
  const Ref result = target(first, Type::b32);
  Ref p;
  if (operand(0).second >= 0) p = predicate_register(operand(0).second);
  const Ref a = source(operand(1), type);
  const Ref members = source(operand(2), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_match);
  write(draft, 0, result);
  if (p.kind != Ref::Kind::none) write(draft, 1, p);
  read(draft, 2, a);
  read(draft, 15, members);
  draft.op.m[0] = all ? 1 : 0;
  draft.op.m[1] = static_cast<std::uint8_t>(size_of(type));
  return true;
}

// redux.sync.op.type d, a, members
bool Decoder::redux() {
  const Type type = last_type();
  if (!has("sync")) return false;
  Redux what = Redux::add;
  const bool is_signed_type = type == Type::s32;
  if (type == Type::b32) {
    const bool all = has("and");
    const bool any = has("or");
    if (!all && !any && !has("xor")) return false;
    what = all ? Redux::bit_and : any ? Redux::bit_or : Redux::bit_xor;
  } else if (type == Type::u32 || is_signed_type) {
    const bool least = has("min");
    const bool greatest = has("max");
    if (!least && !greatest && !has("add")) return false;
    if (least) what = is_signed_type ? Redux::min_s : Redux::min_u;
    if (greatest) what = is_signed_type ? Redux::max_s : Redux::max_u;
  } else {
    return false;
  }
  want_operands(3, 3);
  const Ref result = target(operand(0), type);
  const Ref a = source(operand(1), type);
  const Ref members = source(operand(2), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_redux);
  write(draft, 0, result);
  read(draft, 1, a);
  read(draft, 15, members);
  draft.op.m[0] = static_cast<std::uint8_t>(what);
  return true;
}

// activemask.b32 d; elect.sync d|p, members
bool Decoder::one_of_warp() {
  if (root() == "activemask") {
    if (last_type() != Type::b32) return false;
    want_operands(1, 1);
    const Ref result = target(operand(0), Type::b32);
    Draft& draft = emit(Kind::memory, Pipe::alu, run_active_mask);
    write(draft, 0, result);
    return true;
  }
  if (!has("sync")) return false;
  want_operands(2, 2);
  Operand first = operand(0);
  if (first.second < 0) malformed("a predicate after '|' is expected");
  const Ref p = predicate_register(first.second);
  first.second = -1;
  const Ref result = target(first, Type::b32);
  const Ref members = source(operand(1), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_elect);
  write(draft, 0, result);
  write(draft, 1, p);
  read(draft, 15, members);
  return true;
}

}  // namespace fa_tune::emulator
