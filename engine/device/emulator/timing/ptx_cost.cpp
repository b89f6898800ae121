// From PTX to what the machine does. ptxas stands between the two; these are the translations that
// it makes as a matter of course, found by holding its output for the project's templates (sm_90,
// CUDA 13.0) beside their PTX:
//
//   moves, conversions between integer widths, cvta, loads of parameters: nothing is left
//   (registers
//     are renamed, parameters are operands in the constant bank);
//   mul.f32 whose only use is an add or a sub: one fused multiply-add;
//   integer work whose inputs do not change in a loop: done before it;
//   an addition of a constant that only addresses use: a part of the address;
//   shl.b64 or mul.wide whose only use is a 64-bit addition: a part of it (LEA, IMAD.WIDE);
//   a choice between constants that only an asynchronous copy uses as its size: a predicate;
//   a shift by 16 that only a conversion from 16 bits uses: the upper half as an operand.
//
// A 64-bit integer addition is two instructions, an integer division about twenty. What ptxas does
// beyond that (common subexpressions, unrolling, uniform registers) is not seen.

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"

namespace fa_tune::emulator {
namespace {

constexpr double kDivisionIssues = 20;
// From the end of a group's last product until a wait for the group is over. On an H200 a product
// that is waited for takes 51 to 54 clocks beyond its own (microbench_h200_slots.json), of which some
// 8 are its issue and the wait's.
constexpr double kWarpgroupLatency = 45;

// "add" and "s64" of add.s64.
struct Form {
  std::string_view root;
  std::string_view type;
  std::string_view whole;
  bool has(std::string_view word) const { return whole.find(word) != std::string_view::npos; }
  // Of a fence: it is for more than the CTA, and for data themselves.
  bool is_beyond_cta() const {
    const bool is_wide = has(".gl") || has(".gpu") || has(".sys") || has(".cluster");
    return is_wide && !has(".proxy") && !has("mbarrier_init");
  }
};

Form form_of(std::string_view opcode) {
  const std::size_t first = opcode.find('.');
  const std::size_t last = opcode.rfind('.');
  if (first == std::string_view::npos) return {opcode, {}, opcode};
  return {opcode.substr(0, first), opcode.substr(last + 1), opcode};
}

bool is_integer(std::string_view type) {
  return !type.empty() && (type[0] == 's' || type[0] == 'u' || type[0] == 'b') && type != "bf16" &&
         type != "bf16x2";
}
bool is_wide(std::string_view type) { return type.ends_with("64"); }

class Translator {
 public:
  Translator(const Program& program, const DeviceProfile& profile)
      : program_(program), profile_(profile), costs_(program.ops.size()) {
    forms_.reserve(program.names.size());
    for (const std::string& name : program.names) forms_.push_back(form_of(name));
  }

  std::vector<Cost> run_each() {
    for (std::size_t i = 0; i < costs_.size(); ++i) costs_[i] = plain_cost(i);
    return std::move(costs_);
  }

  std::vector<Cost> run() {
    find_uses();
    for (std::size_t i = 0; i < costs_.size(); ++i) costs_[i] = plain_cost(i);
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (vanishes(i)) drop(i);
    }
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.kind == Kind::branch && op.target <= i) hoist(op.target, i);
    }
    return std::move(costs_);
  }

 private:
  const Form& form(std::size_t i) const { return forms_[program_.ops[i].name]; }
  void drop(std::size_t i) {
    costs_[i].issues = 0;
    costs_[i].busy = 0;
    costs_[i].latency = 0;
  }

  void find_uses() {
    users_.resize(program_.values);
    writers_.resize(program_.values, 0);
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      for (const std::uint32_t value : program_.value_def_use.reads(i)) {
        users_[value].push_back(static_cast<std::uint32_t>(i));
      }
      for (const std::uint32_t value : program_.value_def_use.writes(i)) ++writers_[value];
    }
  }

  // Whether `wanted` holds of every instruction that reads what `i` writes, and there is one.
  template <class F>
  bool all_users(std::size_t i, F wanted) const {
    const auto written = program_.value_def_use.writes(i);
    if (written.size() != 1 || writers_[written[0]] != 1) return false;
    const auto& users = users_[written[0]];
    return !users.empty() && std::all_of(users.begin(), users.end(), wanted);
  }
  template <class F>
  bool only_user(std::size_t i, F wanted) const {
    const auto written = program_.value_def_use.writes(i);
    return written.size() == 1 && users_[written[0]].size() == 1 && all_users(i, wanted);
  }

  double lanes(double rate) const { return rate > 0 ? kWarpSize * kPartitions / rate : 0; }

  Cost arithmetic(Unit unit, double rate, double latency) const {
    Cost cost;
    cost.unit = unit;
    cost.busy = lanes(rate);
    cost.latency = latency;
    return cost;
  }

  Cost integer_cost(const Form& f) const {
    const DeviceProfile& p = profile_;
    Cost cost = arithmetic(Unit::alu, p.alu_int_per_clock_sm, p.arithmetic_latency);
    if (one_of(f.root, {"mul", "mad", "mul24", "mad24", "dp4a", "dp2a"})) {
      cost.unit = Unit::fma;
      const bool wide = is_wide(f.type) && !f.has(".wide");
      cost.issues = wide ? 3 : 1;
      cost.busy *= cost.issues;
      return cost;
    }
    cost.either = one_of(f.root, {"add", "sub", "neg"}) || (f.root == "shl" && !is_wide(f.type));
    if (one_of(f.root, {"div", "rem"})) cost.issues = kDivisionIssues;
    if (is_wide(f.type) && f.root != "setp") cost.issues = 2;
    if (one_of(f.root, {"popc", "clz", "bfind", "brev"})) {
      return arithmetic(Unit::special, p.special_per_clock_sm, p.special_latency);
    }
    cost.busy *= cost.issues;
    cost.latency *= cost.issues;
    return cost;
  }

  Cost convert_cost(const Form& f) const {
    const DeviceProfile& p = profile_;
    if (f.has("f32.f16") || f.has("f32.bf16")) {
      // To wider: an addition of f16 or f32 that takes half a register.
      return arithmetic(Unit::half, p.half_per_clock_sm, p.arithmetic_latency);
    }
    const bool narrowing =
        f.has(".f16") || f.has(".bf16") || f.has(".tf32") || f.has(".e4m3") || f.has(".e5m2");
    if (narrowing && f.type == "f32") {
      return arithmetic(Unit::alu, p.convert_per_clock_sm, p.arithmetic_latency);
    }
    return arithmetic(Unit::special, p.special_per_clock_sm, p.special_latency);
  }

  Cost memory_cost(std::size_t i, const Form& f) const {
    const DeviceProfile& p = profile_;
    Cost cost;
    cost.unit = Unit::memory;
    cost.busy = kWarpSize * 4 / p.shared_bytes_per_clock_sm;
    cost.role = Role::shared;
    cost.latency = p.shared_latency;
    const bool bulk = f.has("bulk");
    if (f.root == "mbarrier" || (f.root == "st" && f.has(".async")) ||
        (f.root == "cp" && (bulk || f.has("mbarrier")))) {
      cost.role = bulk && f.has("commit_group") ? Role::bulk_commit : Role::traced;
    } else if (f.root == "cp" && f.has("commit_group")) {
      cost.role = Role::async_commit;
    } else if (f.root == "cp" && f.has("async") && !f.has("mbarrier")) {
      cost.role = Role::async_copy;
    } else if (one_of(f.root, {"st", "red"}) && (f.has(".global") || reaches_global(i, f))) {
      cost.role = Role::global_write;
    } else if ((one_of(f.root, {"ld", "ldu"}) && (f.has(".global") || reaches_global(i, f))) ||
               (f.root == "atom" && !f.has(".shared"))) {
      cost.role = Role::global_read;
      cost.latency = p.l2_latency;
    }
    return cost;
  }

  std::optional<std::uint32_t> constant_of(std::uint16_t place) const {
    if (place == kNoOperand || place < kConstantBit) return std::nullopt;
    return program_.constants[std::size_t{place & 0x7fffU} * kWarpSize];
  }

  // A generic address: no space is named.
  static bool reaches_global(std::size_t, const Form& f) {
    return !f.has(".shared") && !f.has(".local") && !f.has(".param") && !f.has(".const");
  }

  Cost control_cost(std::size_t i, const Form& f) const {
    const Op& op = program_.ops[i];
    Cost cost;
    cost.unit = Unit::control;
    cost.busy = 1;
    if (op.kind == Kind::barrier) {
      cost.role = Role::barrier;
      cost.barrier = static_cast<std::uint8_t>(constant_of(op.r[1]).value_or(0) & 15U);
      cost.depth = static_cast<int>(constant_of(op.r[2]).value_or(0) / kWarpSize);
      cost.waits = op.m[0] != 1;
    } else if (f.root == "cp" && f.has("wait")) {
      cost.role = f.has("bulk") ? Role::bulk_wait : Role::async_wait;
      cost.depth = static_cast<int>(op.immediate);
      cost.reads_only = f.has(".read");
    } else if (f.has("bulk") && f.has("commit_group")) {
      cost.role = Role::bulk_commit;
    } else if (f.has("cluster.arrive")) {
      cost.role = Role::cluster_arrive;
    } else if (f.has("cluster.wait")) {
      cost.role = Role::cluster_wait;
    } else if (one_of(f.root, {"membar", "fence"}) && f.is_beyond_cta()) {
      cost.role = Role::device_fence;
    }
    return cost;
  }

  // Tensor cores do 8-bit elements twice as fast as those of 16 bits, tf32 half as fast.
  static double tensor_speed(const Form& f) {
    if (f.has(".tf32")) return 0.5;
    return f.has(".e4m3") || f.has(".e5m2") || f.has(".s8") || f.has(".u8") ? 2 : 1;
  }

  // wgmma: a warp has a quarter of the product, on its partition. The size is in the opcode:
  // ".m64n128k16".
  Cost warpgroup_cost(std::size_t i, const Form& f) const {
    Cost cost;
    if (f.has("commit_group")) {
      cost.role = Role::tensor_commit;
    } else if (f.has("wait_group")) {
      cost.role = Role::tensor_wait;
      cost.depth = static_cast<int>(program_.ops[i].immediate);
    } else if (f.has("mma_async")) {
      const std::size_t shape = std::min(f.whole.find(".m64n"), f.whole.size());
      const auto size = [&](char letter) {
        double value = 0;
        for (std::size_t at = f.whole.find(letter, shape + 1); at + 1 < f.whole.size(); ++at) {
          const char digit = f.whole[at + 1];
          if (digit < '0' || digit > '9') break;
          value = value * 10 + (digit - '0');
        }
        return value;
      };
      cost.unit = Unit::tensor;
      cost.role = Role::tensor_async;
      const double flop = 2 * size('m') * size('n') * size('k') / kPartitions;
      cost.busy = flop * kPartitions / (profile_.wgmma_f16_flop_per_clock_sm * tensor_speed(f));
      // Read once for the warpgroup: below n = 64 an A from there takes longer than the product.
      const WgmmaForm& form = program_.wgmma[program_.ops[i].target];
      // A step of k is 32 bytes of each row, whatever the type.
      constexpr double kRowBytes = 32;
      const double read = kRowBytes * (size('n') + (form.a_in_registers ? 0 : size('m'))) /
                          profile_.shared_bytes_per_clock_sm;
      cost.operands = read / kPartitions;
      cost.a_in_registers = form.a_in_registers;
      // By itself it takes as long as it was measured to take: the bias of all times is not for it.
      cost.busy /= kModelBias;
      cost.operands /= kModelBias;
      cost.latency = kWarpgroupLatency / kModelBias;
    }
    return cost;
  }

  Cost plain_cost(std::size_t i) const {
    const DeviceProfile& p = profile_;
    const Form& f = form(i);
    if (f.root == "wgmma") return warpgroup_cost(i, f);
    switch (program_.ops[i].pipe) {
      case Pipe::tensor: {
        Cost cost;
        cost.unit = Unit::tensor;
        const auto flop = static_cast<double>(program_.ops[i].immediate);
        cost.busy = flop * kPartitions / (p.tensor_f16_flop_per_clock_sm * tensor_speed(f));
        cost.latency = p.tensor_latency;
        return cost;
      }
      case Pipe::fma_f32:
        return arithmetic(Unit::fma, p.fma_f32_per_clock_sm, p.arithmetic_latency);
      case Pipe::half:
        return arithmetic(Unit::half, p.half_per_clock_sm, p.arithmetic_latency);
      case Pipe::alu: {
        if (is_integer(f.type)) return integer_cost(f);
        Cost cost = arithmetic(Unit::alu, p.alu_int_per_clock_sm, p.arithmetic_latency);
        cost.of_floats = one_of(f.root, {"max", "min"});
        return cost;
      }
      case Pipe::special:
        return arithmetic(Unit::special, p.special_per_clock_sm, p.special_latency);
      case Pipe::convert:
        return convert_cost(f);
      case Pipe::shuffle: {
        if (!one_of(f.root, {"shfl", "movmatrix"})) {
          return arithmetic(Unit::alu, p.alu_int_per_clock_sm, 2 * p.arithmetic_latency);
        }
        Cost cost;
        cost.unit = Unit::memory;
        cost.busy = kWarpSize * 4 / p.shared_bytes_per_clock_sm;
        cost.latency = p.shared_latency;
        return cost;
      }
      case Pipe::load_store:
        return memory_cost(i, f);
      case Pipe::control:
        break;
    }
    return control_cost(i, f);
  }

  // Nothing is left of it, wherever it stands.
  bool vanishes(std::size_t i) const {
    const Form& f = form(i);
    const auto& def_use = program_.value_def_use;
    const auto is_address_user = [&](std::uint32_t user) {
      return program_.ops[user].pipe == Pipe::load_store;
    };
    if (f.root == "mov") return def_use.reads(i).size() <= 1;
    if (f.root == "cvta") return true;
    if (f.root == "ld") return f.has(".param");
    if (f.root == "cvt") {
      const std::size_t first = f.whole.find('.');
      const std::string_view rest = f.whole.substr(first + 1);
      return is_integer(f.type) && is_integer(rest.substr(0, rest.find('.')));
    }
    if (f.root == "mul" && f.type == "f32") {
      return only_user(i, [&](std::uint32_t user) {
        return one_of(form(user).root, {"add", "sub"}) && form(user).type == "f32";
      });
    }
    if (one_of(f.root, {"add", "sub"}) && is_integer(f.type) && def_use.reads(i).size() == 1) {
      return all_users(i, is_address_user);
    }
    if ((f.root == "shl" && is_wide(f.type)) || (f.root == "mul" && f.has(".wide"))) {
      return only_user(i, [&](std::uint32_t user) {
        return form(user).root == "add" && is_wide(form(user).type);
      });
    }
    if (f.root == "selp" && def_use.reads(i).size() == 1) {
      return all_users(i, [&](std::uint32_t user) { return form(user).root == "cp"; });
    }
    if (f.root == "shr" && program_.ops[i].r[2] >= kConstantBit) {
      return all_users(i, [&](std::uint32_t user) {
        return form(user).root == "cvt" && form(user).type == "u32" && form(user).has(".u16");
      });
    }
    return false;
  }

  // Takes what does not change between `begin` and the branch at `end` out of that loop.
  void hoist(std::size_t begin, std::size_t end) {
    std::vector<std::uint8_t> changes(program_.values, 0);  // writes within the loop
    for (std::size_t i = begin; i <= end; ++i) {
      for (const std::uint32_t value : program_.value_def_use.writes(i)) {
        changes[value] = static_cast<std::uint8_t>(std::min(changes[value] + 1, 2));
      }
    }
    for (std::size_t i = begin; i <= end; ++i) {
      const Op& op = program_.ops[i];
      const bool simple = op.kind == Kind::lanes && (op.pipe == Pipe::alu || form(i).root == "cvt");
      if (!simple || op.guard != kPredicateTrue) continue;
      const auto reads = program_.value_def_use.reads(i);
      const auto writes = program_.value_def_use.writes(i);
      const bool same = std::all_of(reads.begin(), reads.end(),
                                    [&](std::uint32_t value) { return changes[value] == 0; });
      const bool alone = std::all_of(writes.begin(), writes.end(),
                                     [&](std::uint32_t value) { return changes[value] == 1; });
      if (!same || !alone) continue;
      for (const std::uint32_t value : writes) changes[value] = 0;
      drop(i);
    }
  }

  const Program& program_;
  const DeviceProfile& profile_;
  std::vector<Cost> costs_;
  std::vector<Form> forms_;  // by Program::names
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<std::uint32_t> writers_;
};

}  // namespace

std::vector<Cost> translate(const Program& program, const DeviceProfile& profile) {
  return Translator(program, profile).run();
}

std::vector<Cost> translate_each(const Program& program, const DeviceProfile& profile) {
  return Translator(program, profile).run_each();
}

}  // namespace fa_tune::emulator
