#pragma once

#include <filesystem>
#include <string>

namespace fa_tune::device {

// Keeps others off a GPU while a clock runs there: a file for each GPU, locked by all of this
// user's processes that use it. Kernels of several may run beside each other, a clock runs alone.
// Other users, and other machines' files, are not seen.
class GpuLease {
 public:
  enum class Use {
    running,  // launches that nobody times
    timing,
  };

  // What is held until this goes.
  class Hold {
   public:
    Hold() = default;
    Hold(int file, Use use) : file_(file), use_(use) {}
    Hold(Hold&& other) noexcept;
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    int file_ = -1;
    Use use_ = Use::running;
  };

  // `uuid`: of the GPU (DeviceInfo::uuid); with none, every hold is of nothing. The same where the
  // file cannot be made, which is said once.
  explicit GpuLease(const std::string& uuid, const std::filesystem::path& folder = usual_folder());
  ~GpuLease();
  GpuLease(const GpuLease&) = delete;
  GpuLease& operator=(const GpuLease&) = delete;

  // Waits until nobody else uses the GPU in a way that this use cannot be beside; says so once if
  // it is another process's clock. To be asked by one thread at a time, and again only when the
  // last hold is gone.
  [[nodiscard]] Hold hold(Use use);

  // "gpus" under XDG_RUNTIME_DIR/fa-tune, else under the cache folder.
  static std::filesystem::path usual_folder();

 private:
  void say_whom_for();

  std::string uuid_;
  int file_ = -1;
  bool said_ = false;
};

}  // namespace fa_tune::device
