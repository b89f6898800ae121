#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fa_tune {

// Has the system make all of this memory now, by all cores. Fresh memory is made page by page as it
// is first touched, which takes one core longer than filling it does. What it holds stays. Where a
// system cannot, and below some megabytes, nothing happens. A worker must not use it: it may start
// no threads.
void populate(std::span<std::byte> memory);

// As std::vector<T>(count), with that.
template <typename T>
std::vector<T> large_zeros(std::size_t count) {
  std::vector<T> made;
  made.reserve(count);
  populate({reinterpret_cast<std::byte*>(made.data()), count * sizeof(T)});
  made.resize(count);
  return made;
}

// Bytes of memory that this process may use: the machine's, or its control group's limit (cgroup
// v2, memory.max) if that is less.
std::uint64_t usable_memory();

}  // namespace fa_tune
