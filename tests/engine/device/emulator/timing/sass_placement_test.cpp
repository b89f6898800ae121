#include "engine/device/emulator/timing/sass_placement.hpp"

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

// Which block of PTX machine instructions run with.

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

using Blocks = std::vector<std::vector<std::uint32_t>>;

// Two blocks of PTX that follow each other: plain work and an arrival, and plain work and a product.
enum Op : std::uint32_t { work, arrive, later, product };

struct Machine {
  Machine() {
    costs.resize(4);
    costs[arrive].role = Role::barrier;
    costs[arrive].waits = false;
    costs[product].unit = Unit::tensor;
  }
  void add(Op op, SassKind kind = SassKind::alu) {
    MatchedInstruction instruction;
    instruction.sass.kind = kind;
    instruction.op = op;
    instruction.host = block_of[op];
    instructions.push_back(instruction);
  }
  Blocks placed() const {
    const std::vector<Stretch> stretches{{0, instructions.size(), {}}};
    return Placement(instructions, stretches, block_of, costs, runs).by_block();
  }

  std::vector<MatchedInstruction> instructions;
  std::vector<std::uint32_t> block_of{0, 0, 1, 1};
  std::vector<Cost> costs;
  std::vector<double> runs{100, 100};
};

// Two instructions of the second block stand before the arrival of the first, one behind it.
Machine late_arrival() {
  Machine machine;
  machine.add(work);
  machine.add(work);
  machine.add(later);
  machine.add(later);
  machine.add(arrive, SassKind::barrier);
  machine.add(later);
  return machine;
}

}  // namespace

TEST_CASE("sass: what ptxas puts before an arrival runs before it") {
  CHECK(late_arrival().placed() == Blocks{{0, 1, 2, 3, 4}, {5}});
}

TEST_CASE("sass: what stands behind all arrivals runs with its own block") {
  Machine machine;
  machine.add(work);
  machine.add(arrive, SassKind::barrier);
  machine.add(later);
  CHECK(machine.placed() == Blocks{{0, 1}, {2}});
}

TEST_CASE("sass: a block that does not always run with the arrival's stays whole") {
  Machine machine = late_arrival();
  machine.runs[1] = 50;
  CHECK(machine.placed() == Blocks{{0, 1, 4}, {2, 3, 5}});
}

TEST_CASE("sass: a barrier that is waited at is no arrival") {
  Machine machine = late_arrival();
  machine.costs[arrive].waits = true;
  CHECK(machine.placed() == Blocks{{0, 1, 4}, {2, 3, 5}});
}

TEST_CASE("sass: a block whose products have to be found there stays whole") {
  Machine machine = late_arrival();
  machine.add(product, SassKind::tensor);
  CHECK(machine.placed() == Blocks{{0, 1, 4}, {2, 3, 5, 6}});
}

TEST_CASE(
    "sass: where a loop's end and its beginning are one stretch the end is not the later block") {
  Machine machine;
  machine.add(later);
  machine.add(later);
  machine.add(work);
  machine.add(arrive, SassKind::barrier);
  CHECK(machine.placed() == Blocks{{2, 3}, {0, 1}});
}

}  // namespace fa_tune::test
