#pragma once

#include <string>

namespace fa_tune {

// Where a conversation with a proposer is written down. What was `taken` decides the run and is
// read again when it is resumed; the rest is for people.
class ProposerLog {
 public:
  enum class Direction {
    sent,      // a line to the proposer
    received,  // a line from it, made printable and cut
    note,      // what the engine thought of it: refusals, deadlines, its end
    taken,     // the decision of one ask, one each and in order (ProposerArm)
  };

  virtual ~ProposerLog() = default;
  virtual void add(Direction direction, const std::string& text) = 0;
  // All that was added is on disk when this returns.
  virtual void keep() = 0;
};

}  // namespace fa_tune
