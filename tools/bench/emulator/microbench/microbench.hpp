#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"

// Parts of bench_microbench.

namespace fa_tune::bench {

using Json = nlohmann::ordered_json;

// To thousandths, as results are kept.
inline double thousandths(double value) { return std::round(value * 1000) / 1000; }

// One instruction, as CUDA text. `step` may use x[c] (its own state), a, b (values that do not
// change), c (the chain), lane, base (address of 48 KB of shared memory).
struct Instruction {
  std::string name;
  std::string state;   // type of x[c]
  std::string start;   // value of x[c]
  std::string values;  // declares a and b
  std::string step;
  int per_step = 1;  // instructions a step
};

// What is asked of the SM: each warp has `chains` that do not depend on each other.
std::string chain_source(const Instruction& instruction, int chains, int unroll);
// Rounds of `steps` of it in `chains` chains, as long as `goes_on` of `i`; their ends go to `kept`.
std::string rounds_source(const Instruction& instruction, int chains, int steps,
                          const std::string& goes_on);
const std::vector<Instruction>& instructions();

// CUDA text of single experiments; each kernel is called `bench` and takes (times, data, count).
// What every kernel begins with: its signature, and functions that note times.
std::string kernel_prelude();
// The same with meet(), where all blocks of the grid agree on a time in nanoseconds, and wait_until().
// They must all be resident.
std::string meeting_prelude();
// What a timed kernel begins its rounds with: all warps meet, clocks are read, a loop is opened.
std::string timed_rounds();
std::string barrier_source();
std::string chase_source();
std::string stream_source();
std::string async_source(int copies, int pitch);
std::string empty_source();
std::string storing_source();

// Runs experiments on one device.
class Lab {
 public:
  Lab(device::Device& device, kernel::Compiler& compiler);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  struct Shape {
    std::uint32_t blocks = 1;
    std::uint32_t threads = 32;
    std::uint32_t shared = 0;
    int count = 0;
    std::string arch_suffix = {};  // "a": what one architecture alone has
    std::uint32_t cluster = 1;     // blocks
  };
  // Clocks from the first warp's start to the last one's end in block 0, of the second launch.
  double clocks(const std::string& source, const Shape& shape);
  // The first `words` of what the second launch has written to `times`.
  std::vector<std::uint64_t> noted(const std::string& source, const Shape& shape,
                                   std::size_t words);
  // Microseconds a launch, by the device's timer.
  double microseconds(const std::string& source, const Shape& shape,
                      const device::TimingPlan& plan = {20, 30, 5});
  // SM clocks a microsecond, as the last call of clocks() saw it.
  double clock_mhz() const { return clock_mhz_; }
  void fill(const std::vector<std::uint32_t>& words);
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  device::Launch prepare(const std::string& source, const Shape& shape);

  device::Device& device_;
  kernel::Compiler& compiler_;
  std::string last_source_;
  device::KernelHandle kernel_{};
  device::BufferHandle times_{};
  device::BufferHandle data_{};
  std::uint64_t data_bytes_ = 0;
  double clock_mhz_ = 0;
};

Json measure_instructions(Lab& lab);
// Products of warpgroups, and instructions of other warps and of their own beside them. sm_90 alone.
Json measure_warpgroup_products(Lab& lab);
// What is left of a partition's issue slots while products run, and what a product takes that is
// waited for. sm_90 alone.
Json measure_issue_slots(Lab& lab);
// Whose products run first where several warpgroups ask for a group of them. sm_90 alone.
Json measure_product_turns(Lab& lab);
// Accesses to shared memory, and shuffles, beside products that read it too. sm_90 alone.
Json measure_shared_beside_products(Lab& lab);
// Products of mma.sync, and what other warps issue beside them.
Json measure_operands(Lab& lab);
// Which of the warps of a partition go first that all have products of mma.sync.
Json measure_scheduling(Lab& lab, int sms);
// What blocks of a cluster take to tell each other something. sm_90 and newer.
Json measure_cluster(Lab& lab);
// Code that an SM's instruction cache holds, and code that it does not.
Json measure_code(Lab& lab);
// Stores of bulk copies and of threads, fences behind them, sectors that are not filled, and what may
// wait for L2. sm_90 and newer.
Json measure_stores(Lab& lab, int sms);
// Bulk copies of data that several blocks read. sm_90 and newer.
Json measure_copies(Lab& lab, int sms);
Json measure_memory(Lab& lab, int sms);
// Clocks of an SM for a warp's load that L1 holds, by what its lanes want.
Json measure_l1_loads(Lab& lab);
// Additions to global memory by all SMs, to few lines and to many.
Json measure_atomics(Lab& lab, int sms);
Json measure_launches(Lab& lab, int sms);

}  // namespace fa_tune::bench
