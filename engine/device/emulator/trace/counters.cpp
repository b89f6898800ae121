#include "engine/device/emulator/trace/counters.hpp"

#include <cmath>

namespace fa_tune::emulator {
namespace {

struct Field {
  const char* name;
  std::uint64_t Counters::*value;
};

constexpr Field kFields[] = {
    {"warp_instructions", &Counters::warp_instructions},
    {"tensor", &Counters::tensor},
    {"fma_f32", &Counters::fma_f32},
    {"half", &Counters::half},
    {"alu", &Counters::alu},
    {"special", &Counters::special},
    {"convert", &Counters::convert},
    {"control", &Counters::control},
    {"shuffle", &Counters::shuffle},
    {"load_store", &Counters::load_store},
    {"tensor_flop", &Counters::tensor_flop},
    {"shared_wavefronts", &Counters::shared_wavefronts},
    {"shared_wavefronts_ideal", &Counters::shared_wavefronts_ideal},
    {"global_sectors_read", &Counters::global_sectors_read},
    {"global_sectors_written", &Counters::global_sectors_written},
    {"global_sectors_in_part", &Counters::global_sectors_in_part},
    {"global_sectors_again", &Counters::global_sectors_again},
    {"global_wavefronts", &Counters::global_wavefronts},
    {"global_requests", &Counters::global_requests},
    {"local_accesses", &Counters::local_accesses},
    {"barriers", &Counters::barriers},
    {"async_copies", &Counters::async_copies},
    {"async_sectors", &Counters::async_sectors},
    {"async_waits", &Counters::async_waits},
    {"bulk_copies", &Counters::bulk_copies},
    {"bulk_bytes", &Counters::bulk_bytes},
    {"divergent", &Counters::divergent},
    {"blocks", &Counters::blocks},
    {"warps", &Counters::warps},
};
static_assert(sizeof(kFields) / sizeof(kFields[0]) * sizeof(std::uint64_t) == sizeof(Counters),
              "every counter is added and scaled");

}  // namespace

Counters& Counters::operator+=(const Counters& other) {
  for (const Field& field : kFields) this->*field.value += other.*field.value;
  return *this;
}

Counters Counters::scaled(double factor) const {
  Counters result;
  for (const Field& field : kFields) {
    result.*field.value =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(this->*field.value) * factor));
  }
  return result;
}

std::vector<std::pair<std::string, std::uint64_t>> named_counters(const Counters& counters) {
  std::vector<std::pair<std::string, std::uint64_t>> named;
  for (const Field& field : kFields) named.emplace_back(field.name, counters.*field.value);
  return named;
}

}  // namespace fa_tune::emulator
