#include "engine/device/emulator/alu/lanes.hpp"

#include <cstdlib>

namespace fa_tune::emulator {
namespace {

bool use_avx2() {
#ifdef FA_TUNE_AVX2
  static const bool chosen = std::getenv("FA_TUNE_NO_AVX2") == nullptr &&
                             __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return chosen;
#else
  return false;
#endif
}

enum class Family { integer, bits, real, half, compare, convert, carry, twice, video, fp8, masks };

Family family_of(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::convert:
    case LaneOp::convert_pair:
      return Family::convert;
    case LaneOp::convert_fp8:
    case LaneOp::convert_fp8_pair:
      return Family::fp8;
    case LaneOp::add_carry:
    case LaneOp::sub_carry:
    case LaneOp::mad_lo_carry:
    case LaneOp::mad_hi_carry:
      return Family::carry;
    case LaneOp::convert_pack:
    case LaneOp::pack_bytes:
    case LaneOp::unpack_byte:
    case LaneOp::lop3_test:
    case LaneOp::prmt_mode:
    case LaneOp::fns:
    case LaneOp::bmsk:
    case LaneOp::szext:
      return Family::masks;
    case LaneOp::video:
      return Family::video;
    case LaneOp::select:
    case LaneOp::slct:
    case LaneOp::setp:
    case LaneOp::set:
    case LaneOp::testp:
    case LaneOp::predicate_and:
    case LaneOp::predicate_or:
    case LaneOp::predicate_xor:
    case LaneOp::predicate_mov:
      return Family::compare;
    case LaneOp::bit_and:
    case LaneOp::bit_or:
    case LaneOp::bit_xor:
    case LaneOp::bit_not:
    case LaneOp::cnot:
    case LaneOp::shl:
    case LaneOp::shr:
    case LaneOp::shf_left:
    case LaneOp::shf_right:
    case LaneOp::lop3:
    case LaneOp::prmt:
    case LaneOp::bfe:
    case LaneOp::bfi:
    case LaneOp::bfind:
    case LaneOp::brev:
    case LaneOp::clz:
    case LaneOp::popc:
    case LaneOp::mov:
    case LaneOp::pack:
    case LaneOp::unpack:
      return Family::bits;
    default:
      break;
  }
  if (key.type == Type::f64) return Family::twice;
  if (key.type == Type::f32) return Family::real;
  return is_float(key.type) ? Family::half : Family::integer;
}

}  // namespace

Handler lanes_handler(const LaneKey& key, [[maybe_unused]] bool avx2) {
#ifdef FA_TUNE_AVX2
  if (avx2) {
    switch (family_of(key)) {
      case Family::integer:
        return avx2::integer_handler(key);
      case Family::bits:
        return avx2::bits_handler(key);
      case Family::real:
        return avx2::real_handler(key);
      case Family::half:
        return avx2::half_handler(key);
      case Family::compare:
        return avx2::compare_handler(key);
      case Family::convert:
        return avx2::convert_handler(key);
      case Family::carry:
        return avx2::carry_handler(key);
      case Family::twice:
        return avx2::double_handler(key);
      case Family::masks:
        return avx2::masks_handler(key);
      case Family::video:
        return avx2::video_handler(key);
      case Family::fp8:
        return avx2::fp8_handler(key);
    }
  }
#endif
  switch (family_of(key)) {
    case Family::integer:
      return plain::integer_handler(key);
    case Family::bits:
      return plain::bits_handler(key);
    case Family::real:
      return plain::real_handler(key);
    case Family::half:
      return plain::half_handler(key);
    case Family::compare:
      return plain::compare_handler(key);
    case Family::convert:
      return plain::convert_handler(key);
    case Family::carry:
      return plain::carry_handler(key);
    case Family::twice:
      return plain::double_handler(key);
    case Family::masks:
      return plain::masks_handler(key);
    case Family::video:
      return plain::video_handler(key);
    case Family::fp8:
      return plain::fp8_handler(key);
  }
  return nullptr;
}

Handler lanes_handler(const LaneKey& key) { return lanes_handler(key, use_avx2()); }

}  // namespace fa_tune::emulator
