#include <algorithm>
#include <bit>

#include "tools/bench/emulator/tensor_core/parts.hpp"

namespace fa_tune::bench {

using emulator::Accumulator;
using emulator::bits_of;
using emulator::Element;

namespace {

// A floating-point format by its widths.
struct Real {
  int exponent_bits;
  int fraction;
  int unused = 0;       // bits below the fraction, which the hardware is to ignore
  bool finite = false;  // e4m3: all ones is the only NaN
};

Real real_of(Element element) {
  switch (element) {
    case Element::bf16:
      return {8, 7};
    case Element::tf32:
      return {8, 10, 13};
    case Element::e4m3:
      return {4, 3, 0, true};
    case Element::e5m2:
      return {5, 2};
    default:
      return {5, 10};
  }
}

constexpr Real kF16{5, 10};
constexpr Real kF32{8, 23};
constexpr Real kF64{11, 52};

Real real_of_a(const Format& format) { return format.f64 ? kF64 : real_of(format.kind.a); }
Real real_of_b(const Format& format) { return format.f64 ? kF64 : real_of(format.kind.b); }
Real real_of_c(const Format& format) {
  if (format.f64) return kF64;
  return format.kind.accumulator == Accumulator::f16 ? kF16 : kF32;
}

int bias(const Real& real) { return (1 << (real.exponent_bits - 1)) - 1; }
int top(const Real& real) { return (1 << real.exponent_bits) - 1; }

// A number whose exponent is between the two given, as far as the format goes.
std::uint64_t number(const Real& real, int least, int most, Random& random) {
  const int lowest = 0;  // biased: subnormal
  const int highest = real.finite ? top(real) : top(real) - 1;
  const auto span = static_cast<std::uint64_t>(std::max(0, most - least) + 1);
  const int drawn = least + static_cast<int>(random.below(span)) + bias(real);
  const auto biased = static_cast<std::uint64_t>(std::clamp(drawn, lowest, highest));
  std::uint64_t mantissa = random.next() & ((std::uint64_t{1} << real.fraction) - 1);
  const std::uint64_t pick = random.below(10);
  if (pick == 0) mantissa = 0;
  if (pick == 1) mantissa = (std::uint64_t{1} << real.fraction) - 1;
  if (real.finite && static_cast<int>(biased) == top(real)) {
    mantissa = std::min(mantissa, (std::uint64_t{1} << real.fraction) - 2);
  }
  const std::uint64_t sign = random.below(2) << (real.exponent_bits + real.fraction);
  const std::uint64_t rest = random.next() & ((std::uint64_t{1} << real.unused) - 1);
  return (sign | biased << real.fraction | mantissa) << real.unused | rest;
}

std::uint64_t zero(const Real& real, Random& random) {
  return random.below(2) << (real.exponent_bits + real.fraction + real.unused);
}

std::uint64_t infinity_or_nan(const Real& real, Random& random) {
  const std::uint64_t infinity = static_cast<std::uint64_t>(top(real)) << real.fraction;
  const std::uint64_t all = (std::uint64_t{1} << real.fraction) - 1;
  const std::uint64_t sign = zero(real, random);
  if (real.finite) return sign | infinity | all;
  const bool nan = random.below(3) == 0;
  const std::uint64_t mantissa = nan ? std::max<std::uint64_t>(random.next() & all, 1) : 0;
  // An infinity of tf32 may have bits of f32 behind it, which make it a NaN of f32.
  const std::uint64_t rest = random.next() & ((std::uint64_t{1} << real.unused) - 1);
  return sign | (infinity | mantissa) << real.unused | (random.below(2) == 0 ? rest : 0);
}

// Where the exponents of a, b and c lie.
struct Window {
  int a_least, a_most, b_least, b_most, c_least, c_most;
};

Window window_of(const Format& format, Draw draw, Random& random) {
  const int a = bias(real_of_a(format));
  const int b = bias(real_of_b(format));
  const int c = bias(real_of_c(format));
  const int reach = std::min({a + b, c});
  int center = 0;
  int spread = 3;
  switch (draw) {
    case Draw::near:
      break;
    case Draw::tiny:
      center = -c - real_of_c(format).fraction / 2;
      spread = 2 + static_cast<int>(random.below(12));
      break;
    case Draw::faint:
      center = -c - static_cast<int>(random.below(36));
      spread = static_cast<int>(random.below(16));
      break;
    case Draw::huge:
      center = c;
      break;
    case Draw::window:
    case Draw::cancelling:
    case Draw::cancelled:
      center = static_cast<int>(random.below(static_cast<std::uint64_t>(2 * reach))) - reach;
      spread = static_cast<int>(random.below(10));
      break;
    default:
      return {-a, a + 1, -b, b + 1, -c, c + 1};
  }
  const int half = center / 2;
  return {half - spread / 2,          half + spread / 2,   center - half - spread / 2,
          center - half + spread / 2, center - spread - 4, center + spread + 4};
}

void draw_reals(const Format& format, Draw draw, Random& random, Operands& operands) {
  const Window window = window_of(format, draw, random);
  const auto one = [&](const Real& real, int least, int most) {
    const std::uint64_t pick = random.below(100);
    if (draw == Draw::zeros && pick < 30) return zero(real, random);
    if (draw == Draw::zeros && pick < 50) return number(real, -bias(real), -bias(real), random);
    if (draw == Draw::special && pick < 2) return infinity_or_nan(real, random);
    if (draw == Draw::special && pick < 6) return zero(real, random);
    return number(real, least, most, random);
  };
  for (auto& row : operands.a) {
    for (auto& x : row) x = one(real_of_a(format), window.a_least, window.a_most);
  }
  for (auto& column : operands.b) {
    for (auto& x : column) x = one(real_of_b(format), window.b_least, window.b_most);
  }
  for (auto& row : operands.c) {
    for (auto& x : row) {
      const bool far = random.below(4) == 0;
      const int reach = bias(real_of_c(format));
      // A c of any size would be the largest of all terms.
      if (draw == Draw::faint && random.below(4) != 0) {
        x = zero(real_of_c(format), random);
        continue;
      }
      x = one(real_of_c(format), far ? -reach : window.c_least, far ? reach : window.c_most);
    }
  }
  if (draw == Draw::all_exponents) {
    // A c that is as large as f32 allows hides every product of smaller elements.
    const int most = bias(real_of_a(format)) + bias(real_of_b(format)) + 2;
    for (auto& row : operands.c) {
      for (auto& x : row) {
        if (random.below(4) != 0) x = number(real_of_c(format), -most, most, random);
      }
    }
  }
  if (draw == Draw::cancelling) {
    const Real a = real_of_a(format);
    const std::uint64_t sign = std::uint64_t{1} << (a.exponent_bits + a.fraction + a.unused);
    for (auto& row : operands.a) {
      for (std::size_t k = 0; k < 32; k += 2) row[k + 1] = row[k] ^ sign;
    }
    for (auto& column : operands.b) {
      for (std::size_t k = 0; k < 32; k += 2) {
        column[k + 1] = column[k];
        if (random.below(8) == 0) column[k + 1] ^= std::uint64_t{1} << real_of_b(format).unused;
      }
    }
  }
}

void draw_integers(Draw draw, Random& random, Operands& operands) {
  const bool large = draw == Draw::huge || draw == Draw::cancelled;
  const auto byte = [&]() -> std::uint64_t {
    if (draw == Draw::zeros && random.below(3) == 0) return 0;
    if (large && random.below(2) == 0) return random.below(2) == 0 ? 0x80 : 0x7F;
    return random.next() & 0xFF;
  };
  for (auto& row : operands.a) {
    for (auto& x : row) x = byte();
  }
  for (auto& column : operands.b) {
    for (auto& x : column) x = byte();
  }
  for (auto& row : operands.c) {
    for (auto& x : row) {
      x = random.next() & 0xFFFFFFFF;
      // Where a sum wraps around or clamps.
      if (large) x = (0x7FFFFFFF + random.below(1 << 20) - (1 << 19)) & 0xFFFFFFFF;
      if (draw == Draw::near) x = random.below(1000);
    }
  }
}

struct Place {
  int register_index;
  int lane;
  int shift;
};

// Element k of line `line` (a row of A, a column of B), by bits; see the PTX ISA's fragments.
Place place_of(int line, int k, int bits, int lines_of_registers) {
  const int from = k * bits;
  return {line / 8 + lines_of_registers * (from / 128), line % 8 * 4 + from % 128 / 32, from % 32};
}

Place place_of_f64(int line, int k, int lines_of_registers) {
  return {line / 8 + lines_of_registers * (k / 4), line % 8 * 4 + k % 4, 0};
}

Place place_of_sum(const Format& format, int row, int column) {
  const int lane = row % 8 * 4 + column / 2;
  if (!format.f64 && format.kind.accumulator == Accumulator::f16) {
    return {row / 8, lane, column % 2 * 16};
  }
  return {row / 8 * 2 + column % 2, lane, 0};
}

void put(Registers::Register* registers, const Place& place, std::uint64_t bits) {
  registers[place.register_index][static_cast<std::size_t>(place.lane)] |= bits << place.shift;
}

}  // namespace

std::string to_text(Draw draw) {
  constexpr const char* names[] = {"all exponents", "near one", "window", "zeros",
                                   "tiny",          "faint",    "huge",   "special",
                                   "cancelling",    "cancelled"};
  return names[static_cast<int>(draw)];
}

Operands draw_operands(const Format& format, Draw draw, Random& random) {
  Operands operands;
  operands.draw = draw;
  if (!format.f64 && format.kind.accumulator == Accumulator::s32) {
    draw_integers(draw, random, operands);
  } else {
    draw_reals(format, draw, random, operands);
  }
  return operands;
}

Registers to_registers(const Format& format, const Operands& operands) {
  Registers registers;
  const int groups = format.m / 8;
  for (int row = 0; row < format.m; ++row) {
    for (int k = 0; k < format.kind.k; ++k) {
      const Place place = format.f64 ? place_of_f64(row, k, groups)
                                     : place_of(row, k, bits_of(format.kind.a), groups);
      put(registers.a.data(), place, operands.a[row][k]);
    }
    for (int column = 0; column < 8; ++column) {
      put(registers.c.data(), place_of_sum(format, row, column), operands.c[row][column]);
    }
  }
  for (int column = 0; column < 8; ++column) {
    for (int k = 0; k < format.kind.k; ++k) {
      const Place place =
          format.f64 ? place_of_f64(column, k, 1) : place_of(column, k, bits_of(format.kind.b), 1);
      put(registers.b.data(), place, operands.b[column][k]);
    }
  }
  return registers;
}

std::array<std::array<std::uint64_t, 8>, 16> from_registers(
    const Format& format, const std::array<Registers::Register, 4>& d) {
  std::array<std::array<std::uint64_t, 8>, 16> result{};
  for (int row = 0; row < format.m; ++row) {
    for (int column = 0; column < 8; ++column) {
      const Place place = place_of_sum(format, row, column);
      const std::uint64_t word =
          d[place.register_index][static_cast<std::size_t>(place.lane)] >> place.shift;
      const bool half = !format.f64 && format.kind.accumulator == Accumulator::f16;
      result[row][column] = half ? word & 0xFFFF : word;
    }
  }
  return result;
}

std::array<Registers::Register, 4> emulate(const Format& format, const Registers& registers) {
  std::array<Registers::Register, 4> result{};
  if (format.f64) {
    emulator::Double words[20][32];
    const auto fill = [&](int first, const auto& from) {
      for (const auto& each : from) {
        for (std::size_t lane = 0; lane < 32; ++lane) {
          words[first][lane] = std::bit_cast<double>(each[lane]);
        }
        ++first;
      }
    };
    fill(0, registers.a);
    fill(8, registers.b);
    fill(12, registers.c);
    emulator::ConstLanes64 a[8];
    emulator::ConstLanes64 b[4];
    emulator::ConstLanes64 c[4];
    emulator::Lanes64 d[4];
    for (int i = 0; i < 8; ++i) a[i] = words[i];
    for (int i = 0; i < 4; ++i) {
      b[i] = words[8 + i];
      c[i] = words[12 + i];
      d[i] = words[12 + i];
    }
    emulator::mma_f64(format.m, format.kind.k, d, a, b, c);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t lane = 0; lane < 32; ++lane) {
        result[i][lane] = std::bit_cast<std::uint64_t>(double{words[12 + i][lane]});
      }
    }
    return result;
  }
  using Words = std::array<std::uint32_t, 32>;
  std::array<Words, 4> a_words{};
  std::array<Words, 2> b_words{};
  std::array<Words, 4> sums{};
  emulator::ConstLanes a[4];
  emulator::ConstLanes b[2];
  emulator::ConstLanes c[4];
  emulator::Lanes d[4];
  const auto narrow = [](const Registers::Register& from, Words& to) {
    for (std::size_t lane = 0; lane < 32; ++lane) to[lane] = static_cast<std::uint32_t>(from[lane]);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    // A product of 8 rows is the lower half of one of 16.
    if (format.m == 16 || i % 2 == 0) narrow(registers.a[format.m == 16 ? i : i / 2], a_words[i]);
    narrow(registers.c[i], sums[i]);
    a[i] = a_words[i].data();
    c[i] = sums[i].data();
    d[i] = sums[i].data();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    narrow(registers.b[i], b_words[i]);
    b[i] = b_words[i].data();
  }
  emulator::mma_m16n8(format.kind, {d, a, b, c});
  for (std::size_t i = 0; i < 4; ++i) std::copy(sums[i].begin(), sums[i].end(), result[i].begin());
  return result;
}

void cancel(const Format& format, Operands& operands, Random& random) {
  if (operands.draw != Draw::cancelled) return;
  if (!format.f64 && format.kind.accumulator == Accumulator::s32) return;
  for (auto& row : operands.c) row.fill(0);
  const Real real = real_of_c(format);
  const auto sums = from_registers(format, emulate(format, to_registers(format, operands)));
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      std::uint64_t word = sums[row][column] ^ std::uint64_t{1}
                                                   << (real.exponent_bits + real.fraction);
      if (random.below(2) == 0) word ^= random.below(8);
      operands.c[row][column] = word;
    }
  }
}

}  // namespace fa_tune::bench
