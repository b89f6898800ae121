#pragma once

#include <cstdint>

namespace fa_tune::device {

// Handles are small numbers given by one Device and meaningless to every other.
enum class KernelHandle : std::uint64_t {};
enum class BufferHandle : std::uint64_t {};

}  // namespace fa_tune::device
