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

// The functions that know the instructions of a family, of one variant.
using Choose = Handler (*)(const LaneKey& key);
struct Families {
  Choose integer, bits, real, half, compare, convert, carry, twice, video, masks, fp8;
};
constexpr Families kPlainFamilies = {
    plain::integer_handler, plain::bits_handler,    plain::real_handler,  plain::half_handler,
    plain::compare_handler, plain::convert_handler, plain::carry_handler, plain::double_handler,
    plain::video_handler,   plain::masks_handler,   plain::fp8_handler};
#ifdef FA_TUNE_AVX2
constexpr Families kAvx2Families = {
    avx2::integer_handler, avx2::bits_handler,    avx2::real_handler,  avx2::half_handler,
    avx2::compare_handler, avx2::convert_handler, avx2::carry_handler, avx2::double_handler,
    avx2::video_handler,   avx2::masks_handler,   avx2::fp8_handler};
#endif

Choose Families::*family_of(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::convert:
    case LaneOp::convert_pair:
      return &Families::convert;
    case LaneOp::convert_fp8:
    case LaneOp::convert_fp8_pair:
      return &Families::fp8;
    case LaneOp::add_carry:
    case LaneOp::sub_carry:
    case LaneOp::mad_lo_carry:
    case LaneOp::mad_hi_carry:
      return &Families::carry;
    case LaneOp::convert_pack:
    case LaneOp::pack_bytes:
    case LaneOp::unpack_byte:
    case LaneOp::lop3_test:
    case LaneOp::prmt_mode:
    case LaneOp::fns:
    case LaneOp::bmsk:
    case LaneOp::szext:
      return &Families::masks;
    case LaneOp::video:
      return &Families::video;
    case LaneOp::select:
    case LaneOp::slct:
    case LaneOp::setp:
    case LaneOp::set:
    case LaneOp::testp:
    case LaneOp::predicate_and:
    case LaneOp::predicate_or:
    case LaneOp::predicate_xor:
    case LaneOp::predicate_mov:
      return &Families::compare;
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
      return &Families::bits;
    default:
      break;
  }
  if (key.type == Type::f64) return &Families::twice;
  if (key.type == Type::f32) return &Families::real;
  return is_float(key.type) ? &Families::half : &Families::integer;
}

}  // namespace

Handler lanes_handler(const LaneKey& key, [[maybe_unused]] bool avx2) {
#ifdef FA_TUNE_AVX2
  if (avx2) return (kAvx2Families.*family_of(key))(key);
#endif
  return (kPlainFamilies.*family_of(key))(key);
}

Handler lanes_handler(const LaneKey& key) { return lanes_handler(key, use_avx2()); }

}  // namespace fa_tune::emulator
