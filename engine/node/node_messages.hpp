#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <variant>

#include "engine/worker/wire_format.hpp"

// What an engine and a node say to each other besides a worker's requests and answers. A node has a
// connection for each of its devices, and one for a device that runs reference kernels. It says
// Hello and is told Welcome or Refused. Then the engine says Begin, which is answered as a worker
// greets, and asks what it asks of a worker. Before each of these that has an answer goes its
// number, and before the answer the same: an answer to anything else is found out. While a node is
// at a request it says Beat, and the engine does all the time.
namespace fa_tune::node::message {

enum class Role {
  trials,     // kernels under test
  reference,  // reference kernels, which must share a process with no other
};

struct Hello {
  std::string build;   // build_of_this_program()
  std::string node;    // what it is called
  std::string device;  // as --device has it: "cuda:0", "emulator:l4"
  Role role = Role::trials;
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
// There is no more to be asked.
struct Over {
  std::string why;
};
using Message = std::variant<Hello, Welcome, Refused, Begin, Beat, Over, Number>;

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
