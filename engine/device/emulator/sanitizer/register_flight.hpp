#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/emulator/program.hpp"

namespace fa_tune::emulator {

// What an instruction means for the registers of wgmma.
enum class FlightRole : std::uint8_t { other, move, multiply, fence, commit, wait };

// By instruction; empty where there is no wgmma.
std::vector<FlightRole> flight_roles(const Program& program);

// Whether a warp leaves the accumulators of wgmma alone (PTX ISA, "Asynchronous wgmma
// instructions"): from a wgmma.mma_async to the wgmma.wait_group that covers it they are not to be
// touched but by the next wgmma, and what has written them before must be followed by a
// wgmma.fence. A plain move is no touch: compilers put them between inline assembly and its
// operands, and what was moved is watched from then on where it went. Registers of A are not
// watched: a Program does not tell them from descriptors.
class RegisterFlight {
 public:
  enum class Wrong : std::uint8_t { in_flight, not_fenced };

  // Executes instruction `op`. `stay`: of a wait, groups that may stay.
  std::optional<Wrong> step(const Program& program, std::size_t op, FlightRole role,
                            std::int64_t stay);

 private:
  struct Place {
    std::uint32_t group = 0;  // that must be over before it may be touched; 0: none
    bool fresh = false;       // written since the last fence
  };

  Place& at(std::uint16_t place);
  void move(const Program& program, std::size_t op);

  std::vector<Place> places_;  // as Touches counts them
  std::uint32_t group_ = 1;    // of the wgmma to come
  std::uint32_t flying_ = 0;   // an upper bound of the places in flight
};

}  // namespace fa_tune::emulator
