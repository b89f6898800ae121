#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fa_tune::emulator {

// Which bytes of a piece of memory have been written: a bit a byte.
class InitShadow {
 public:
  explicit InitShadow(std::size_t bytes = 0) : bits_((bytes + 63) / 64) {}

  void clear() { bits_.assign(bits_.size(), 0); }
  void mark(std::size_t offset, std::size_t bytes);
  void unmark(std::size_t offset, std::size_t bytes);
  // Bit i of the result: byte `offset + i` has been written. At most 32 bytes that do not cross a
  // multiple of 32.
  std::uint32_t written(std::size_t offset, std::size_t bytes) const {
    return static_cast<std::uint32_t>(bits_[offset / 64] >> offset % 64) & low(bytes);
  }
  // Which of them have not: the first, counted from `offset`, and how many.
  struct Missing {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  Missing missing(std::size_t offset, std::size_t bytes) const;
  bool all(std::size_t offset, std::size_t bytes) const;

  static std::uint32_t low(std::size_t bytes) { return bytes >= 32 ? ~0U : (1U << bytes) - 1; }

 private:
  std::vector<std::uint64_t> bits_;
};

}  // namespace fa_tune::emulator
