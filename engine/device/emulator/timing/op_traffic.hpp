#pragma once

#include <vector>

#include "engine/device/emulator/timing/l1_cache.hpp"
#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// What an instruction moves, on average over its executions.
struct OpTraffic {
  double wavefronts = 0;  // in shared memory and L1
  double sectors = 0;     // between the SM and L2; bulk copies are in the trace
  double in_part = 0;     // of them, sectors that a store does not fill
  LoadSources from;       // of loads
};

// Numbers from 0 to 1 for each instruction, one after the other, spread evenly however many are drawn:
// L1 answers some executions of a load, L2 and DRAM others.
class EvenDraws {
 public:
  explicit EvenDraws(std::size_t instructions);
  double next(std::size_t instruction);

 private:
  std::vector<double> last_;
};

// By instruction of the program.
std::vector<OpTraffic> traffic_per_execution(const MachineCode& code, const Record& record,
                                             const L1Reuse& l1);

}  // namespace fa_tune::emulator
