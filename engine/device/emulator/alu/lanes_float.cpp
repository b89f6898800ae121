#include <numbers>

#include "engine/device/emulator/alu/lanes_special.hpp"

// f32 arithmetic. add, sub, mul, fma, div, sqrt and rcp are correctly rounded. The approx
// instructions are computed in double and rounded once, which is within the bounds that the PTX ISA
// states for them; the hardware's own tables are not modelled.

namespace fa_tune::emulator::FA_LANES {
namespace {

// ex2.approx: below -126 the unit is asked for half the argument, and its answer is squared.
template <bool Ftz>
FA_INLINE float exp2_of(float x) {
  if constexpr (Ftz) return special_ex2(flush(x));
  const bool tiny = x < -126.0F;
  const float result = special_ex2(tiny ? x * 0.5F : x);
  return tiny ? result * result : result;
}

// log2(2^e m) = e + 2 atanh((m-1)/(m+1)) / ln 2, m in [sqrt(1/2), sqrt(2)), by its series to s^13.
FA_INLINE float log2_of(float x) {
  constexpr double inverse_ln2 = std::numbers::log2e;
  const std::uint64_t bits = bits_of(static_cast<double>(x));
  // Bias so that the mantissa wraps at sqrt(2).
  const std::uint64_t above = (bits & 0xfffffffffffffU) > 0x6a09e667f3bcdU ? 1 : 0;
  const auto exponent = static_cast<std::int32_t>((bits >> 52 & 0x7ffU) + above) - 1023;
  const double m = double_of((bits & 0xfffffffffffffU) | (0x3ffU - above) << 52);
  const double s = (m - 1.0) / (m + 1.0);
  const double q = s * s;
  double p = 2.0 / 13;
  p = p * q + 2.0 / 11;
  p = p * q + 2.0 / 9;
  p = p * q + 2.0 / 7;
  p = p * q + 2.0 / 5;
  p = p * q + 2.0 / 3;
  p = p * q + 2.0;
  auto result = static_cast<float>(static_cast<double>(exponent) + s * p * inverse_ln2);
  result = x == 0.0F ? float_of(0xff800000U) : result;
  result = x > float_of(0x7f7fffffU) ? x : result;
  return x >= 0.0F ? result : float_of(0x7fffffffU);
}

FA_INLINE float least_or_nan(float a, float b) {
  return (a != a || b != b) ? float_of(0x7fffffffU) : least(a, b);
}
FA_INLINE float greatest_or_nan(float a, float b) {
  return (a != a || b != b) ? float_of(0x7fffffffU) : canonical(greatest(a, b));
}

template <bool Ftz>
FA_INLINE float magnitude(float a) {
  return float_of(bits_of(maybe_flush<Ftz>(a)) & 0x7fffffffU);
}
FA_INLINE float with_sign_of_product(float value, float a, float b) {
  const std::uint32_t sign = (bits_of(a) ^ bits_of(b)) & 0x80000000U;
  return value == value ? float_of(bits_of(value) ^ sign) : value;
}

// rcp, div and the like as ptxas has the unit compute them: what it would flush is scaled first.
template <bool Ftz>
FA_INLINE float reciprocal(float x) {
  if constexpr (Ftz) return special_rcp(x);
  const float size = float_of(bits_of(x) & 0x7fffffffU);
  float scale = size < 0x1p-126F ? 0x1p24F : 1.0F;
  scale = size > 0x1p126F ? 0.25F : scale;
  return canonical(scale * special_rcp(x * scale));
}
template <bool Ftz>
FA_INLINE float root(float x) {
  if constexpr (Ftz) return special_sqrt(x);
  const bool tiny = float_of(bits_of(x) & 0x7fffffffU) < 0x1p-126F;
  const float result = special_sqrt(tiny ? x * 0x1p24F : x);
  return tiny ? result * 0x1p-12F : result;
}
template <bool Ftz>
FA_INLINE float reciprocal_root(float x) {
  if constexpr (Ftz) return special_rsqrt(x);
  const bool tiny = float_of(bits_of(x) & 0x7fffffffU) < 0x1p-126F;
  const float result = special_rsqrt(tiny ? x * 0x1p24F : x);
  return canonical(tiny ? result * 0x1p12F : result);
}
template <bool Ftz, bool Full>
FA_INLINE float divided_roughly(float a, float b) {
  float x = maybe_flush<Ftz>(a);
  float y = maybe_flush<Ftz>(b);
  const float size = float_of(bits_of(y) & 0x7fffffffU);
  float scale = !Ftz && size < 0x1p-126F ? 0x1p24F : 1.0F;
  if (Full) scale = size > 0x1p126F ? 0.25F : scale;
  x = maybe_flush<Ftz>(x * scale);
  y *= scale;
  return maybe_flush<Ftz>(canonical(special_rcp(y) * x));
}

template <bool Ftz>
Handler single(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::add:
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(canonical(maybe_flush<Ftz>(a) + maybe_flush<Ftz>(b)));
      });
    case LaneOp::sub:
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(canonical(maybe_flush<Ftz>(a) - maybe_flush<Ftz>(b)));
      });
    case LaneOp::mul:
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(canonical(maybe_flush<Ftz>(a) * maybe_flush<Ftz>(b)));
      });
    case LaneOp::fma:
      return three<float, float, float, float>([](float a, float b, float c) {
        return maybe_flush<Ftz>(canonical(
            __builtin_fmaf(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b), maybe_flush<Ftz>(c))));
      });
    case LaneOp::div:
      if (key.approx) {
        return key.full ? two<float, float, float>(
                              [](float a, float b) { return divided_roughly<Ftz, true>(a, b); })
                        : two<float, float, float>(
                              [](float a, float b) { return divided_roughly<Ftz, false>(a, b); });
      }
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(canonical(maybe_flush<Ftz>(a) / maybe_flush<Ftz>(b)));
      });
    case LaneOp::min:
      if (key.nan) {
        return two<float, float, float>([](float a, float b) {
          return least_or_nan(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b));
        });
      }
      return two<float, float, float>(
          [](float a, float b) { return least(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b)); });
    case LaneOp::max:
      if (key.nan) {
        return two<float, float, float>([](float a, float b) {
          return greatest_or_nan(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b));
        });
      }
      return two<float, float, float>([](float a, float b) {
        return canonical(greatest(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b)));
      });
    case LaneOp::abs:
      return one<float, float>(
          [](float a) { return float_of(bits_of(maybe_flush<Ftz>(a)) & 0x7fffffffU); });
    case LaneOp::neg:
      return one<float, float>(
          [](float a) { return float_of(bits_of(maybe_flush<Ftz>(a)) ^ 0x80000000U); });
    case LaneOp::sqrt:
      if (key.approx) return one<float, float>([](float a) { return canonical(root<Ftz>(a)); });
      return one<float, float>([](float a) {
        return maybe_flush<Ftz>(canonical(__builtin_sqrtf(maybe_flush<Ftz>(a))));
      });
    case LaneOp::rcp:
      if (key.approx) return one<float, float>([](float a) { return reciprocal<Ftz>(a); });
      return one<float, float>(
          [](float a) { return maybe_flush<Ftz>(canonical(1.0F / maybe_flush<Ftz>(a))); });
    case LaneOp::rsqrt:
      return one<float, float>([](float a) { return reciprocal_root<Ftz>(a); });
    case LaneOp::ex2:
      return one<float, float>([](float a) { return exp2_of<Ftz>(a); });
    case LaneOp::lg2:
      return one<float, float>([](float a) { return log2_of(maybe_flush<Ftz>(a)); });
    case LaneOp::sin:
      return one<float, float>([](float a) {
        return maybe_flush<Ftz>(
            canonical(static_cast<float>(__builtin_sin(static_cast<double>(maybe_flush<Ftz>(a))))));
      });
    case LaneOp::cos:
      return one<float, float>([](float a) {
        return maybe_flush<Ftz>(
            canonical(static_cast<float>(__builtin_cos(static_cast<double>(maybe_flush<Ftz>(a))))));
      });
    case LaneOp::tanh:
      return one<float, float>([](float a) {
        return canonical(static_cast<float>(__builtin_tanh(static_cast<double>(a))));
      });
    case LaneOp::copysign:  // the sign of a, the magnitude of b
      return two<float, float, float>([](float a, float b) {
        return float_of((bits_of(a) & 0x80000000U) | (bits_of(b) & 0x7fffffffU));
      });
    default:
      return nullptr;
  }
}

// .rz, .rm, .rp: computed in double, rounded to odd, then once to a float in that direction.
template <bool Ftz, Round R, bool Sat>
FA_INLINE float directed_result(double odd) {
  const float rounded = round_to_float(odd, R);
  return maybe_flush<Ftz>(Sat ? saturate(rounded) : canonical(rounded));
}
template <bool Ftz>
FA_INLINE double widened(float value) {
  return static_cast<double>(maybe_flush<Ftz>(value));
}
template <bool Ftz, Round R, bool Sat>
FA_INLINE float directed_sum(double a, double b) {
  const double sum = add_odd(a, b);
  // An exact zero of opposite operands is -0 when rounding down.
  if (sum == 0.0 && R == Round::down && a != 0.0) return Sat ? 0.0F : -0.0F;
  return directed_result<Ftz, R, Sat>(sum);
}

template <bool Ftz, Round R, bool Sat>
Handler directed(LaneOp op) {
  switch (op) {
    case LaneOp::add:
      return two<float, float, float>([](float a, float b) {
        return directed_sum<Ftz, R, Sat>(widened<Ftz>(a), widened<Ftz>(b));
      });
    case LaneOp::sub:
      return two<float, float, float>([](float a, float b) {
        return directed_sum<Ftz, R, Sat>(widened<Ftz>(a), -widened<Ftz>(b));
      });
    case LaneOp::mul:
      return two<float, float, float>([](float a, float b) {
        return directed_result<Ftz, R, Sat>(widened<Ftz>(a) * widened<Ftz>(b));
      });
    case LaneOp::fma:
      return three<float, float, float, float>([](float a, float b, float c) {
        return directed_sum<Ftz, R, Sat>(widened<Ftz>(a) * widened<Ftz>(b), widened<Ftz>(c));
      });
    default:
      break;
  }
  if constexpr (Sat) return nullptr;
  switch (op) {
    case LaneOp::div:
      return two<float, float, float>([](float a, float b) {
        return directed_result<Ftz, R, Sat>(div_odd(widened<Ftz>(a), widened<Ftz>(b)));
      });
    case LaneOp::rcp:
      return one<float, float>(
          [](float a) { return directed_result<Ftz, R, Sat>(div_odd(1.0, widened<Ftz>(a))); });
    case LaneOp::sqrt:
      return one<float, float>(
          [](float a) { return directed_result<Ftz, R, Sat>(sqrt_odd(widened<Ftz>(a))); });
    default:
      return nullptr;
  }
}

template <bool Ftz, bool Sat>
Handler any_direction(LaneOp op, Round round) {
  switch (round) {
    case Round::zero:
      return directed<Ftz, Round::zero, Sat>(op);
    case Round::down:
      return directed<Ftz, Round::down, Sat>(op);
    default:
      return directed<Ftz, Round::up, Sat>(op);
  }
}

// min and max of magnitudes, with the sign of the product (.xorsign.abs).
template <bool Ftz>
Handler of_magnitudes(const LaneKey& key) {
  const bool is_min = key.op == LaneOp::min;
  if (key.nan) {
    return is_min ? two<float, float, float>([](float a, float b) {
      return with_sign_of_product(least_or_nan(magnitude<Ftz>(a), magnitude<Ftz>(b)), a, b);
    })
                  : two<float, float, float>([](float a, float b) {
                      return with_sign_of_product(
                          greatest_or_nan(magnitude<Ftz>(a), magnitude<Ftz>(b)), a, b);
                    });
  }
  return is_min ? two<float, float, float>([](float a, float b) {
    return with_sign_of_product(least(magnitude<Ftz>(a), magnitude<Ftz>(b)), a, b);
  })
                : two<float, float, float>([](float a, float b) {
                    return with_sign_of_product(
                        canonical(greatest(magnitude<Ftz>(a), magnitude<Ftz>(b))), a, b);
                  });
}

template <bool Ftz>
Handler saturated(LaneOp op) {
  switch (op) {
    case LaneOp::add:
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(saturate(maybe_flush<Ftz>(a) + maybe_flush<Ftz>(b)));
      });
    case LaneOp::sub:
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(saturate(maybe_flush<Ftz>(a) - maybe_flush<Ftz>(b)));
      });
    case LaneOp::mul:
      return two<float, float, float>([](float a, float b) {
        return maybe_flush<Ftz>(saturate(maybe_flush<Ftz>(a) * maybe_flush<Ftz>(b)));
      });
    case LaneOp::fma:
      return three<float, float, float, float>([](float a, float b, float c) {
        return maybe_flush<Ftz>(saturate(
            __builtin_fmaf(maybe_flush<Ftz>(a), maybe_flush<Ftz>(b), maybe_flush<Ftz>(c))));
      });
    default:
      return nullptr;
  }
}

}  // namespace

Handler real_handler(const LaneKey& key) {
  if (key.type != Type::f32 || key.relu) return nullptr;
  if (key.xorsign) {
    if (key.op != LaneOp::min && key.op != LaneOp::max) return nullptr;
    return key.ftz ? of_magnitudes<true>(key) : of_magnitudes<false>(key);
  }
  if (key.round != Round::nearest) {
    if (key.sat) {
      return key.ftz ? any_direction<true, true>(key.op, key.round)
                     : any_direction<false, true>(key.op, key.round);
    }
    return key.ftz ? any_direction<true, false>(key.op, key.round)
                   : any_direction<false, false>(key.op, key.round);
  }
  if (key.sat) return key.ftz ? saturated<true>(key.op) : saturated<false>(key.op);
  return key.ftz ? single<true>(key) : single<false>(key);
}

}  // namespace fa_tune::emulator::FA_LANES
