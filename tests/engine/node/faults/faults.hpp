#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tests/engine/node/faults/proxy.hpp"

namespace fa_tune::test {

// What a fault is, and what is said of it. `told`: a part of each line that the engine may say of
// the node, in turns with "|"; empty if it is to say nothing. `ends`: the node's last words.
struct NetworkFault {
  std::string name;
  std::string told;
  std::variant<RecordFault, FrameFault> what;
  std::string ends = "the search is over|cannot be reached";
};

// Below TLS.
std::vector<NetworkFault> record_faults();
// Cut, and silent in both ways of a connection that is half open, at every class of frame.
std::vector<NetworkFault> frame_faults();
// What nobody says who is this fa-tune, by somebody who has the key.
std::vector<NetworkFault> hostile_faults();

}  // namespace fa_tune::test
