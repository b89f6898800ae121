#include "engine/device/emulator/sanitizer/register_flight.hpp"

#include <algorithm>
#include <string_view>

namespace fa_tune::emulator {
namespace {

FlightRole role_of(std::string_view name) {
  if (name.starts_with("mov.")) return FlightRole::move;
  if (name.starts_with("wgmma.mma_async")) return FlightRole::multiply;
  if (name.starts_with("wgmma.fence")) return FlightRole::fence;
  if (name.starts_with("wgmma.commit_group")) return FlightRole::commit;
  if (name.starts_with("wgmma.wait_group")) return FlightRole::wait;
  return FlightRole::other;
}

}  // namespace

std::vector<FlightRole> flight_roles(const Program& program) {
  std::vector<FlightRole> roles;
  roles.reserve(program.ops.size());
  for (const Op& op : program.ops) roles.push_back(role_of(program.names[op.name]));
  const bool some = std::find(roles.begin(), roles.end(), FlightRole::multiply) != roles.end();
  return some ? roles : std::vector<FlightRole>();
}

RegisterFlight::Place& RegisterFlight::at(std::uint16_t place) {
  if (place >= places_.size()) places_.resize(std::size_t{place} + 1);
  return places_[place];
}

// Value by value where both sides have as many; the guard, a predicate, comes last if there is one.
void RegisterFlight::move(const Program& program, std::size_t op) {
  const auto reads = program.touches.reads(op);
  const auto writes = program.touches.writes(op);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Place moved;
    if (i < reads.size() && reads[i] < program.slots) {
      moved = at(reads[i]);
      at(reads[i]).group = 0;
    }
    at(writes[i]) = moved;
  }
}

std::optional<RegisterFlight::Wrong> RegisterFlight::step(const Program& program, std::size_t op,
                                                          FlightRole role, std::int64_t stay) {
  const auto writes = program.touches.writes(op);
  switch (role) {
    case FlightRole::move:
      move(program, op);
      return std::nullopt;
    case FlightRole::fence:
      for (Place& place : places_) place.fresh = false;
      return std::nullopt;
    case FlightRole::commit:
      ++group_;
      return std::nullopt;
    case FlightRole::wait: {
      const std::int64_t over = std::int64_t{group_} - 1 - stay;
      flying_ = 0;
      for (Place& place : places_) {
        if (place.group != 0 && std::int64_t{place.group} <= over) place.group = 0;
        flying_ += place.group != 0 ? 1 : 0;
      }
      return std::nullopt;
    }
    case FlightRole::multiply:
      for (const std::uint16_t place : writes) {
        if (at(place).fresh) return Wrong::not_fenced;
        at(place).group = group_;
        ++flying_;
      }
      return std::nullopt;
    case FlightRole::other:
      break;
  }
  if (flying_ != 0) {
    for (const std::uint16_t place : program.touches.reads(op)) {
      if (at(place).group != 0) return Wrong::in_flight;
    }
    for (const std::uint16_t place : writes) {
      if (at(place).group != 0) return Wrong::in_flight;
    }
  }
  for (const std::uint16_t place : writes) at(place).fresh = true;
  return std::nullopt;
}

}  // namespace fa_tune::emulator
