#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

// Where wmma's fragments keep their elements. The PTX ISA leaves it open; this is what ptxas 13
// makes for sm_80, sm_89 and sm_90, read off its machine code: the fragments of the one or two
// mma.m16n8 that a wmma.mma is there.
//
// A fragment is a list of 8 x 16-byte blocks (f64: 8 x 32), a register each, whose lane l holds
// line l / 4 and four bytes from 4 (l % 4). Lines are rows of A and of C and D, columns of B; for
// shape m8n32k16, whose two factors change places, columns of C and D.
struct WmmaFragment {
  enum class Role : std::uint8_t {
    left,   // groups of 16 lines: lines 0..7, lines 8..15, then the same of the next 16 bytes of k
    right,  // groups of 8 lines: one register after the other along k
    sums,   // of 16 lines and 8 places; a pair of registers holds neighbours, or one both (f16)
  };
  Role role = Role::left;
  int bits = 16;      // of an element
  int registers = 0;  // as the ISA counts them
  int distinct = 0;   // those that follow hold the same once more (f16's A and B)
  int k_blocks = 1;   // registers along k
  bool wide = false;  // sums: the next four (f16: two) registers are the next 8 places, not lines
  bool contiguous = true;  // the places of a line lie side by side in memory
  int line_length = 0;     // elements between lines where no stride is given

  // First line and place of what a register holds; a sums register of 32 or 64 bits holds every
  // second place from there.
  struct Place {
    int line;
    int place;
  };
  Place place_of(int index) const;

  // In m[1], m[3], m[4], m[5] and `target` of an Op.
  void pack(Op& op) const;
  static WmmaFragment unpack(const Op& op);
};

// A shape by its name; the types go with shapes as the ISA says.
struct WmmaShape {
  int m = 0;
  int n = 0;
  int k = 0;
};
std::optional<WmmaShape> wmma_shape(std::string_view name);

// The fragment of operand 'a', 'b' or 'c' (d's too) with elements of `type` in memory; nothing if
// there is none. `by_rows`: layout .row.
std::optional<WmmaFragment> wmma_fragment(const WmmaShape& shape, char operand,
                                          std::string_view type, bool by_rows);

}  // namespace fa_tune::emulator
