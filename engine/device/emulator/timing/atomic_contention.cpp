#include "engine/device/emulator/timing/atomic_contention.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fa_tune::emulator {
namespace {

constexpr std::uint64_t kSectorsOfLine = 4;
// Lines are not dealt to slices evenly. The slice that has most of a few lines has the root of their
// number; of many lines it has about this number more than its even share.
constexpr double kUneven = 3.5;

// The lines of the slice that has most of them.
double most_lines(double lines, double slices) {
  return lines / slices + (1 - 1 / slices) * std::min(std::sqrt(lines), kUneven);
}

}  // namespace

double atomic_us(const DeviceProfile& profile, const AtomicSectors& atomics, std::uint64_t counted,
                 double to_grid) {
  if (profile.l2_slices <= 0 || profile.l2_atomic_ns <= 0) return 0;
  double sum = 0;  // of operations, over the grid
  double hottest_real = 0;
  struct Line {
    double shared = 0, own = 0;
  };
  std::unordered_map<std::uint64_t, Line> lines;
  for (const auto& [number, sector] : atomics.all()) {
    const auto operations = static_cast<double>(sector.operations);
    const bool shared = sector.blocks >= counted;
    Line& line = lines[number / kSectorsOfLine];
    (shared ? line.shared : line.own) += operations;
    sum += operations * to_grid;
    hottest_real =
        std::max(hottest_real, static_cast<double>(sector.real) * (shared ? to_grid : 1));
  }
  if (sum <= 0) return 0;
  double squares = 0;
  for (const auto& [number, line] : lines)
    squares += line.shared * line.shared * to_grid * to_grid + line.own * line.own * to_grid;
  // As many lines as would be if all had the same.
  const double alike = std::max(sum * sum / squares, 1.0);
  const double slice = profile.l2_atomic_ns * sum / alike * most_lines(alike, profile.l2_slices);
  return std::max(slice, profile.l2_atomic_real_ns * hottest_real) / 1e3;
}

}  // namespace fa_tune::emulator
