#include "engine/worker/shared_window.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune::worker {

Window::Window() : file_(memfd_create("fa-tune window", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const auto size = static_cast<off_t>(kBytes);
  if (file_ < 0 || ftruncate(file_, size) != 0 ||
      fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int reason = errno;
    if (file_ >= 0) close(file_);
    throw MachineError(
        std::string("no memory could be made to share with a worker: ") + std::strerror(reason) +
        (reason == EFBIG ? "; it counts as a file, and files are limited (ulimit -f) to less"
                         : ""));
  }
  map();
}

Window::Window(int file) : file_(file) {
  struct stat facts {};
  if (fstat(file_, &facts) != 0 || facts.st_size != static_cast<off_t>(kBytes))
    throw MachineError("the worker was given no memory to share: it is started by fa-tune alone");
  map();
}

void Window::map() {
  void* begin = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (begin == MAP_FAILED) {
    close(file_);
    throw MachineError("no memory could be mapped to share with a worker");
  }
  begin_ = static_cast<std::byte*>(begin);
}

Window::~Window() { give_back(); }

void Window::give_back() {
  if (begin_ == nullptr) return;
  munmap(begin_, kBytes);
  close(file_);
  begin_ = nullptr;
  file_ = -1;
}

}  // namespace fa_tune::worker
