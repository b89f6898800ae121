#include <algorithm>

#include <fmt/format.h>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

// cp.async.bulk, cp.reduce.async.bulk, their tensor forms in tile mode, and bulk groups (PTX ISA
// 9.0, "Data Movement and Conversion Instructions: Bulk copy" and "Tensor copy").

namespace fa_tune::emulator {
namespace {

struct Reduction {
  std::string_view name;
  Atomic what;
};
constexpr Reduction kReductions[] = {{"add", Atomic::add},   {"min", Atomic::min},
                                     {"max", Atomic::max},   {"inc", Atomic::inc},
                                     {"dec", Atomic::dec},   {"and", Atomic::bit_and},
                                     {"or", Atomic::bit_or}, {"xor", Atomic::bit_xor}};

// Types of plain bulk reductions, to global memory and to a peer's shared memory.
bool reduces(Atomic what, Type type, bool to_global) {
  switch (what) {
    case Atomic::add:
      return type == Type::u32 || type == Type::s32 || type == Type::u64 ||
             (to_global && is_float(type) && type != Type::f16x2 && type != Type::bf16x2);
    case Atomic::min:
    case Atomic::max:
      return type == Type::u32 || type == Type::s32 ||
             (to_global &&
              (type == Type::u64 || type == Type::s64 || type == Type::f16 || type == Type::bf16));
    case Atomic::inc:
    case Atomic::dec:
      return type == Type::u32;
    default:
      return type == Type::b32 || (to_global && type == Type::b64);
  }
}

}  // namespace

bool Decoder::bulk() {
  if (!hopper() || !has("async") || !has("bulk")) return false;
  if (has("commit_group")) {
    want_operands(0, 0);
    emit(Kind::memory, Pipe::load_store, run_bulk_commit);
    return true;
  }
  if (has("wait_group")) return bulk_wait();
  const bool reducing = has("reduce");
  const bool tensor = has("tensor");
  const bool prefetch = has("prefetch");
  std::vector<std::string_view> spaces;
  for (const std::string_view word : words_) {
    if (word == "global" || word == "shared::cta" || word == "shared::cluster") {
      spaces.push_back(word);
      has(word);
    }
  }
  const bool policy = has("L2::cache_hint");
  if (prefetch) return bulk_prefetch(spaces, tensor, policy);
  if (spaces.size() != 2) return false;
  Route route = Route::load;
  if (spaces[0] == "global" && spaces[1] == "shared::cta") {
    route = Route::store;
  } else if (spaces[0] == "shared::cluster" && spaces[1] == "shared::cta" && !tensor) {
    route = Route::peer;
  } else if (spaces[0] == "global" || spaces[1] != "global") {
    return false;
  }
  if (reducing && route == Route::load) return false;
  const bool to_global = route == Route::store;
  if (!has(to_global ? "bulk_group" : "mbarrier::complete_tx::bytes")) return false;
  Atomic what = Atomic::add;
  Type type = Type::none;
  if (reducing) {
    const auto* found = std::find_if(std::begin(kReductions), std::end(kReductions),
                                     [&](const Reduction& each) { return has(each.name); });
    if (found == std::end(kReductions)) return false;
    what = found->what;
    if (!tensor) {
      type = last_type();
      has("noftz");
      if (!reduces(what, type, to_global)) return false;
    }
    if (to_global && (tensor || is_float(type))) program_.order_dependent = true;
  }
  const bool multicast =
      route == Route::load && spaces[0] == "shared::cluster" && has("multicast::cluster");
  BulkOperands operands;
  std::size_t at = 0;
  std::uint8_t dimensions = 0;
  if (tensor) {
    dimensions = tensor_dimensions();
    has("tile");
    if (to_global) operands.tensor = &operand(at++);
    operands.addresses[to_global ? 1 : 0] = &operand(to_global ? at++ : 0);
    if (!to_global) {
      operands.tensor = &operand(1);
      at = 2;
    }
  } else {
    operands.addresses[0] = &operand(at++);
    operands.addresses[1] = &operand(at++);
    operands.size = &operand(at++);
  }
  if (!to_global) operands.addresses[3] = &operand(at++);
  if (multicast) operands.mask = &operand(at++);
  if (policy) at += 1;
  want_operands(at, at);
  Draft& draft = bulk_draft(operands, dimensions, tensor ? run_tensor_copy : run_bulk_copy);
  draft.op.m[0] = static_cast<std::uint8_t>(route);
  if (reducing) draft.op.m[2] = static_cast<std::uint8_t>(1 + static_cast<int>(what));
  draft.op.m[3] = static_cast<std::uint8_t>(type);
  draft.op.m[4] = dimensions;
  return true;
}

Draft& Decoder::bulk_draft(const BulkOperands& operands, std::uint8_t dimensions, Handler run) {
  std::array<Ref, 16> refs{};
  unsigned wide = 0;
  for (std::size_t i = 0; i < operands.addresses.size(); ++i) {
    if (operands.addresses[i] == nullptr) continue;
    bool kIsWide = false;
    refs[i] = whole_address(*operands.addresses[i], kIsWide);
    wide |= (kIsWide ? 1U : 0U) << i;
  }
  if (operands.size != nullptr) refs[2] = source(*operands.size, Type::u32);
  if (operands.mask != nullptr) refs[4] = source(*operands.mask, Type::u16);
  if (operands.tensor != nullptr) tensor_operand(*operands.tensor, dimensions, refs);
  Draft& draft = emit(Kind::memory, Pipe::load_store, run);
  for (std::size_t i = 0; i < refs.size(); ++i) read(draft, i, refs[i]);
  draft.op.m[1] = static_cast<std::uint8_t>(wide);
  return draft;
}

// [map, {coordinates}]
void Decoder::tensor_operand(const Operand& operand, std::uint8_t dimensions,
                             std::array<Ref, 16>& refs) {
  if (operand.kind != Operand::Kind::address || operand.parts.size() != 2 ||
      operand.parts[1].kind != Operand::Kind::vector ||
      operand.parts[1].parts.size() != dimensions) {
    malformed(fmt::format("a tensor map and {} coordinates are expected", dimensions));
  }
  for (std::size_t i = 0; i < dimensions; ++i) {
    refs[5 + i] = source(operand.parts[1].parts[i], Type::s32);
  }
  bool wide = false;
  refs[10] = whole_address(operand, wide);
  if (!wide) malformed("the tensor map wants an address of 64 bits");
}

std::uint8_t Decoder::tensor_dimensions() {
  for (const std::string_view word : {"1d", "2d", "3d", "4d", "5d"}) {
    if (has(word)) return static_cast<std::uint8_t>(word[0] - '0');
  }
  unknown();
}

// cp.async.bulk.wait_group{.read} groups
bool Decoder::bulk_wait() {
  const bool reads = has("read");
  want_operands(1, 1);
  if (operand(0).kind != Operand::Kind::integer || operand(0).value < 0) {
    malformed("a number of groups is expected");
  }
  Draft& draft = emit(Kind::memory, Pipe::control, run_bulk_wait);
  draft.op.immediate = operand(0).value;
  draft.op.m[0] = reads ? 1 : 0;
  return true;
}

// cp.async.bulk.prefetch{.tensor.dim}.L2.global{.tile} changes speed alone.
bool Decoder::bulk_prefetch(const std::vector<std::string_view>& spaces, bool tensor, bool policy) {
  if (spaces.size() != 1 || spaces[0] != "global" || !has("L2")) return false;
  std::array<Ref, 16> refs{};
  if (tensor) {
    const std::uint8_t dimensions = tensor_dimensions();
    has("tile");
    tensor_operand(operand(0), dimensions, refs);
  }
  const std::size_t count = (tensor ? 1U : 2U) + (policy ? 1U : 0U);
  want_operands(count, count);
  emit(Kind::lanes, Pipe::control, run_nothing);
  return true;
}

// st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2,.v4}.type [to], values, [mbar]
bool Decoder::async_store() {
  if (!hopper()) return false;
  const Type type = last_type();
  has("async");
  has("weak");
  if (!has("shared::cluster") || !has("mbarrier::complete_tx::bytes")) return false;
  const std::size_t count = has("v4") ? 4 : has("v2") ? 2 : 1;
  const bool known = type == Type::b32 || type == Type::u32 || type == Type::s32 ||
                     type == Type::f32 || type == Type::b64 || type == Type::u64 ||
                     type == Type::s64 || type == Type::f64;
  if (!known || count * static_cast<std::size_t>(size_of(type)) > 16) return false;
  want_operands(3, 3);
  const std::vector<Operand> parts = values(operand(1), count);
  bool wide_to = false;
  bool wide_barrier = false;
  const Ref to = whole_address(operand(0), wide_to);
  const Ref barrier = whole_address(operand(2), wide_barrier);
  std::vector<Ref> refs;
  refs.reserve(parts.size());
  for (const Operand& part : parts) refs.push_back(source(part, type));
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_async_store, {}, {to});
  read(draft, 3, barrier);
  for (std::size_t i = 0; i < count; ++i) read(draft, kAsyncStoreValue + i, refs[i]);
  draft.op.m[1] = static_cast<std::uint8_t>((wide_to ? 1U : 0U) | (wide_barrier ? 8U : 0U));
  draft.op.m[3] = static_cast<std::uint8_t>(type);
  draft.op.m[4] = static_cast<std::uint8_t>(count);
  draft.op.m[5] = static_cast<std::uint8_t>(width_of(type));
  return true;
}

}  // namespace fa_tune::emulator
