#include "engine/device/emulator/state/access.hpp"

#include <cstring>

namespace fa_tune::emulator {

std::string_view space_name(Space space) {
  switch (space) {
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::param:
      return "parameter";
    case Space::cluster:
      return "cluster's shared";
    default:
      return "global";
  }
}

std::array<std::byte, 16> stored_bytes(const LaneFile& lanes, const Op& op, int lane,
                                       std::size_t first) {
  std::array<std::byte, 16> bytes{};
  const auto step = static_cast<std::size_t>(size_of(static_cast<Type>(op.m[3])));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const std::uint16_t index = op.r[first + i];
    const std::uint64_t value =
        op.m[5] == 8 ? std::uint64_t{slot64(lanes, index)[lane]} : slot(lanes, index)[lane];
    std::memcpy(bytes.data() + i * step, &value, step);
  }
  return bytes;
}

}  // namespace fa_tune::emulator
