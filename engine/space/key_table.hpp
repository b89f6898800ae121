#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Private to engine/space.
namespace fa_tune::space {

// Numbers keys of 64-bit words, of any lengths, in the order in which they first come. Keys lie
// one behind the other in one array: a space asks for hundreds of thousands of them.
class KeyTable {
 public:
  // The number of a key, and whether it is new.
  std::pair<std::uint32_t, bool> insert(std::span<const std::uint64_t> key) {
    if (2 * (starts_.size() + 1) > slots_.size()) grow();
    const std::uint64_t hash = hash_of(key);
    std::size_t slot = hash & (slots_.size() - 1);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    for (; slots_[slot].number != kNone; slot = (slot + 1) & (slots_.size() - 1))
      if (slots_[slot].tag == tag && equal(slots_[slot].number, key))
        return {slots_[slot].number, false};
    const auto number = static_cast<std::uint32_t>(starts_.size());
    slots_[slot] = {tag, number};
    starts_.push_back(words_.size());
    words_.insert(words_.end(), key.begin(), key.end());
    return {number, true};
  }

  std::size_t size() const { return starts_.size(); }

 private:
  struct Slot {
    std::uint32_t tag = 0;  // the upper half of the key's hash
    std::uint32_t number = kNone;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Mixes word by word with the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
  static std::uint64_t hash_of(std::span<const std::uint64_t> key) {
    std::uint64_t hash = key.size();
    for (const std::uint64_t word : key) {
      hash = (hash ^ word) + 0x9E3779B97F4A7C15;
      hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
      hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
      hash ^= hash >> 31;
    }
    return hash;
  }

  std::span<const std::uint64_t> key_of(std::uint32_t number) const {
    const std::size_t end = number + 1 < starts_.size() ? starts_[number + 1] : words_.size();
    return {words_.data() + starts_[number], end - starts_[number]};
  }

  bool equal(std::uint32_t number, std::span<const std::uint64_t> key) const {
    const auto other = key_of(number);
    if (other.size() != key.size()) return false;
    for (std::size_t i = 0; i < key.size(); ++i)
      if (other[i] != key[i]) return false;
    return true;
  }

  void grow() {
    constexpr std::size_t least_slots = 16;
    slots_.assign(slots_.empty() ? least_slots : 2 * slots_.size(), Slot{});
    for (std::uint32_t number = 0; number < starts_.size(); ++number) {
      const std::uint64_t hash = hash_of(key_of(number));
      std::size_t slot = hash & (slots_.size() - 1);
      while (slots_[slot].number != kNone) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = {static_cast<std::uint32_t>(hash >> 32), number};
    }
  }

  std::vector<Slot> slots_;
  std::vector<std::size_t> starts_;
  std::vector<std::uint64_t> words_;
};

}  // namespace fa_tune::space
