#pragma once

#include <stdexcept>

#include "engine/util/error.hpp"
#include "engine/worker/messages.hpp"

namespace fa_tune {

// What was thrown in the worker is thrown here.
[[noreturn]] inline void throw_failed(const message::Failed& failed) {
  switch (failed.whose) {
    case message::Failed::Whose::user:
      throw UserError(failed.text);
    case message::Failed::Whose::machine:
      throw MachineError(failed.text);
    case message::Failed::Whose::memory:
      throw OutOfMemory(failed.text);
    case message::Failed::Whose::own:
      break;
  }
  throw std::runtime_error(failed.text);
}

}  // namespace fa_tune
