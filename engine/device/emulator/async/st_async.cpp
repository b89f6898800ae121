#include "engine/device/emulator/async/st_async.hpp"

#include <cstring>

#include "engine/device/emulator/async/bulk_ops.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

// st.async: how it is decoded, and how it runs as one more asynchronous operation.

namespace fa_tune::emulator {
namespace {

constexpr std::size_t first_value = 11;

struct Parcel {
  std::array<std::byte, 16> bytes{};
  std::uint32_t size = 0;
};

Parcel parcel_of(const Warp& warp, const Op& op, int lane) {
  Parcel parcel;
  const auto step = static_cast<std::uint32_t>(size_of(static_cast<Type>(op.m[3])));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const std::uint16_t index = op.r[first_value + i];
    const std::uint64_t value =
        op.m[5] == 8 ? std::uint64_t{slot64(warp, index)[lane]} : slot(warp, index)[lane];
    std::memcpy(parcel.bytes.data() + parcel.size, &value, step);
    parcel.size += step;
  }
  return parcel;
}

std::byte* place_of(Warp& warp, const Op& op, int lane, std::uint64_t address,
                    std::uint32_t bytes) {
  return resolve_one(warp, op, lane, {.space = Space::cluster, .bytes = bytes, .write = true},
                     address);
}

// Tells the Sanitizer, if there is one, when the store is issued. False after a report.
bool watch(Warp& warp, const Op& op, int lane, const std::byte* to, const std::byte* barrier,
           std::uint32_t bytes) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  return sanitizer == nullptr ||
         sanitizer->async_shared(warp, op, lane, sanitizer->by_phase(barrier), to, bytes,
                                 {.space = Space::cluster, .bytes = bytes, .write = true});
}

bool start(Warp& warp, const Op& op, int lane) {
  const BulkTarget target{bulk_operand(warp, op, 0, lane), bulk_operand(warp, op, 3, lane)};
  const Parcel parcel = parcel_of(warp, op, lane);
  const std::byte* to = place_of(warp, op, lane, target.address, parcel.size);
  if (to == nullptr) return false;
  const std::byte* barrier = place_of(warp, op, lane, target.barrier, 8);
  if (barrier == nullptr || !watch(warp, op, lane, to, barrier, parcel.size)) return false;
  warp.cta->cluster().start({&warp,
                             &op,
                             lane,
                             AsyncOperation::no_group,
                             [&warp, &op, lane, target, parcel] {
                               std::byte* place =
                                   place_of(warp, op, lane, target.address, parcel.size);
                               if (place == nullptr) return;
                               std::memcpy(place, parcel.bytes.data(), parcel.size);
                               (void)complete_bulk(warp, op, lane, target, parcel.size);
                             },
                             {}});
  return !warp.cta->cluster().in_trouble();
}

}  // namespace

void run_async_store(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    if (!start(warp_of(lanes), op, std::countr_zero(rest))) return;
  }
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
  std::vector<Operand> values = {operand(1)};
  if (count > 1) {
    if (operand(1).kind != Operand::Kind::vector) malformed("a vector is expected");
    values = operand(1).parts;
  }
  if (values.size() != count) malformed("the vector has another number of values");
  bool wide_to = false;
  bool wide_barrier = false;
  const Ref to = whole_address(operand(0), wide_to);
  const Ref barrier = whole_address(operand(2), wide_barrier);
  std::vector<Ref> refs;
  refs.reserve(values.size());
  for (const Operand& value : values) refs.push_back(source(value, type));
  Draft& draft = emit(Kind::memory, Pipe::load_store, run_async_store);
  read(draft, 0, to);
  read(draft, 3, barrier);
  for (std::size_t i = 0; i < count; ++i) read(draft, first_value + i, refs[i]);
  draft.op.m[1] = static_cast<std::uint8_t>((wide_to ? 1U : 0U) | (wide_barrier ? 8U : 0U));
  draft.op.m[3] = static_cast<std::uint8_t>(type);
  draft.op.m[4] = static_cast<std::uint8_t>(count);
  draft.op.m[5] = static_cast<std::uint8_t>(width_of(type));
  return true;
}

}  // namespace fa_tune::emulator
