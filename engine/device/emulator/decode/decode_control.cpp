#include <algorithm>
#include <unordered_map>

#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

// Which function decodes which instruction; and control flow, barriers, fences and hints.

namespace fa_tune::emulator {

const std::unordered_map<std::string_view, Decoder::Family>& Decoder::families() {
  using D = Decoder;
  struct Decodes {
    Family family;
    std::string_view roots;  // separated by spaces
  };
  static constexpr Decodes all[] = {
      {&D::branch, "bra"},
      {&D::branch_indexed, "brx"},
      {&D::call, "call"},
      {&D::return_or_exit, "ret exit"},
      {&D::stop, "trap brkpt"},
      {&D::stack, "alloca stacksave stackrestore"},
      {&D::barrier, "bar barrier"},
      {&D::mbarrier, "mbarrier"},
      {&D::tensor_map, "tensormap"},
      {&D::wgmma, "wgmma"},
      {&D::register_limit, "setmaxnreg"},
      {&D::cluster_address, "mapa getctarank"},
      {&D::fence, "membar fence"},
      {&D::hint,
       "prefetch prefetchu nanosleep griddepcontrol createpolicy pmevent discard "
       "applypriority"},
      {&D::with_carry, "addc subc madc"},
      {&D::dot_product, "dp2a dp4a"},
      {&D::masks, "fns bmsk szext"},
      {&D::video,
       "vadd2 vadd4 vsub2 vsub4 vavrg2 vavrg4 vabsdiff2 vabsdiff4 vmin2 vmin4 vmax2 "
       "vmax4 vset2 vset4"},
      {&D::arithmetic, "add sub mul mad fma div rem abs neg min max sad mul24 mad24"},
      {&D::approximate, "copysign sqrt rcp rsqrt ex2 lg2 sin cos tanh"},
      {&D::logic, "and or xor not cnot shl shr"},
      {&D::bit_field, "shf prmt bfe bfi bfind brev clz popc"},
      {&D::lop3, "lop3"},
      {&D::setp, "setp"},
      {&D::set_value, "set"},
      {&D::select, "selp slct"},
      {&D::testp, "testp"},
      {&D::convert, "cvt"},
      {&D::move, "mov"},
      {&D::address_conversion, "cvta"},
      {&D::load, "ld ldu"},
      {&D::store, "st"},
      {&D::atomic, "atom red"},
      {&D::isspacep, "isspacep"},
      {&D::async, "cp"},
      {&D::ldmatrix_or_stmatrix, "ldmatrix stmatrix"},
      {&D::movmatrix, "movmatrix"},
      {&D::mma, "mma"},
      {&D::wmma, "wmma"},
      {&D::shuffle, "shfl"},
      {&D::vote, "vote"},
      {&D::match, "match"},
      {&D::redux, "redux"},
      {&D::one_of_warp, "activemask elect"},
  };
  static const auto known = [] {
    std::unordered_map<std::string_view, Family> by_root;
    for (auto [family, roots] : all) {
      while (!roots.empty()) {
        const std::size_t end = std::min(roots.find(' '), roots.size());
        by_root[roots.substr(0, end)] = family;
        roots.remove_prefix(std::min(end + 1, roots.size()));
      }
    }
    return by_root;
  }();
  return known;
}

Decoder::Family Decoder::family(std::string_view root) {
  const auto found = families().find(root);
  return found == families().end() ? nullptr : found->second;
}

std::vector<std::string> Decoder::opcodes() {
  std::vector<std::string> names;
  for (const auto& [name, function] : families()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool Decoder::branch() {
  has("uni");
  want_operands(1, 1);
  if (operand(0).kind != Operand::Kind::name) malformed("a label is expected");
  const std::uint32_t target = label(operand(0).name);
  emit(Kind::branch, Pipe::control, nullptr);
  branches_.push_back({drafts_.size() - 1, nullptr, target});
  return true;
}

bool Decoder::branch_indexed() {
  if (!has("idx")) return false;
  has("uni");
  want_operands(2, 2);
  const Ref index = source(operand(0), Type::u32);
  for (const BranchTargets& targets : function_->branch_targets) {
    if (targets.name != operand(1).name) continue;
    std::vector<std::uint32_t> table;
    table.reserve(targets.labels.size());
    for (const std::string_view name : targets.labels) table.push_back(label(name));
    Draft& draft = emit(Kind::branch_indexed, Pipe::control, nullptr, {}, {index});
    draft.op.target = static_cast<std::uint32_t>(program_.branch_tables.size());
    program_.branch_tables.push_back(std::move(table));
    return true;
  }
  malformed("its list of targets is not declared");
}

// brkpt: without a debugger there is nobody to go on.
bool Decoder::stop() {
  want_operands(0, 0);
  emit(Kind::trap, Pipe::control, nullptr);
  return true;
}

// Every access is visible at once, so a fence orders nothing here: only the Sanitizer looks at it.
// fence.proxy.async without a state space is of all (PTX ISA, "membar / fence").
bool Decoder::fence() {
  const auto any = [&](std::initializer_list<std::string_view> words) {
    bool found = false;
    for (const std::string_view word : words) found |= has(word);
    return found;
  };
  FenceKind kind = FenceKind::memory;
  const bool device = any({"gl", "sys", "gpu"});
  const bool cluster = any({"cluster"});
  auto what = static_cast<unsigned>(device    ? MemoryScope::gpu
                                    : cluster ? MemoryScope::cluster
                                              : MemoryScope::cta);
  any({"cta", "sc", "acq_rel", "release", "sync_restrict::shared::cta",
       "sync_restrict::shared::cluster"});
  const bool acquires = any({"acquire"});
  if (any({"mbarrier_init"})) kind = FenceKind::made;
  bool of_stretch = false;  // fence.proxy.tensormap::generic.acquire.scope [address], size
  if (any({"proxy"})) {
    kind = any({"async", "async::generic"}) ? FenceKind::proxy : FenceKind::other;
    any({"alias"});
    const bool shared = any({"shared::cta", "shared::cluster"});
    const bool global = any({"global"});
    const bool all = !shared && !global;
    of_stretch = any({"tensormap::generic"}) && acquires;
    what = (shared || all ? 1U << static_cast<unsigned>(ProxySpace::shared) : 0U) |
           (global || all ? 1U << static_cast<unsigned>(ProxySpace::global) : 0U);
  }
  want_operands(of_stretch ? 2 : 0, of_stretch ? 2 : 0);
  Draft& draft = emit(Kind::lanes, Pipe::control, run_fence);
  draft.op.m[0] = static_cast<std::uint8_t>(kind);
  draft.op.m[1] = static_cast<std::uint8_t>(what);
  return true;
}

// What changes speed alone.
bool Decoder::hint() {
  if (root() == "createpolicy") {
    understood_.assign(words_.size(), true);
    const Ref policy = target(operand(0), Type::b64);
    const Ref zero = constant(0, 8);
    emit(Kind::lanes, Pipe::alu, lanes_handler({.type = Type::b64}), {policy}, {zero});
    return true;
  }
  if (root() == "pmevent") {
    has("mask");
    want_operands(1, 1);
    if (operand(0).kind != Operand::Kind::integer) malformed("a constant is expected");
  }
  if (root() == "discard" || root() == "applypriority") {
    // The text must not count on what a discarded line holds; it keeps its bytes here.
    has("global");
    if (!has("L2") && !has("L2::evict_normal")) return false;
    want_operands(2, 2);
    if (operand(0).kind != Operand::Kind::address) malformed("an address in [ ] is expected");
  }
  if (root() == "griddepcontrol") {
    const bool waits = has("wait");
    if (!waits && !has("launch_dependents")) return false;
    emit(Kind::lanes, Pipe::control, waits ? run_wait_dependencies : run_nothing);
    return true;
  }
  if (root() == "nanosleep") {
    if (last_type() != Type::u32) return false;
    emit(Kind::wait, Pipe::control, run_yield);
    return true;
  }
  if (root().starts_with("prefetch")) {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      if (words_[i].starts_with("L1") || words_[i].starts_with("L2") || words_[i] == "global" ||
          words_[i] == "local" || words_[i] == "tensormap" || words_[i] == "param" ||
          words_[i] == "const") {
        understood_[i] = true;
      }
    }
  }
  emit(Kind::lanes, Pipe::control, run_nothing);
  return true;
}

bool Decoder::barrier() {
  if (has("cluster")) return cluster_barrier();
  const bool short_form = root() == "bar";
  if (short_form && has("warp")) {
    if (!has("sync")) return false;
    want_operands(1, 1);
    const Ref members = source(operand(0), Type::b32);
    Draft& draft = emit(Kind::warp_sync, Pipe::control, run_nothing);
    read(draft, 15, members);
    return true;
  }
  has("cta");
  const bool aligned = has("aligned") || short_form;
  std::size_t at = 0;
  std::uint8_t form = 0;
  Ref result;
  const bool reducing = has("red");
  if (reducing) {
    const bool popc = has("popc");
    const bool all = has("and");
    const bool any = has("or");
    if (!popc && !all && !any) return false;
    form = popc ? 2 : all ? 3 : 4;
    const Type type = last_type();
    if (type != (popc ? Type::u32 : Type::pred)) return false;
    result = popc ? target(operand(at++), Type::u32) : predicate_target(operand(at++));
  } else if (has("arrive")) {
    form = 1;
  } else if (!has("sync")) {
    return false;
  }
  const Ref id = source(operand(at++), Type::u32);
  Ref count;
  Ref voting;
  bool negated = false;
  const std::size_t left = operand_count() - at;
  if (left > (reducing ? 2U : 1U) || left < (reducing ? 1U : 0U)) malformed("too many operands");
  if (left == (reducing ? 2U : 1U)) count = source(operand(at++), Type::u32);
  if (form == 1 && count.kind == Ref::Kind::none) malformed("bar.arrive wants a number of threads");
  if (reducing) voting = predicate_source(operand(at++), negated);
  Draft& draft = emit(Kind::barrier, Pipe::control, nullptr, {result}, {id, count, voting});
  draft.op.m[0] = form;
  draft.op.m[1] = negated ? 1 : 0;
  draft.op.m[2] = aligned ? 1 : 0;
  return true;
}

}  // namespace fa_tune::emulator
