#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fa_tune::emulator {

// Which values each instruction of a Program reads and writes: what its operands say, its guard
// among what is read. Constants and the predicates that never change are left out. A write under a
// guard is a write; that it keeps the old value of some lanes is not listed as a read.
template <class Name>
class DefUseTable {
 public:
  // Of the next instruction.
  void add(std::span<const Name> reads, std::span<const Name> writes) {
    places_.insert(places_.end(), reads.begin(), reads.end());
    firsts_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.insert(places_.end(), writes.begin(), writes.end());
    firsts_.push_back(static_cast<std::uint32_t>(places_.size()));
  }

  std::span<const Name> reads(std::size_t op) const { return part(2 * op); }
  std::span<const Name> writes(std::size_t op) const { return part(2 * op + 1); }
  std::size_t size() const { return firsts_.size() / 2; }  // instructions

 private:
  std::span<const Name> part(std::size_t i) const {
    return std::span(places_).subspan(firsts_[i], firsts_[i + 1] - firsts_[i]);
  }

  std::vector<Name> places_;
  std::vector<std::uint32_t> firsts_ = {0};
};

// A value is named by its place: slots of registers as Op::r counts them (both of a 64-bit
// register), then predicates, the first of which is Program::slots.
using DefUse = DefUseTable<std::uint16_t>;
// A value is named as the PTX text does, before registers were given places: by the number of its
// register, which no other value has. Registers come first, then predicates.
using ValueDefUse = DefUseTable<std::uint32_t>;

}  // namespace fa_tune::emulator
