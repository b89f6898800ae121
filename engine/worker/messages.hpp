#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <variant>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/worker/wire_format.hpp"

// What is said between the engine and a worker. A worker opens what it is for and says so, or why
// it cannot; then it answers requests, one at a time, in order.
namespace fa_tune::worker::message {

// To be raised with every change: engine and worker are the same program, and this says so.
constexpr std::uint32_t kVersion = 13;

// Requests, each a call of Device or Compiler. Bytes of buffers are in the Window.
struct Load {
  KernelImage image;
};
struct Unload {
  device::KernelHandle kernel{};
};
struct Allocate {
  std::uint64_t bytes = 0;
};
struct Release {
  device::BufferHandle buffer{};
};
struct Write {
  device::BufferHandle buffer{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct Read {
  device::BufferHandle buffer{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct Map {
  device::TensorMap map;
};
struct Run {
  device::Launch launch;
};
struct Exchange {
  device::Launch launch;
  int ahead = 0;
  device::BufferChanges restore;
  std::vector<device::BufferCopy> copies;
};
struct Time {
  device::Launch launch;
  device::TimingPlan plan;
};
struct Compile {
  kernel::CompileRequest request;
};
// The written bytes lie one after the other from the window's beginning on, and then, in their
// stead, the bytes that were read.
struct Step {
  std::vector<Write> writes;
  device::Launch launch;
  std::vector<Read> reads;
};
struct Energy {};
struct Fill {
  std::vector<device::BufferFill> fills;
};
// For who keeps deadlines of its own.
struct Incumbent {
  double us = 0;
};
// Device::offload. A node does it, and no worker.
struct Offload {
  std::string work;
};
using Request = std::variant<Load, Unload, Allocate, Release, Write, Read, Map, Run, Time, Compile,
                             Exchange, Step, Energy, Fill, Incumbent, Offload>;

// Unload, Release, Fill and Incumbent are not: whoever asks for them has nothing to wait for. What goes wrong
// in one is the answer to the next request that has one.
bool is_answered(const Request& request);

// Answers. The first of a worker is DeviceOpened, CompilerOpened, GpusFound or Failed.
struct DeviceOpened {
  std::uint32_t version = kVersion;
  device::DeviceInfo info;
};
struct CompilerOpened {
  std::uint32_t version = kVersion;
  std::string compiler;  // Compiler::version
  std::string headers;   // Compiler::headers
};
struct GpusFound {
  std::uint32_t version = kVersion;
  std::vector<device::DeviceInfo> gpus;
};
// Of launches with what Device::take_notes has.
struct Done {
  std::vector<std::string> notes = {};
};
struct Loaded {
  device::KernelHandle kernel{};
};
struct Allocated {
  device::BufferHandle buffer{};
  std::uint64_t address = 0;  // on the device
};
struct Mapped {
  std::vector<std::byte> bytes;
};
// What the call of the device answered instead. `ends`: the device is lost with it, and so is this
// worker, which ends now.
struct Faulted {
  device::Fault fault;
  bool ends = false;
};
// Device::joules; `known` if there are any.
struct Joules {
  bool known = false;
  double joules = 0;
};
// The processes that ended over it are `deaths`; `broken_off`: there is no answer for that.
struct Offloaded {
  std::string answer;
  std::vector<device::Fault> deaths;
  bool broken_off = false;
};
// What the call threw.
struct Failed {
  enum class Whose { user, machine, own, memory };
  Whose whose = Whose::own;
  std::string text;
};
// What was thrown in the worker is thrown here.
[[noreturn]] void throw_failed(const Failed& failed);
using Answer = std::variant<DeviceOpened, CompilerOpened, GpusFound, Done, Loaded, Allocated,
                            Mapped, device::Timing, Faulted, Failed, kernel::Compiled,
                            kernel::CompileFailure, Joules, Offloaded>;

// As a frame.
std::string encode(const Request& request);
std::string encode(const Answer& answer);
// For any frame whatever: the message, or what is wrong in one line.
std::expected<Request, std::string> decode_request(const Frame& frame);
std::expected<Answer, std::string> decode_answer(const Frame& frame);

}  // namespace fa_tune::worker::message
