#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/emulator/ir/def_use.hpp"
#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::emulator {

struct Op;

// wgmma.mma_async: what the instruction says, but for its operands. A Program has one of these for
// each; Op::target is its number.
struct WgmmaForm {
  MmaKind kind;
  int tiles = 1;  // n / 8
  bool a_in_registers = false;
  bool a_transposed = false;  // in shared memory m, not k, is innermost
  bool b_transposed = false;  // n, not k
  bool a_negated = false;
  bool b_negated = false;
  std::vector<std::uint16_t> sums;  // slots of d, as Op::r counts them
};

// A matrix in shared memory as a 64-bit descriptor tells it (PTX ISA, "Matrix Descriptor Format").
struct MatrixDescriptor {
  std::uint32_t start = 0;    // bytes within shared memory
  std::uint32_t leading = 0;  // bytes
  std::uint32_t stride = 0;   // bytes
  std::uint32_t base = 0;     // rows by which the swizzle's pattern begins late
  unsigned swizzle_bits = 0;  // 0 none, 1: 32 bytes, 2: 64, 3: 128

  static MatrixDescriptor from(std::uint64_t bits);
  // Where 16 bytes begin: of row `row` (of m or n), the `chunk`-th of its k. K-major layouts.
  std::uint32_t along_k(std::uint32_t row, std::uint32_t chunk) const;
  // The same of 8 elements of m or n from 8 * chunk on, at `k`. MN-major layouts of 16-bit
  // elements.
  std::uint32_t across_k(std::uint32_t chunk, std::uint32_t k) const;

 private:
  std::uint32_t swizzle(std::uint32_t address) const;
};

// Slots of a warp, as a set.
class SlotSet {
 public:
  void resize(std::size_t slots) { words_.resize((slots + 63) / 64); }
  void clear();
  void set(std::uint16_t slot, bool value = true) {
    std::uint64_t& word = words_[slot / 64];
    const std::uint64_t bit = std::uint64_t{1} << slot % 64;
    word = value ? word | bit : word & ~bit;
  }
  bool has(std::uint16_t slot) const {
    return slot / 64U < words_.size() && (words_[slot / 64] >> slot % 64 & 1U) != 0;
  }
  bool meets(std::span<const std::uint16_t> slots) const;

 private:
  std::vector<std::uint64_t> words_;
};

// The wgmma operations of a warp that nothing has waited for. They read shared memory, and write
// their sums, at once or when a wait covers them, as the interleaving has it.
struct WgmmaFlight {
  struct Operation {
    const Op* op = nullptr;
    std::uint32_t group = 0;
    bool done = false;
    bool accumulate = false;
    std::uint64_t a = 0;  // descriptors
    std::uint64_t b = 0;
    // The registers of A as they were at the issue: their slots may serve others afterwards.
    std::array<std::array<std::uint32_t, 32>, 4> registers{};
  };
  std::vector<Operation> operations;
  std::uint32_t committed = 0;  // groups
  SlotSet sums;                 // that an operation under way may write
  // For checked launches: whether wgmma.fence has come at all, and what has been written since.
  bool fenced = false;
  SlotSet unfenced;

  void start(std::size_t slots);
};

}  // namespace fa_tune::emulator
