#include "engine/device/emulator/timing/sass.hpp"

#include <array>

namespace fa_tune::emulator {
namespace {

struct Opcode {
  std::uint16_t number;
  const char* name;
  SassKind kind;
};

using enum SassKind;
constexpr Opcode kOpcodes[] = {
    {0x002, "MOV", alu},
    {0x003, "P2R", alu},
    {0x004, "R2P", alu},
    {0x005, "CS2R", constant},
    {0x006, "VOTE", alu},
    {0x007, "SEL", alu},
    {0x008, "FSEL", alu},
    {0x009, "FMNMX", float_alu},
    {0x00a, "FSET", alu},
    {0x00b, "FSETP", alu},
    {0x00c, "ISETP", alu},
    {0x00f, "VIMNMX3", alu},
    {0x010, "IADD3", alu},
    {0x011, "LEA", alu},
    {0x012, "LOP3", alu},
    {0x013, "IABS", alu},
    {0x014, "VABSDIFF", alu},
    {0x015, "VABSDIFF4", alu},
    {0x016, "PRMT", alu},
    {0x017, "IMNMX", alu},
    {0x019, "SHF", alu},
    {0x01a, "SGXT", alu},
    {0x01b, "BMSK", alu},
    {0x01c, "PLOP3", alu},
    {0x020, "FMUL", fma},
    {0x021, "FADD", fma},
    {0x023, "FFMA", fma},
    {0x024, "IMAD", imad},
    {0x025, "IMAD", imad_wide},
    {0x026, "IDP", imad},
    {0x027, "IMAD", imad_wide},
    {0x028, "DMUL", fp64},
    {0x029, "DADD", fp64},
    {0x02a, "DSETP", fp64},
    {0x02b, "DFMA", fp64},
    {0x02f, "ELECT", elect},
    {0x030, "HADD2", half},
    {0x031, "HFMA2", half},
    {0x032, "HMUL2", half},
    {0x033, "HSET2", half},
    {0x034, "HSETP2", half},
    {0x035, "HFMA2", half},
    {0x036, "VIADD", alu},
    {0x037, "IMMA", tensor},
    {0x038, "I2I", special},
    {0x039, "I2IP", alu},
    {0x03a, "MOVM", shuffle},
    {0x03b, "LDSM", shared},
    {0x03c, "HMMA", tensor},
    {0x03d, "BMMA", tensor},
    {0x03e, "F2FP", convert},
    {0x03f, "DMMA", tensor},
    {0x040, "HMNMX2", half},
    {0x044, "STSM", shared},
    {0x045, "I2FP", alu},
    {0x046, "VIADDMNMX", alu},
    {0x048, "VIMNMX", alu},
    {0x082, "UMOV", uniform},
    {0x086, "VOTEU", uniform},
    {0x087, "USEL", uniform},
    {0x08c, "UISETP", uniform},
    {0x090, "UIADD3", uniform},
    {0x091, "ULEA", uniform},
    {0x092, "ULOP3", uniform},
    {0x096, "UPRMT", uniform},
    {0x097, "UIADD3", uniform},
    {0x099, "USHF", uniform},
    {0x09c, "UPLOP3", uniform},
    {0x0a4, "UIMAD", uniform},
    {0x0a5, "UIMAD", uniform},
    {0x0b9, "ULDC", constant},
    {0x0bd, "UFLO", uniform},
    {0x0bf, "UPOPC", uniform},
    {0x0ca, "R2UR", constant},
    {0x100, "FLO", special},
    {0x101, "BREV", special},
    {0x102, "FCHK", special},
    {0x104, "F2F", special},
    {0x105, "F2I", special},
    {0x106, "I2F", special},
    {0x107, "FRND", special},
    {0x108, "MUFU", special},
    {0x109, "POPC", special},
    {0x110, "F2F", fp64},
    {0x111, "F2I", fp64},
    {0x112, "I2F", fp64},
    {0x113, "FRND", fp64},
    {0x118, "NOP", nop},
    {0x119, "S2R", constant},
    {0x11a, "DEPBAR", async_wait},
    {0x11b, "ENDCOLLECTIVE", other},
    {0x11c, "B2R", constant},
    {0x11d, "BAR", barrier},
    {0x141, "BSYNC", branch},
    {0x142, "BREAK", branch},
    {0x143, "CALL", call},
    {0x144, "CALL", call},
    {0x145, "BSSY", other},
    {0x146, "YIELD", other},
    {0x147, "BRA", branch},
    {0x148, "WARPSYNC", other},
    {0x149, "BRX", branch},
    {0x14a, "JMP", branch},
    {0x14d, "EXIT", exit},
    {0x14e, "LEPC", other},
    {0x150, "RET", branch},
    {0x155, "BMOV", other},
    {0x156, "BMOV", other},
    {0x157, "BMOV", other},
    {0x15d, "NANOSLEEP", other},
    {0x180, "LD", global},
    {0x181, "LDG", global},
    {0x182, "LDC", constant},
    {0x183, "LDL", local},
    {0x184, "LDS", shared},
    {0x185, "ST", global},
    {0x186, "STG", global},
    {0x187, "STL", local_write},
    {0x188, "STS", shared},
    {0x189, "SHFL", shuffle},
    {0x18a, "ATOM", global},
    {0x18b, "ATOM", global},
    {0x18c, "ATOMS", shared},
    {0x18d, "ATOMS", shared},
    {0x18e, "RED", global},
    {0x18f, "CCTL", fence},
    {0x190, "CCTLL", fence},
    {0x192, "MEMBAR", fence},
    {0x1a1, "MATCH", special},
    {0x1a2, "ATOM", global},
    {0x1a3, "ATOMG", global},
    {0x1a6, "RED", global},
    {0x1a7, "SYNCS", mbarrier},
    {0x1a8, "ATOMG", global},
    {0x1a9, "ATOMG", global},
    {0x1aa, "QSPC", other},
    {0x1ab, "ERRBAR", fence},
    {0x1ae, "LDGSTS", async_copy},
    {0x1af, "LDGDEPBAR", async_commit},
    {0x1b0, "ARRIVES", mbarrier},
    {0x1b1, "SYNCS", mbarrier},
    {0x1b2, "SYNCS", mbarrier},
    {0x1b4, "UTMALDG", bulk},
    {0x1b5, "UTMASTG", bulk},
    {0x1b7, "UTMACMDFLUSH", bulk_commit},
    {0x1b9, "UTMACCTL", other},
    {0x1ba, "UBLKCP", bulk},
    {0x1c2, "R2UR", constant},
    {0x1c3, "S2UR", constant},
    {0x1c4, "REDUX", special},
    {0x1c5, "WARPGROUP", wgmma_sync},
    {0x1c6, "FENCE", fence},
    {0x1c7, "UCGABAR_ARV", other},
    {0x1c8, "USETMAXREG", other},
    {0x1f0, "HGMMA", wgmma},
    {0x1f1, "IGMMA", wgmma},
    {0x1f3, "QGMMA", wgmma},
};

constexpr unsigned kOpcodeBits = 9;
constexpr std::uint16_t kBranch = 0x147;
constexpr std::uint16_t kCall = 0x144;
constexpr std::uint16_t kWarpgroup = 0x1c5;
constexpr std::uint16_t kBsync = 0x141;
constexpr std::uint16_t kYield = 0x146;
constexpr std::uint16_t kWarpsync = 0x148;
// Where lanes meet, the warp's instructions are fetched anew. Samples of Nsight Compute of kernels of
// mma.sync on an H200 (branch_resolving, a clock each, beyond the stall count; a log, 2026-11-29):
// behind a BSYNC 11 to 13, behind one that an elected lane comes to 21, behind such a WARPSYNC 68 and
// 69, behind a YIELD 42 to 69.
constexpr std::uint8_t kBsyncClocks = 12;
constexpr std::uint8_t kElectedBsyncClocks = 21;
constexpr std::uint8_t kElectedWarpsyncClocks = 68;
constexpr std::uint8_t kYieldClocks = 55;

constexpr std::uint16_t kMembar = 0x192;
constexpr std::uint8_t kGpuScope = 2;  // of a MEMBAR; 0: the CTA's, 3: the system's

constexpr std::uint16_t kLoadLocal = 0x183;
constexpr std::uint16_t kLoadShared = 0x184;
constexpr std::uint16_t kStoreLocal = 0x187;
constexpr std::uint16_t kStoreShared = 0x188;
// By the field of an access's size: U8, S8, U16, S16, 32, 64 and 128.
constexpr std::array<std::uint8_t, 8> kBytes = {1, 1, 2, 2, 4, 8, 16, 0};

constexpr auto kByNumber = [] {
  std::array<std::uint8_t, 1U << kOpcodeBits> table{};
  std::uint8_t place = 0;
  for (const Opcode& opcode : kOpcodes) table[opcode.number] = ++place;
  return table;
}();

std::uint64_t bits(const EncodedInstruction& instruction, unsigned first, unsigned count) {
  const std::uint64_t low = first < 64 ? instruction.low >> first : 0;
  std::uint64_t high = instruction.high >> (first < 64 ? 0 : first - 64);
  if (first < 64) high = first == 0 ? 0 : high << (64 - first);
  return (low | high) & ((std::uint64_t{1} << count) - 1);
}

// 48 bits, in words of 4 bytes. A Hopper branch has its lowest 8 bits apart.
std::int64_t jump_of(const EncodedInstruction& instruction, bool is_split) {
  constexpr unsigned kSign = 47;
  const std::uint64_t field = bits(instruction, 34, kSign + 1);
  auto value = static_cast<std::int64_t>(field);
  if ((field >> kSign) != 0) value -= std::int64_t{1} << (kSign + 1);
  if (is_split) value = value * 256 + static_cast<std::int64_t>(bits(instruction, 16, 8));
  return 4 * value;
}

}  // namespace

std::uint16_t opcode_of(const EncodedInstruction& instruction) {
  return static_cast<std::uint16_t>(bits(instruction, 0, kOpcodeBits));
}

SassInstruction decode_sass(const EncodedInstruction& instruction, int sm) {
  SassInstruction decoded;
  const std::uint16_t number = opcode_of(instruction);
  if (const std::uint8_t place = kByNumber[number]; place != 0) {
    decoded.name = kOpcodes[place - 1].name;
    decoded.kind = kOpcodes[place - 1].kind;
  }
  const auto field = [&](unsigned first, unsigned count) {
    return static_cast<std::uint8_t>(bits(instruction, first, count));
  };
  decoded.stall = field(105, 4);
  decoded.write_barrier = field(110, 3);
  decoded.read_barrier = field(113, 3);
  decoded.waits = field(116, 6);
  if (number == kLoadShared || number == kStoreShared || number == kLoadLocal ||
      number == kStoreLocal)
    decoded.bytes = kBytes[field(73, 3)];
  // .DEPBAR, and not .ARRIVE.
  if (number == kWarpgroup && field(47, 1) == 1) {
    decoded.kind = SassKind::wgmma_wait;
    decoded.depth = field(72, 3);
  }
  if (number == kMembar && field(76, 3) >= kGpuScope) decoded.kind = SassKind::device_fence;
  if (number == kBsync) {
    decoded.rejoin = kBsyncClocks;
    decoded.rejoin_elected = kElectedBsyncClocks;
  }
  if (number == kYield) decoded.rejoin = decoded.rejoin_elected = kYieldClocks;
  if (number == kWarpsync) decoded.rejoin_elected = kElectedWarpsyncClocks;
  if (number == kBranch) decoded.jump = jump_of(instruction, sm >= 90);
  if (number == kCall) decoded.jump = jump_of(instruction, false);
  return decoded;
}

}  // namespace fa_tune::emulator
