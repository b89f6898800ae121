#include <algorithm>

#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

// mbarriers, the barrier of a cluster, and addresses within a cluster.

namespace fa_tune::emulator {
namespace {

struct Named {
  std::string_view name;
  MbarrierOp what;
};
constexpr Named kOperations[] = {
    {"init", MbarrierOp::init},           {"inval", MbarrierOp::inval},
    {"arrive", MbarrierOp::arrive},       {"arrive_drop", MbarrierOp::arrive_drop},
    {"expect_tx", MbarrierOp::expect_tx}, {"complete_tx", MbarrierOp::complete_tx},
};

}  // namespace

// Where it lies. `ordering`: the packed MemoryOrder and MemoryScope of an arrival (`otherwise`: releasing) or
// of a wait (acquiring), which are of CTA scope unless they say otherwise (PTX ISA, mbarrier.arrive).
Space Decoder::mbarrier_space(MemoryOrder otherwise, std::uint8_t& ordering) {
  const Space where = space();
  const bool narrow = std::none_of(words_.begin(), words_.end(), [](std::string_view word) {
    return word == "cluster" || word == "gpu" || word == "sys";
  });
  const Ordering given = cache_modifiers();
  ordering = packed(given.relaxed ? MemoryOrder::strong : otherwise,
                    narrow ? MemoryScope::cta : given.scope);
  if (where != Space::shared && where != Space::cluster && where != Space::generic) unknown();
  return where;
}

bool Decoder::mbarrier() {
  if (last_type() != Type::b64 || words_.size() < 3) return false;
  const std::string_view what = words_[1];
  understood_[1] = true;
  if (what == "test_wait" || what == "try_wait") return mbarrier_wait(what == "try_wait");
  if (what == "pending_count") {
    want_operands(2, 2);
    const Ref count = target(operand(0), Type::u32);
    const Ref state = source(operand(1), Type::b64);
    emit(Kind::memory, Pipe::alu, run_pending_count, {count}, {state});
    return true;
  }
  const auto* found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                   [&](const Named& each) { return each.name == what; });
  if (found == std::end(kOperations)) return false;
  const bool arrives = found->what == MbarrierOp::arrive || found->what == MbarrierOp::arrive_drop;
  const bool with_bytes = arrives && has("expect_tx");
  if (arrives) has("noComplete");
  std::uint8_t ordering = 0;
  const Space where = mbarrier_space(MemoryOrder::releasing, ordering);
  Ref state;
  Ref value;
  std::size_t at = 0;
  if (arrives) {
    want_operands(with_bytes ? 3 : 1, 3);
    // The state may be left out altogether.
    if (operand(0).kind != Operand::Kind::address) {
      if (operand(0).kind != Operand::Kind::sink) state = target(operand(0), Type::b64);
      at = 1;
    }
  } else {
    const std::size_t count = found->what == MbarrierOp::inval ? 1 : 2;
    want_operands(count, count);
  }
  if (operand_count() > at + 1) value = source(operand(at + 1), Type::u32);
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_mbarrier, {state});
  read(draft, found->what == MbarrierOp::init ? 0 : 1, value);
  address(draft, operand(at), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[3] = with_bytes ? 1 : 0;
  draft.op.m[5] = ordering;
  draft.op.m[6] = static_cast<std::uint8_t>(found->what);
  return true;
}

// p, [address], state or parity{, hint of time}
bool Decoder::mbarrier_wait(bool suspends) {
  const bool parity = has("parity");
  std::uint8_t ordering = 0;
  const Space where = mbarrier_space(MemoryOrder::acquiring, ordering);
  want_operands(3, suspends ? 4 : 3);
  const Ref p = predicate_target(operand(0));
  const Ref phase = source(operand(2), parity ? Type::u32 : Type::b64);
  Draft& draft = emit(Kind::wait, Pipe::load_store, run_mbarrier_wait, {p}, {phase});
  address(draft, operand(1), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[3] = parity ? 1 : 0;
  draft.op.m[4] = suspends ? 1 : 0;
  draft.op.m[5] = ordering;
  return true;
}

// barrier.cluster.arrive{.release|.relaxed}{.aligned}, barrier.cluster.wait{.acquire}{.aligned}
bool Decoder::cluster_barrier() {
  const bool arrives = has("arrive");
  if (!arrives && !has("wait")) return false;
  const bool aligned = has("aligned");
  const bool relaxed = has("relaxed");
  for (const std::string_view word : {"release", "acquire"}) has(word);
  want_operands(0, 0);
  Draft& draft =
      arrives ? emit(aligned ? Kind::converge : Kind::memory, Pipe::control, run_cluster_arrive)
              : emit(Kind::wait, Pipe::control, run_cluster_wait);
  draft.op.m[5] = relaxed ? 1 : 0;
  draft.op.m[6] = aligned ? 1 : 0;
  return true;
}

// mapa{.shared::cluster}.type d, address, rank; getctarank{.shared::cluster}.type d, address
bool Decoder::cluster_address() {
  const Type type = last_type();
  has("shared::cluster");
  if (type != Type::u32 && type != Type::u64) return false;
  const bool maps = root() == "mapa";
  want_operands(maps ? 3 : 2, maps ? 3 : 2);
  const Ref result = target(operand(0), maps ? type : Type::u32);
  const Ref from = source(operand(1), type);
  Ref rank;
  if (maps) rank = source(operand(2), Type::u32);
  Draft& draft =
      emit(Kind::memory, Pipe::alu, maps ? run_map_address : run_cta_rank, {result}, {from, rank});
  draft.op.m[5] = static_cast<std::uint8_t>(size_of(type));
  return true;
}

// cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [address]
bool Decoder::async_arrive() {
  if (last_type() != Type::b64 || !has("arrive") || !has("mbarrier") || !has("async")) return false;
  const bool counted = has("noinc");
  std::uint8_t ordering = 0;
  const Space where = mbarrier_space(MemoryOrder::releasing, ordering);
  want_operands(1, 1);
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_async_arrive);
  address(draft, operand(0), 8, 2);
  draft.op.m[0] = static_cast<std::uint8_t>(where);
  draft.op.m[5] = counted ? 1 : 0;
  return true;
}

}  // namespace fa_tune::emulator
