#pragma once

#include <stdexcept>
#include <string>

namespace fa_tune {

// Exceptions are for what a person must mend. What merely happens to a trial (a kernel that does
// not compile, a wrong answer, a fault on the device) is an outcome and is returned, never thrown.

// The user's input is wrong: a file, a name, a flag. The message is one line that says where, what
// was expected and what to do. tools/fa-tune exits with 2.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The machine lacks something: a library, a device, disk space. tools/fa-tune exits with 3.
struct MachineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A device has no memory left: whoever keeps some there that can be had again may let it go and try
// once more.
struct OutOfMemory : MachineError {
  using MachineError::MachineError;
};

// A device is gone with the machine that it is in, or the way there is cut. It says nothing of what
// ran there: another device can do it.
struct DeviceGone : MachineError {
  using MachineError::MachineError;
};

// The same of a compiler: another one can do what it was asked.
struct CompilerGone : MachineError {
  using MachineError::MachineError;
};

// Somebody asked for the end while work of seconds was under way; what was begun is dropped, what
// was finished is kept.
struct Interrupted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A place in a text file, counted from 1; line 0 stands for 'the file as a whole'.
struct Mark {
  std::string file;
  int line = 0;
  int column = 0;
};

// "l4.yaml:12:5: "; without line and column where they are not known.
inline std::string prefix(const Mark& mark) {
  std::string text = mark.file;
  if (mark.line > 0) text += ":" + std::to_string(mark.line);
  if (mark.line > 0 && mark.column > 0) text += ":" + std::to_string(mark.column);
  return text.empty() ? text : text + ": ";
}

}  // namespace fa_tune
