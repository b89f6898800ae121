#pragma once

#include <chrono>

namespace fa_tune {

// How long the engine waits for each answer of a device's worker.
struct Deadlines {
  using Milliseconds = std::chrono::milliseconds;

  Milliseconds start{60'000};  // a driver that brings up eight GPUs takes ten seconds
  Milliseconds load{60'000};   // the driver may compile
  Milliseconds copy{20'000};
  // A launch, and samples of one, as long as no correct kernel is known.
  Milliseconds launch{10'000};
  Milliseconds time{60'000};
  // From then on: so many times what the fastest would take, and not less than this. No limit of
  // this kind if `incumbents` is 0.
  double incumbents = 20;
  Milliseconds least{2'000};

  // The emulator counts instructions and so ends every kernel by itself, at the same point on any
  // machine. Its deadlines are for its own mistakes alone: no verdict may depend on how busy a
  // machine is.
  static Deadlines of_emulator() {
    constexpr Milliseconds long_enough{1'800'000};
    Deadlines deadlines;
    deadlines.load = deadlines.copy = deadlines.launch = deadlines.time = long_enough;
    deadlines.incumbents = 0;
    return deadlines;
  }
};

}  // namespace fa_tune
