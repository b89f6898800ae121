#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <variant>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/worker/wire_format.hpp"

// What an engine and a node say to each other besides a worker's requests and answers. A node has a
// connection for each of its devices, one for a device that runs reference kernels, and one for all
// of its compilers. It says Hello and is told Welcome or Refused. Then the engine says Begin to a
// device, which is answered as a worker greets, and asks what it asks of a worker. Before each of
// these that has an answer goes its number, and before the answer the same: an answer to anything
// else is found out. Compilers are asked several Compile at a time, and answer each once, in any
// order. While a node is at a request it says Beat, and the engine does all the time.
namespace fa_tune::node::message {

enum class Role {
  trials,     // kernels under test
  reference,  // reference kernels, which must share a process with no other
  compilers,
};

struct Hello {
  std::string build;   // build_of_this_program()
  std::string node;    // what it is called
  std::string device;  // as --device has it: "cuda:0", "emulator:l4"
  Role role = Role::trials;
  // Of compilers: how many sources at a time, Compiler::version and Compiler::headers.
  std::uint32_t jobs = 0;
  std::string compiler = {};
  std::string headers = {};
};
struct Welcome {};
// Why it is not to come again.
struct Refused {
  std::string why;
};
// The device is to go on in a new process, in which nothing has run.
struct Begin {};
struct Beat {};
// Of the request that follows, or of the one that is answered by what follows: from 1, one more each
// time.
struct Number {
  std::uint64_t number = 0;
};
// There is no more to be asked; or, of a node's compilers, no more to be had.
struct Over {
  std::string why;
};
// `number`: another one for each on a connection.
struct Compile {
  std::uint64_t number = 0;
  kernel::CompileRequest request;
};
struct CompileDone {
  std::uint64_t number = 0;
  kernel::Compiled compiled;
};
struct CompileFailed {
  std::uint64_t number = 0;
  kernel::CompileFailure failure;
};
using Message = std::variant<Hello, Welcome, Refused, Begin, Beat, Over, Number, Compile,
                             CompileDone, CompileFailed>;

std::string encode(const Message& message);
std::expected<Message, std::string> decode(const worker::Frame& frame);

// Of a frame that carries bytes of tensors: where workers have a Window, connections have these.
constexpr std::uint32_t kTensorBytes = 0x300;
// Whether the frame is a Message.
bool is_message(const worker::Frame& frame);

// What both sides must share, since what they say to each other is this program's own: a digest of
// its file.
std::string build_of_this_program();

}  // namespace fa_tune::node::message
