#include "engine/device/gpu_lease.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "engine/util/environment.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::device {
namespace {

// The process that a clock runs for is written into the file while it does.
void write_owner(int file, const std::string& text) {
  if (ftruncate(file, 0) != 0) return;
  // Who reads no number says none.
  [[maybe_unused]] const ssize_t wrote = pwrite(file, text.data(), text.size(), 0);
}

long owner_of(int file) {
  std::array<char, 32> text{};
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  long owner = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, owner);
  return owner;
}

}  // namespace

GpuLease::Hold::Hold(Hold&& other) noexcept
    : file_(std::exchange(other.file_, -1)), use_(other.use_) {}

GpuLease::Hold::~Hold() {
  if (file_ < 0) return;
  if (use_ == Use::timing) write_owner(file_, "");
  flock(file_, LOCK_UN);
}

std::filesystem::path GpuLease::usual_folder() {
  if (const std::string runtime = environment("XDG_RUNTIME_DIR"); !runtime.empty())
    return std::filesystem::path(runtime) / "fa-tune" / "gpus";
  return cache_folder() / "gpus";
}

GpuLease::GpuLease(const std::string& uuid, const std::filesystem::path& folder) : uuid_(uuid) {
  if (uuid.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path path = folder / (uuid + ".lock");
  constexpr int kMine = 0600;
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMine);
  if (file_ < 0)
    log_warning("{}: {}: times on {} may be taken while others use it", path.string(),
                std::strerror(errno), uuid);
}

GpuLease::~GpuLease() {
  if (file_ >= 0) close(file_);
}

GpuLease::Hold GpuLease::hold(Use use) {
  if (file_ < 0) return {};
  const int kind = use == Use::timing ? LOCK_EX : LOCK_SH;
  if (flock(file_, kind | LOCK_NB) != 0) {
    say_whom_for();
    while (flock(file_, kind) != 0)
      if (errno != EINTR) return {};
  }
  if (use == Use::timing) write_owner(file_, std::to_string(getpid()));
  return {file_, use};
}

void GpuLease::say_whom_for() {
  const long owner = owner_of(file_);
  if (said_ || owner == 0 || owner == getpid()) return;
  said_ = true;
  log_info("waits for {}, which process {} is timing on", uuid_, owner);
}

}  // namespace fa_tune::device
