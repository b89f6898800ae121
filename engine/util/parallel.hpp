#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace fa_tune {

// Calls work(i) once for each i below `count`, in the order in which threads come to ask, in at
// most `threads` of them, this one included; returns when all is done. `work` must not throw. The
// threads are begun anew each time: HelperThreads are for what takes less than a millisecond.
template <typename Work>
void in_parallel(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i; (i = next++) < count;) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
  take();
}

// As many threads as the machine runs at a time.
template <typename Work>
void in_parallel(std::size_t count, const Work& work) {
  in_parallel(count, std::max(1U, std::thread::hardware_concurrency()), work);
}

inline constexpr std::size_t kElementsOfPiece = std::size_t{1} << 20;

constexpr std::size_t element_pieces(std::size_t count) {
  return (count + kElementsOfPiece - 1) / kElementsOfPiece;
}

// Calls work(first, end) for pieces of kElementsOfPiece elements; the last one is shorter.
template <typename Work>
void in_pieces(std::size_t count, const Work& work) {
  in_parallel(element_pieces(count), [&](std::size_t i) {
    work(i * kElementsOfPiece, std::min(count, (i + 1) * kElementsOfPiece));
  });
}

}  // namespace fa_tune
