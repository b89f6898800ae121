#include "engine/device/emulator/decode/decoder.hpp"

// Exchanges within a warp.

namespace fa_tune::emulator {

// d{|p}: d has 32 bits, p is none where it is not given.
std::pair<Ref, Ref> Decoder::target_and_predicate() {
  Operand first = operand(0);
  first.second = -1;
  const Ref result = target(first, Type::b32);
  if (operand(0).second < 0) return {result, {}};
  return {result, predicate_register(operand(0).second)};
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
  const auto [result, p] = target_and_predicate();
  Ref sources[4];
  for (std::size_t i = 0; i < 4; ++i) sources[i] = source(operand(i + 1), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_shuffle, {result, p},
                      {sources[0], sources[1], sources[2]});
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
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_vote, {result}, {p});
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
  const auto [result, p] = target_and_predicate();
  const Ref a = source(operand(1), type);
  const Ref members = source(operand(2), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_match, {result, p}, {a});
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
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_redux, {result}, {a});
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
    emit(Kind::memory, Pipe::alu, run_active_mask, {result});
    return true;
  }
  if (!has("sync")) return false;
  want_operands(2, 2);
  if (operand(0).second < 0) malformed("a predicate after '|' is expected");
  const auto [result, p] = target_and_predicate();
  const Ref members = source(operand(1), Type::b32);
  Draft& draft = emit(Kind::converge, Pipe::shuffle, run_elect, {result, p});
  read(draft, 15, members);
  return true;
}

}  // namespace fa_tune::emulator
