#include "engine/util/memory.hpp"

#include <algorithm>
#include <fstream>
#include <memory>

#include <sys/mman.h>
#include <unistd.h>

#include "engine/util/parallel.hpp"

namespace fa_tune {
namespace {

constexpr std::size_t kLarge = std::size_t{8} << 20;
constexpr std::size_t kPiece = std::size_t{4} << 20;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14, asm-generic/mman-common.h
#endif

}  // namespace

void populate(std::span<std::byte> memory) {
  if (memory.size() < kLarge) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* first = memory.data();
  std::size_t bytes = memory.size();
  if (std::align(page, page, first, bytes) == nullptr) return;
  bytes -= bytes % page;
  auto* const begin = static_cast<std::byte*>(first);
  in_parallel((bytes + kPiece - 1) / kPiece, [&](std::size_t i) {
    // An older kernel refuses; then the pages are made when they are touched.
    madvise(begin + i * kPiece, std::min(kPiece, bytes - i * kPiece), MADV_POPULATE_WRITE);
  });
}

std::uint64_t usable_memory() {
  const auto machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t limit = 0;
  // "max" where there is none.
  return file >> limit ? std::min(machine, limit) : machine;
}

}  // namespace fa_tune
