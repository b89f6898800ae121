#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/device/emulator/ir/def_use.hpp"
#include "engine/device/emulator/ir/types.hpp"
#include "engine/device/emulator/ir/wgmma.hpp"

namespace fa_tune::emulator {

inline constexpr int kWarpSize = 32;
inline constexpr std::uint32_t kFullMask = 0xffffffffU;

// Registers of a warp as structures of arrays. A slot is 32 words of 32 bits, a word a lane; a
// value of 16 bits is stored zero-extended; a value of 64 bits takes two slots as 32 words of 64
// bits. An operand index counts slots; its top bit says that the slot is among the program's
// constants, which all warps share. Predicates are words with a bit a lane.
struct LaneFile {
  std::uint32_t* base[2] = {nullptr, nullptr};  // registers, constants
  std::uint32_t* predicates = nullptr;
};

inline constexpr std::uint16_t kNoOperand = 0xffff;
inline constexpr std::uint16_t kConstantBit = 0x8000;
// Predicates 0 and 1 are false and true and are never written.
inline constexpr std::uint16_t kPredicateFalse = 0;
inline constexpr std::uint16_t kPredicateTrue = 1;

struct Op;
// Executes one instruction for the lanes of `mask`, which is never 0. Other lanes keep their
// values.
using Handler = void (*)(LaneFile& lanes, const Op& op, std::uint32_t mask);

// How the executor treats an instruction.
enum class Kind : std::uint8_t {
  lanes,      // run() and go on; cannot fail
  memory,     // run(), which may report a diagnostic
  converge,   // like memory, but first wait until the lanes it names have come
  warp_sync,  // bar.warp.sync: the same, then their earlier memory accesses are ordered
  wait,       // like memory, but run() may say in Warp::outcome that it must be tried again
  branch,
  branch_indexed,
  call,
  ret,  // from a function
  exit,
  trap,
  barrier,
};

// Among whom an operation is seen in order (PTX ISA, "Memory Consistency Model: Scope"); .sys counts
// as .gpu, since one GPU is all there is.
enum class MemoryScope : std::uint8_t { none, cta, cluster, gpu };
inline constexpr std::size_t kScopes = 3;  // that are some

// How an access orders others, for the sanitizer.
enum class MemoryOrder : std::uint8_t {
  plain,
  strong,     // volatile, relaxed; an mbarrier's own
  acquiring,  // acquire
  releasing,  // release
  update,     // atomic: reads and writes
  acquiring_update,
  releasing_update,
  acq_rel_update,
  copy,       // of an argument to a call: it may copy what nobody has written
  unwatched,  // whoever makes it tells the Sanitizer more
};

// Both in a byte of Op::m.
constexpr std::uint8_t packed(MemoryOrder order, MemoryScope scope) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(order) | static_cast<unsigned>(scope)
                                                                      << 4);
}
constexpr MemoryOrder order_in(std::uint8_t bits) { return static_cast<MemoryOrder>(bits & 0xf); }
constexpr MemoryScope scope_in(std::uint8_t bits) { return static_cast<MemoryScope>(bits >> 4); }

// The pipe that executes it, for the counters.
enum class Pipe : std::uint8_t {
  tensor,
  fma_f32,
  half,
  alu,
  special,
  convert,
  control,
  shuffle,
  load_store,
};

struct Op {
  Handler run = nullptr;
  std::int64_t immediate = 0;  // an address offset, lop3's table, the depth of a wait, ...
  std::array<std::uint16_t, 16> r{};
  std::uint32_t line = 0;    // of the PTX text
  std::uint32_t target = 0;  // of a branch or a call: an instruction; of brx: an index of tables
  std::uint16_t guard = kPredicateTrue;
  std::uint16_t name = 0;  // in Program::names
  Kind kind = Kind::lanes;
  Pipe pipe = Pipe::alu;
  bool guard_negated = false;
  // Small parameters; who reads them says what they are (see the decode_*.cpp files).
  std::array<std::uint8_t, 7> m{};
};

inline const std::uint32_t* slot(const LaneFile& lanes, std::uint16_t index) {
  return lanes.base[index >> 15] + std::size_t{index & 0x7fffU} * kWarpSize;
}
inline std::uint32_t* target_slot(LaneFile& lanes, std::uint16_t index) {
  return lanes.base[0] + std::size_t{index} * kWarpSize;
}
using Word64 [[gnu::may_alias]] = std::uint64_t;
inline const Word64* slot64(const LaneFile& lanes, std::uint16_t index) {
  return reinterpret_cast<const Word64*>(slot(lanes, index));
}
inline Word64* target_slot64(LaneFile& lanes, std::uint16_t index) {
  return reinterpret_cast<Word64*>(target_slot(lanes, index));
}

// %tid.x and the like. Those before `clock` are written into slots when a warp starts.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  cluster_ctarank,
  cluster_nctarank,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  envreg1,  // the upper half of the address of the grid's workspace
  envreg2,  // the lower half
  count,
};

// Where the instructions of a program come from in CUDA C++, if the compiler was told to say so
// (NVRTC's and nvcc's --generate-line-info).
struct SourceLines {
  static constexpr std::uint32_t kUnknown = 0xffffffffU;

  // "mma.cu:123" or "math.cuh:40 in mma.cu:123", for code that was inlined there: the innermost
  // call that the kernel's own file makes. Each once.
  std::vector<std::string> texts;
  std::vector<std::uint32_t> of_ops;  // an index of texts, or unknown; empty: not one is known

  // The text of instruction `op`; empty if it is not known.
  const std::string& of(std::size_t op) const;
};

// A kernel ready to run.
// One instruction of the machine code that ptxas made of the program.
struct EncodedInstruction {
  std::uint64_t low = 0;  // its 128 bits
  std::uint64_t high = 0;
  std::uint32_t ptx_line = 0;  // as Op::line; 0: unknown
};

struct Program {
  std::string kernel;
  std::vector<Op> ops;
  DefUse def_use;                                // of each instruction
  SourceLines sources;                           // of each instruction
  ValueDefUse value_def_use;                     // of each instruction
  std::uint32_t values = 0;                      // that value_def_use may name
  std::vector<std::string> names;                // opcodes, for messages
  std::vector<EncodedInstruction> machine_code;  // empty: unknown
  std::vector<std::uint32_t> constants;          // slots
  std::vector<std::vector<std::uint32_t>> branch_tables;
  std::vector<WgmmaForm> wgmma;
  std::array<std::uint16_t, static_cast<std::size_t>(Special::count)> special_slots{};  // or none
  std::uint32_t entry = 0;
  std::uint32_t slots = 0;       // a warp
  std::uint32_t predicates = 0;  // a warp
  // That a thread begins with, if setmaxnreg changes how many it has; 0: unknown.
  std::uint32_t thread_registers = 0;
  std::uint32_t parameter_bytes = 0;
  std::vector<std::uint32_t> parameter_sizes;    // each argument's bytes
  std::vector<std::uint32_t> parameter_offsets;  // and where it goes
  std::uint32_t local_bytes = 0;                 // a thread
  std::uint32_t shared_begin = 0;                // address of the first byte
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_begin = 0;                   // address
  std::vector<std::uint64_t> globals;                       // addresses of the module's variables
  std::map<std::string, std::uint64_t> constant_variables;  // addresses of those a host may fill
  // Atomic operations on global memory whose outcome depends on the order of CTAs: such a grid runs
  // on one thread, in order, so that its result is one.
  bool order_dependent = false;
};

// Windows of the generic address space. Every one is 4 GiB, so that the low half of an address is
// the address within the space. Global allocations lie elsewhere.
inline constexpr std::uint64_t kSharedWindow = 0x0000'0100'0000'0000;
inline constexpr std::uint64_t kLocalWindow = 0x0000'0200'0000'0000;
inline constexpr std::uint64_t kParamWindow = 0x0000'0300'0000'0000;
inline constexpr std::uint64_t kCodeWindow = 0x0000'0400'0000'0000;  // functions; no memory
inline constexpr std::uint64_t kGlobalBegin = 0x0000'7000'0000'0000;
inline bool in_window(std::uint64_t address, std::uint64_t window) {
  return (address >> 32) == (window >> 32);
}
// Within the shared window, and in 32-bit addresses of shared::cluster, the top byte of 32 is 0 for
// the CTA's own memory, else 1 and the rank of another CTA of the cluster.
inline constexpr int kClusterRankAt = 24;
inline constexpr std::uint32_t kSharedOffsetMask = (1U << kClusterRankAt) - 1;
// Bytes of shared memory at the front of a CTA that the system keeps for itself, as since sm_80.
inline constexpr std::uint32_t kSharedReserved = 1024;

// "mma.cu:123 (PTX line 40)" or, without line information, "PTX line 40": where an instruction
// of the program stands.
std::string line_text(const Program& program, const Op& op);

}  // namespace fa_tune::emulator
