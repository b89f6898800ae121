#pragma once

#include <cstddef>
#include <span>

namespace fa_tune::worker {

// Memory that the engine and one worker both see, through which tensors go: a copy on each side and
// no pipe between. What is larger goes in pieces.
class Window {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;

  // The engine's: makes the memory, which takes room only as it is used. Its size is sealed, so
  // that no worker can cut it off under the engine's feet. Throws MachineError.
  Window();
  // The worker's: maps what it was given. Throws MachineError if that is no window.
  explicit Window(int file);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::span<std::byte> bytes() const { return {begin_, kBytes}; }
  int file() const { return file_; }
  // Its memory, where there will be no more worker: a search may lose many. Nothing but its end may
  // follow.
  void give_back();

 private:
  void map();

  int file_ = -1;
  std::byte* begin_ = nullptr;
};

}  // namespace fa_tune::worker
