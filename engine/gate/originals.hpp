#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Large tensors kept on a device, so that each trial has them copied and compared there: at long
// shapes the bus takes ten times as long for them as a kernel runs. Done by three kernels of the
// engine's own, by way of the device like any other; `usable()` is false where it cannot run them.
//
// They lie in the memory of strangers' kernels. So a refusal that rests on them stands only if they
// are intact(). And what is told to others is judged without from the start.
class Originals {
 public:
  // A tensor of fewer bytes is not worth it.
  static constexpr std::size_t kLeast = std::size_t{1} << 20;
  // Kept at most: four sets of Q, K and V of 64 MB, and some. The longest unused goes first.
  static constexpr std::size_t kMost = std::size_t{1} << 30;

  // The device must outlive it.
  explicit Originals(Device& device);
  ~Originals();
  Originals(const Originals&) = delete;
  Originals& operator=(const Originals&) = delete;

  bool usable() const { return usable_; }
  bool worth(std::size_t bytes) const { return usable_ && bytes >= kLeast; }

  // A buffer with the contents of the instance's tensor, which is not to be written.
  std::expected<BufferHandle, Fault> of(const std::shared_ptr<const Instance>& instance,
                                        std::size_t tensor);
  // Reads them back. If a kernel has written over any, false, and all are dropped.
  bool intact();

  // On the device, for any of its buffers.
  std::expected<void, Fault> copy(const Place& from, const Place& to, std::size_t bytes);
  std::expected<void, Fault> fill_with_ones(const Place& to, std::size_t bytes);
  // The first byte at which two differ, if they do.
  std::expected<std::optional<std::size_t>, Fault> first_difference(const Place& a, const Place& b,
                                                                    std::size_t bytes);

 private:
  struct Kept {
    std::shared_ptr<const Instance> instance;
    std::size_t tensor = 0;
    std::size_t bytes = 0;
    BufferHandle buffer{};
    std::uint64_t life = 0;  // the device's, when it was written
  };

  void drop();
  Launch launch_of(KernelHandle kernel, std::vector<Argument> arguments, std::size_t bytes) const;
  void release(std::list<Kept>::iterator kept);
  bool is_as_written(const Kept& kept);
  std::expected<std::size_t, Fault> exactly(std::size_t word, const Place& a, const Place& b,
                                            std::size_t bytes);

  Device& device_;
  bool usable_ = false;
  KernelHandle copy_{}, fill_{}, differ_{};
  std::optional<BufferHandle> found_;  // where first_difference() has its answer written
  std::uint64_t found_life_ = 0;
  std::list<Kept> kept_;  // the latest used first
  std::size_t bytes_ = 0;
};

}  // namespace fa_tune
