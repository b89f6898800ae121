#include "engine/device/emulator/prediction/not_modelled.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"

namespace fa_tune::emulator {
namespace {

// What takes less than this part of a kernel's time, or of its instructions, may be off without
// moving the kernel among others.
constexpr double kSmallTime = 0.1;
constexpr double kFewInstructions = 0.001;
// A simulation stands for the whole if each unit does at least this part of its work. Of 94 recorded
// wgmma kernels those below took 1.15 to 9.4 times as long as predicted, others 0.69 to 1.3 times.
constexpr double kRepresented = 0.8;
// A division, root or reciprocal in f64 is a subroutine of about as many instructions.
constexpr double kSubroutine = 20;

class Executed {
 public:
  Executed(const Program& program, const Record& record) : program_(program), record_(record) {}

  std::uint64_t times(std::size_t i) const { return record_.ops()[i].executions; }
  std::string_view opcode(std::size_t i) const { return program_.names[program_.ops[i].name]; }
  // The first instruction that ran and of whose opcode this holds.
  template <class F>
  std::optional<std::size_t> find(F wanted) const {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      if (times(i) > 0 && wanted(opcode(i))) return i;
    }
    return std::nullopt;
  }

  // A loop that does nothing but read one place over and over until another thread writes there:
  // the first instruction of such a loop that reads, other than from shared memory.
  std::optional<std::size_t> find_spin() const {
    for (std::size_t end = 0; end < program_.ops.size(); ++end) {
      const Op& op = program_.ops[end];
      if (op.kind != Kind::branch || op.target > end || times(end) == 0) continue;
      if (const auto reads = spins(op.target, end)) return reads;
    }
    return std::nullopt;
  }

 private:
  static bool polls(std::string_view opcode) {
    const bool strong = opcode.starts_with("atom") || opcode.starts_with("ld.volatile") ||
                        opcode.starts_with("ld.acquire") || opcode.starts_with("ld.relaxed");
    return strong && opcode.find(".shared") == std::string_view::npos;
  }

  std::optional<std::size_t> spins(std::size_t begin, std::size_t end) const {
    std::optional<std::size_t> found;
    for (std::size_t i = begin; i <= end; ++i) {
      if (program_.ops[i].kind == Kind::barrier) return std::nullopt;
      if (program_.ops[i].pipe != Pipe::load_store) continue;
      if (!polls(opcode(i)) || moves(i, begin, end)) return std::nullopt;
      found = i;
    }
    return found;
  }

  // Whether what the instruction reads, its address, changes in the loop.
  bool moves(std::size_t i, std::size_t begin, std::size_t end) const {
    const auto reads = program_.value_def_use.reads(i);
    for (std::size_t other = begin; other <= end; ++other) {
      for (const std::uint32_t value : program_.value_def_use.writes(other)) {
        if (std::ranges::find(reads, value) != reads.end()) return true;
      }
    }
    return false;
  }

  const Program& program_;
  const Record& record_;
};

bool has(std::string_view opcode, std::string_view word) {
  return opcode.find(word) != std::string_view::npos;
}

// Warp instructions that the f64 unit executes.
double f64_instructions(const Executed& executed, const Program& program) {
  double sum = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const std::string_view opcode = executed.opcode(i);
    const Pipe pipe = program.ops[i].pipe;
    if (!has(opcode, ".f64") || pipe == Pipe::load_store || pipe == Pipe::tensor) continue;
    const std::string_view root = opcode.substr(0, opcode.find('.'));
    if (root == "mov" || root == "selp" || root == "abs" || root == "neg") continue;
    const bool subroutine = root == "div" || root == "sqrt" || root == "rcp" || root == "rsqrt";
    sum += real(executed.times(i)) * (subroutine ? kSubroutine : 1);
  }
  return sum;
}

std::string f64_too_much(const DeviceProfile& profile, const LaunchConfig& launch,
                         const Program& program, const Record& record,
                         const Prediction& predicted) {
  const double instructions = f64_instructions(Executed(program, record), program);
  if (profile.fma_f64_per_clock_sm <= 0) {
    if (instructions <= kFewInstructions * real(record.totals.warp_instructions)) return {};
    return "arithmetic in f64, for which the profile has no rate (fma_f64_per_clock_sm)";
  }
  const double blocks = std::max(real(launch.grid.count()), 1.0);
  const double to_grid = blocks / std::max(real(record.totals.blocks), 1.0);
  const double sms = std::min<double>(blocks, std::max(profile.sms, 1));
  const double clocks = instructions * to_grid / sms * kWarpSize / profile.fma_f64_per_clock_sm;
  const double us = clocks / profile.clock_mhz;
  if (us <= kSmallTime * predicted.us) return {};
  return fmt::format(
      "arithmetic in f64: its unit alone is busy for {:.2f} us, and the model does not simulate it",
      us);
}

// Of a long kernel a part is simulated, which stands for the rest. Where that part has another mix of
// instructions, as of warps that wait for the others to begin, a unit comes out with less work than
// the kernel has for it.
std::string not_represented(const DeviceProfile& profile, const LaunchConfig& launch,
                            const Program& program, const Record& record,
                            const Prediction& predicted) {
  const auto detail = nlohmann::json::parse(predicted.detail_json, nullptr, false);
  if (!detail.is_object() || detail.value("simulated_share", 1.0) >= 1) return {};
  const double blocks = std::max(real(launch.grid.count()), 1.0);
  const double to_grid = blocks / std::max(real(record.totals.blocks), 1.0);
  const double sms = std::min<double>(blocks, std::max(profile.sms, 1));
  const double us_per_clock = to_grid / sms / kPartitions * kModelBias / profile.clock_mhz;
  const std::vector<Cost> costs = translate(program, profile);
  std::array<double, kUnitCount> us{};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    us[static_cast<std::size_t>(costs[i].unit)] +=
        real(record.ops()[i].executions) * costs[i].busy * us_per_clock;
  }
  for (const Unit unit : {Unit::tensor, Unit::special, Unit::half}) {
    const double work = us[static_cast<std::size_t>(unit)];
    if (work < kSmallTime * predicted.us) continue;
    const double simulated = detail.at("units_us").value(name_of(unit), 0.0);
    if (simulated >= kRepresented * work) continue;
    return fmt::format(
        "the part of it that is simulated does not stand for the rest: of the work of the unit "
        "'{}' it has {:.0f}%",
        name_of(unit), 100 * simulated / work);
  }
  return {};
}

}  // namespace

std::string not_modelled(const DeviceProfile& profile, const LaunchConfig& launch,
                         const Program& program, const Record& record,
                         const Prediction& predicted) {
  const Executed executed(program, record);
  const auto named = [&](std::size_t i, std::string_view why) {
    const Op& op = program.ops[i];
    return fmt::format("{} (PTX line {}): {}", executed.opcode(i), op.line, why);
  };
  const bool kept = std::ranges::any_of(record.blocks(), [](const BlockTrace& block) {
    return std::ranges::any_of(block.warps, [](const WarpTrace& warp) { return warp.kept > 0; });
  });
  if (!kept) return "no warp's way through the kernel was recorded";
  if (profile.wgmma_f16_flop_per_clock_sm <= 0) {
    if (const auto i = executed.find([](auto op) { return op.starts_with("wgmma.mma_async"); }))
      return named(*i, "the profile has no rate of wgmma");
  }
  if (const auto i = executed.find([](auto op) {
        return (op.starts_with("mma.") || op.starts_with("wmma.mma")) && has(op, ".f64");
      }))
    return named(*i, "products of f64 on tensor cores have no rate in a profile");
  // sm_89 has such products; sm_90 makes them of f16's, at a rate that was not measured.
  if (profile.arch.starts_with("sm_9")) {
    if (const auto i = executed.find([](auto op) {
          return op.starts_with("mma.") && (has(op, ".e4m3") || has(op, ".e5m2"));
        }))
      return named(*i,
                   "products of 8-bit floats through mma.sync have no rate for " + profile.arch);
  }
  // griddepcontrol.wait takes no time: what is predicted is a launch with none in front of it.
  if (const auto i = executed.find([](auto op) { return op.starts_with("nanosleep"); }))
    return named(*i, "how long it waits is not known");
  // The blocks of a cooperative launch are all there at once, and those of the busiest SM, which is
  // simulated, are waited for. Of others' loops nobody knows how long they last.
  if (const auto i = launch.cooperative ? std::nullopt : executed.find_spin())
    return named(*i, "it waits in a loop for another block, and one SM alone is simulated");
  if (std::string why = not_represented(profile, launch, program, record, predicted); !why.empty())
    return why;
  return f64_too_much(profile, launch, program, record, predicted);
}

}  // namespace fa_tune::emulator
