#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/device/handles.hpp"
#include "engine/device/tensor_map.hpp"
#include "engine/model/kernel_image.hpp"

namespace fa_tune::device {

// From one buffer of a device to another.
struct BufferCopy {
  BufferHandle from{};
  BufferHandle to{};
  std::size_t bytes = 0;
  std::size_t from_offset = 0;
  std::size_t to_offset = 0;
};

// One value in every byte of a part of a buffer. Ones are a NaN of every type.
struct BufferFill {
  BufferHandle buffer{};
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::uint8_t value = 0xff;
};

// What is done to buffers ahead of a launch: first the fills, then the copies, in their order.
struct BufferChanges {
  std::vector<BufferFill> fills;
  std::vector<BufferCopy> copies;

  bool empty() const { return fills.empty() && copies.empty(); }
};

// Bytes to be copied into a buffer, and out of one. They are the caller's.
struct BufferWrite {
  BufferHandle buffer{};
  std::size_t offset = 0;
  std::span<const std::byte> bytes;
};
struct BufferRead {
  BufferHandle buffer{};
  std::size_t offset = 0;
  std::span<std::byte> bytes;
};

// Of all pieces together.
template <typename Piece>
std::size_t total_bytes(std::span<const Piece> pieces) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes.size();
  return bytes;
}

// What can go wrong when a kernel is loaded or run. All are findings about the kernel, except
// unfinished, killed and the last two.
enum class FaultKind {
  load_failed,          // the image was refused
  unknown_instruction,  // the emulator does not know an instruction; found before anything ran
  resources,            // more threads, registers or shared memory than the device has
  out_of_bounds,        // an access outside every allocation
  misaligned,           // an access not aligned to its size
  freed,                // an access to a buffer that was released
  uninitialized,        // a read of memory that nobody has written
  race,                 // two accesses that nothing orders, one of them a write
  barrier,              // threads of a warp or block at different barriers
  sync,                 // an asynchronous operation or its mbarrier is misused
  deadlock,             // every warp waits and none can go on
  timeout,              // more instructions or time than allowed
  trap,                 // the kernel stopped itself
  read_only,            // a store to one of Launch::read_only
  not_modelled,         // it ran, and the model of times does not cover what it did
  unfinished,           // what this device may execute was used up: see open_emulator
  died,                 // the process that ran it ended
  killed,               // that process was killed from outside: nothing about the kernel
  gone,                 // a buffer that was lost when another kernel ended the process: deaths()
  device_lost,          // the context is dead or the device is gone: this object can do no more
};
constexpr FaultKind kLastFaultKind = FaultKind::device_lost;

std::string to_text(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::device_lost;
  std::string message;  // one line: what, where, for which thread
};

// An argument of a kernel: a buffer (passed as its device address) or the raw bytes of a scalar.
using Argument = std::variant<BufferHandle, std::vector<std::byte>>;

// What a launch is to be checked for beyond bounds and alignment, which always are. Only the
// emulator can; a GPU runs the kernel as it is.
struct Checks {
  bool initialized = false;  // reads of what nobody has written
  bool races = false;        // in shared memory, and between blocks in global memory
  bool sync = false;         // barriers, mbarriers, asynchronous copies, wgmma
  // An mbarrier that the block's own threads know of is known to copies too, without
  // fence.mbarrier_init or fence.proxy.async. The ISA asks for one; Triton's kernels have none.
  bool unfenced_mbarriers = false;

  static Checks all() { return {true, true, true}; }
  bool any() const { return initialized || races || sync; }
};

// What a `__constant__` variable of the kernel's module is to hold: the first bytes of a buffer.
struct ConstantData {
  std::string name;
  BufferHandle from{};
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// One kernel of several that are launched as one.
struct KernelStep {
  std::size_t entry = 0;  // of the loaded image: KernelImage::entry
  LaunchConfig config;
  std::vector<Argument> arguments;
};
using LaunchStep = std::variant<KernelStep, BufferFill, BufferCopy>;

struct Launch {
  KernelHandle kernel{};
  LaunchConfig config;
  std::vector<Argument> arguments;
  Checks checks = {};
  // Which of the legal orders of events the emulator takes. 0: warp after warp, asynchronous copies
  // as late as may be; other numbers draw an order of warps and a moment, early or late, for every
  // asynchronous operation, from 3 on one of blocks, and from 16 on the moments at which blocks take
  // turns. A correct kernel has the same bits in all.
  std::uint64_t schedule = 0;
  // Copied there before it runs; in time(), once. A module without such a variable runs all the
  // same: a compiler leaves out what is not used. A variable that is too small for the bytes is a
  // Fault `resources`.
  std::vector<ConstantData> constants = {};
  // Buffers that it may not store to. A device with DeviceInfo::checks enforces this, whatever
  // `checks` says; others do not. Who compares buffers afterwards does not see what a launch has
  // changed and put back.
  std::vector<BufferHandle> read_only = {};
  // If there are any, they are what is launched, and `config` and `arguments` say nothing. Each
  // begins when the one before is done with all it does. They are timed as one.
  std::vector<LaunchStep> steps = {};
  // If there are any, the clusters that run, by their numbers in the grid (x fastest): what a fault
  // needs. The emulator's launch() alone heeds it.
  std::vector<std::uint64_t> only_clusters = {};
};

// What is launched, in order: `steps`, or the one kernel.
std::vector<LaunchStep> steps_of(const Launch& launch);

// Measured: a clock ran. Predicted: a model was asked. The two never share a column, a ranking or a
// sentence.
enum class TimeKind { measured, predicted };

std::string to_text(TimeKind kind);

// What the second-level cache holds when a timed launch begins. warm: what the launch before it has
// left there, beside other data that was there before the first. cold: nothing that the launch will
// need. The two times answer different questions and are never mixed.
enum class L2 { warm, cold };

std::string to_text(L2 l2);

// How samples are to be taken. A sample of a warm cache is the time of `launches_per_sample`
// launches replayed back to back as one graph, divided by their number. A sample of a cold one is
// that of a single launch, which follows a flush that is not timed: the events add a microsecond or
// two to it. Where something is to be restored, samples are of single launches too,
// whatever the cache. A device that predicts ignores all of this but `complete`, `restore` and
// `before_each`.
struct TimingPlan {
  int launches_per_sample = 20;
  int samples = 30;
  int warm_up_samples = 3;
  L2 l2 = L2::warm;
  // Of a device that predicts: all blocks run, however long that takes, for Timing::complete.
  bool complete = false;
  // Done before every single launch and part of its time; where times are predicted, done once and
  // not timed.
  BufferChanges before_each = {};
  // Done before every single launch, ahead of `before_each`, and never timed: what a launch writes
  // over is there again for the next.
  BufferChanges restore = {};
};

// How a GPU was while samples were taken. What could not be known is empty or 0.
struct GpuState {
  std::vector<double> sm_mhz;             // of each sample: the SMs' clock, its mean meanwhile
  std::vector<std::uint32_t> throttled;   // which samples a slowed GPU gave, from 0, ascending
  std::vector<std::string> held_down_by;  // what kept the clock down, as the driver names it
  double watts = 0;                       // the highest reading
  double celsius = 0;                     // the highest reading
  std::string no_readings;                // why the driver told nothing of power and temperature
  int taken_again = 0;                    // samples that stand in the place of throttled ones
};

struct Timing {
  TimeKind kind = TimeKind::measured;
  std::vector<double> samples_us;  // a launch, in the order they were taken; one if predicted
  std::string model;               // if predicted: the profile's name
  // If predicted: what bounds it, the counters, what the interval rests on, as a JSON object.
  std::string detail_json;
  L2 l2 = L2::warm;  // this and what follows: if measured
  int launches_per_sample = 0;
  GpuState gpu = {};
  // If predicted: all blocks ran, so what they left in the outputs is what a launch leaves there.
  bool complete = false;
  bool restored = false;  // TimingPlan::restore was done before each launch
  // If predicted: the ends of its 90% interval, boundless where nothing is known. It lies beside the
  // time where the model is known to be off for such kernels.
  double low_us = -std::numeric_limits<double>::infinity();
  double high_us = std::numeric_limits<double>::infinity();
};

// Why a cooperative launch cannot be: all of its blocks have to run at once.
std::string too_large_to_cooperate(const std::string& kernel, std::uint64_t blocks,
                                   std::uint64_t most);

// For a ConstantData whose variable has room for less.
Fault too_small(const ConstantData& data, std::size_t room);

struct DeviceInfo {
  std::string id;      // "cuda:0", "emulator:l4"; of a node's behind its name: "n1/cuda:0"
  std::string name;    // "NVIDIA H100 80GB HBM3", "emulated NVIDIA L4"
  std::string arch;    // "sm_90": what to compile for
  std::string driver;  // version, empty for the emulator
  BinaryKind accepts = BinaryKind::cubin;
  TimeKind times = TimeKind::measured;
  int sms = 0;
  int shared_per_block = 0;  // bytes, with opt-in
  bool checks = false;       // it heeds Launch::checks and Launch::schedule
  std::string uuid = {};     // of a GPU, the same for all who see it; empty: shared with nobody
};

// What an emulator's name begins with; the GPU whose model predicts its times comes behind it.
inline constexpr std::string_view kEmulated = "emulated ";
std::string_view modelled_gpu(std::string_view device_name);

// The id without the node that the device is on.
std::string_view id_on_node(std::string_view id);

// A place where kernels run: a GPU or the emulator. Whatever in the engine uses a Device treats the
// two alike. Not thread-safe: one thread owns a Device. Handles stay valid until released or
// the Device is destroyed. After Fault device_lost every call returns it again.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  // True once a kernel has cost this Device its context: a later failure says nothing about the
  // kernel that was tried. Only a new process can go on.
  virtual bool lost() const { return false; }
  // Why, in one line; empty where it is not, or where that is not known.
  virtual std::string lost_because() const { return {}; }
  // Whether kernels run in another process than this one, whose own end then says nothing of them.
  virtual bool apart() const { return false; }
  // Whether a program of ours beside it does whole pieces of work with it (OffloadService), so that
  // neither tensors nor their many requests need come over a network.
  virtual bool offloads() const { return false; }
  // Has that program do a piece of work, and hands its answer to `take`, which returns an error of
  // one line where the answer makes no sense. The device is lost then, as one whose machine is gone.
  // Throws what the program throws, and MachineError where the process that runs
  // kernels ended before it had an answer: deaths(). The Fault, device_lost, is the device's own.
  using TakeAnswer = std::function<std::expected<void, std::string>(const std::string& answer)>;
  virtual std::expected<void, Fault> offload(const std::string& work, const TakeAnswer& take);
  // The Faults that ended the process which runs the kernels, where that is another than this one;
  // the newest last. After each, a kernel is loaded again when it is next used; buffers are gone,
  // and addresses and tensor maps made of them must not be used any more.
  virtual std::span<const Fault> deaths() const { return {}; }
  // A number that changes whenever buffers are lost, whether or not a process ended: that of the
  // process which the next call will find.
  virtual std::uint64_t life() const { return 0; }
  // Goes on in a new process, where kernels have one of their own: what ran in it before can have
  // left nothing behind. Buffers are gone then, as after a death. False if the device is lost.
  virtual bool renew() { return !lost(); }
  // Makes good what the last kernel has broken, so that what fails from now on is the next one's.
  // False if the device is lost.
  virtual bool ready() { return !lost(); }
  // The time of the fastest correct kernel; 0 for none. What takes many times as long need not
  // be waited for.
  virtual void note_incumbent(double /*us*/) {}
  // The energy that the GPU has used for all its users since some moment in the past: only
  // differences have a meaning. Nothing where it cannot be told.
  virtual std::optional<double> joules() { return std::nullopt; }

  virtual std::expected<KernelHandle, Fault> load(const KernelImage& image) = 0;
  virtual void unload(KernelHandle kernel) = 0;

  // Memory. Sizes and offsets in bytes; addresses are aligned to at least 256. What is there at
  // first is unspecified, and may be what another buffer held. Running out throws OutOfMemory.
  // Copies are complete when the call returns.
  virtual BufferHandle allocate(std::size_t bytes) = 0;
  virtual void release(BufferHandle buffer) = 0;
  virtual std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                           std::span<const std::byte> bytes) = 0;
  virtual std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                          std::span<std::byte> bytes) = 0;

  // Fills parts of buffers. May return before that is done: whatever follows finds them filled. A
  // Fault may be told by the next call.
  virtual std::expected<void, Fault> fill(const std::vector<BufferFill>& fills);

  // Memory that most copies will come from and go to, for as long as this lives: a device may make
  // large ones of it faster.
  virtual void copies_through(std::span<std::byte> /*memory*/) {}

  // An argument that is `offset` bytes into a buffer, so that a guard band can precede the data.
  virtual Argument address(BufferHandle buffer, std::size_t offset) = 0;

  // The 128 bytes of a `const __grid_constant__ CUtensorMap` parameter that shows `map`. The buffer
  // must outlive its use. A device without bulk tensor copies answers FaultKind::resources.
  virtual std::expected<Argument, Fault> tensor_map(const TensorMap& map);

  // What checked launches since the last call have shown that is no fault, one line each: loads of
  // memory that nobody has written, where nothing that was stored or decided depends on them.
  virtual std::vector<std::string> take_notes() { return {}; }

  // Runs the kernel, or all steps, once and waits for it.
  virtual std::expected<void, Fault> launch(const Launch& launch) = 0;

  // write(), launch() and read(), in this order and in one call: to a device in another process one
  // request instead of many. On a Fault what was to be read is unspecified.
  virtual std::expected<void, Fault> launch_between(std::span<const BufferWrite> writes,
                                                    const Launch& launch,
                                                    std::span<const BufferRead> reads);

  // Runs it `ahead` times, each behind `restore`, copies, and runs it once more, in this order and,
  // where a device can, without a pause; then waits. A kernel must not be able to tell such a row
  // from one that is timed. Before a programmatic launch the copies are a kernel's that lets it
  // begin before they are done.
  virtual std::expected<void, Fault> launch_exchanging(const Launch& launch, int ahead,
                                                       const BufferChanges& restore,
                                                       std::span<const BufferCopy> copies);

  // Times it: on a GPU by graph replays between events, on the emulator by a model.
  virtual std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) = 0;

 protected:
  // By way of fill(), read() and write().
  std::expected<void, Fault> make_changes(const BufferChanges& changes);
};

}  // namespace fa_tune::device
