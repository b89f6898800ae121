#include "engine/device/emulator/counters.hpp"

#include <cmath>

namespace fa_tune::emulator {
namespace {

constexpr std::uint64_t Counters::*fields[] = {
    &Counters::warp_instructions,
    &Counters::tensor,
    &Counters::fma_f32,
    &Counters::half,
    &Counters::alu,
    &Counters::special,
    &Counters::convert,
    &Counters::control,
    &Counters::shuffle,
    &Counters::load_store,
    &Counters::tensor_flop,
    &Counters::shared_wavefronts,
    &Counters::shared_wavefronts_ideal,
    &Counters::global_sectors_read,
    &Counters::global_sectors_written,
    &Counters::global_sectors_again,
    &Counters::global_requests,
    &Counters::local_accesses,
    &Counters::barriers,
    &Counters::async_copies,
    &Counters::async_lines,
    &Counters::async_waits,
    &Counters::divergent,
    &Counters::blocks,
    &Counters::warps,
};
static_assert(sizeof(fields) / sizeof(fields[0]) * sizeof(std::uint64_t) == sizeof(Counters),
              "every counter is added and scaled");

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  for (const auto field : fields) this->*field += other.*field;
  return *this;
}

Counters Counters::scaled(double factor) const {
  Counters result;
  for (const auto field : fields) {
    result.*field =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(this->*field) * factor));
  }
  return result;
}

}  // namespace fa_tune::emulator
