#include <algorithm>
#include <unordered_map>

#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/decode/decoder.hpp"

// Which function decodes which instruction; and control flow, barriers, fences and hints.

namespace fa_tune::emulator {

const std::unordered_map<std::string_view, Decoder::Family>& Decoder::families() {
  using D = Decoder;
  static const std::unordered_map<std::string_view, Family> known = {
      {"bra", &D::branch},
      {"brx", &D::branch_indexed},
      {"call", &D::call},
      {"ret", &D::return_or_exit},
      {"exit", &D::return_or_exit},
      {"trap", &D::stop},
      {"brkpt", &D::stop},
      {"alloca", &D::stack},
      {"stacksave", &D::stack},
      {"stackrestore", &D::stack},
      {"bar", &D::barrier},
      {"barrier", &D::barrier},
      {"mbarrier", &D::mbarrier},
      {"wgmma", &D::wgmma},
      {"setmaxnreg", &D::register_limit},
      {"mapa", &D::cluster_address},
      {"getctarank", &D::cluster_address},
      {"membar", &D::fence},
      {"fence", &D::fence},
      {"prefetch", &D::hint},
      {"prefetchu", &D::hint},
      {"nanosleep", &D::hint},
      {"griddepcontrol", &D::hint},
      {"createpolicy", &D::hint},
      {"pmevent", &D::hint},
      {"discard", &D::hint},
      {"applypriority", &D::hint},
      {"addc", &D::with_carry},
      {"subc", &D::with_carry},
      {"madc", &D::with_carry},
      {"dp2a", &D::dot_product},
      {"fns", &D::masks},
      {"bmsk", &D::masks},
      {"szext", &D::masks},
      {"vadd2", &D::video},
      {"vadd4", &D::video},
      {"vsub2", &D::video},
      {"vsub4", &D::video},
      {"vavrg2", &D::video},
      {"vavrg4", &D::video},
      {"vabsdiff2", &D::video},
      {"vabsdiff4", &D::video},
      {"vmin2", &D::video},
      {"vmin4", &D::video},
      {"vmax2", &D::video},
      {"vmax4", &D::video},
      {"vset2", &D::video},
      {"vset4", &D::video},
      {"add", &D::arithmetic},
      {"sub", &D::arithmetic},
      {"mul", &D::arithmetic},
      {"mad", &D::arithmetic},
      {"fma", &D::arithmetic},
      {"div", &D::arithmetic},
      {"rem", &D::arithmetic},
      {"abs", &D::arithmetic},
      {"neg", &D::arithmetic},
      {"min", &D::arithmetic},
      {"max", &D::arithmetic},
      {"sad", &D::arithmetic},
      {"mul24", &D::arithmetic},
      {"mad24", &D::arithmetic},
      {"dp4a", &D::dot_product},
      {"copysign", &D::approximate},
      {"sqrt", &D::approximate},
      {"rcp", &D::approximate},
      {"rsqrt", &D::approximate},
      {"ex2", &D::approximate},
      {"lg2", &D::approximate},
      {"sin", &D::approximate},
      {"cos", &D::approximate},
      {"tanh", &D::approximate},
      {"and", &D::logic},
      {"or", &D::logic},
      {"xor", &D::logic},
      {"not", &D::logic},
      {"cnot", &D::logic},
      {"shl", &D::logic},
      {"shr", &D::logic},
      {"shf", &D::bit_field},
      {"prmt", &D::bit_field},
      {"bfe", &D::bit_field},
      {"bfi", &D::bit_field},
      {"bfind", &D::bit_field},
      {"brev", &D::bit_field},
      {"clz", &D::bit_field},
      {"popc", &D::bit_field},
      {"lop3", &D::lop3},
      {"setp", &D::setp},
      {"set", &D::set_value},
      {"selp", &D::select},
      {"slct", &D::select},
      {"testp", &D::testp},
      {"cvt", &D::convert},
      {"mov", &D::move},
      {"cvta", &D::address_conversion},
      {"ld", &D::load},
      {"ldu", &D::load},
      {"st", &D::store},
      {"atom", &D::atomic},
      {"red", &D::atomic},
      {"isspacep", &D::isspacep},
      {"cp", &D::async},
      {"ldmatrix", &D::ldmatrix_or_stmatrix},
      {"stmatrix", &D::ldmatrix_or_stmatrix},
      {"movmatrix", &D::movmatrix},
      {"mma", &D::mma},
      {"wmma", &D::wmma},
      {"shfl", &D::shuffle},
      {"vote", &D::vote},
      {"match", &D::match},
      {"redux", &D::redux},
      {"activemask", &D::one_of_warp},
      {"elect", &D::one_of_warp},
  };
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
    Draft& draft = emit(Kind::branch_indexed, Pipe::control, nullptr);
    read(draft, 0, index);
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
bool Decoder::fence() {
  bool beyond_cta = false;
  for (const std::string_view word : {"gl", "sys", "gpu", "cluster"}) beyond_cta |= has(word);
  for (const std::string_view word :
       {"cta", "sc", "acq_rel", "acquire", "release", "mbarrier_init", "sync_restrict::shared::cta",
        "sync_restrict::shared::cluster"}) {
    has(word);
  }
  bool of_proxy = false;
  bool of_stretch = false;  // fence.proxy.tensormap::generic.acquire.scope [address], size
  if (has("proxy")) {
    for (const std::string_view word : {"async", "async::generic"}) of_proxy |= has(word);
    for (const std::string_view word : {"alias", "global", "shared::cta", "shared::cluster"}) {
      has(word);
    }
    of_stretch = has("tensormap::generic") && has("acquire");
  }
  want_operands(of_stretch ? 2 : 0, of_stretch ? 2 : 0);
  Draft& draft = emit(Kind::lanes, Pipe::control, run_fence);
  draft.op.m[0] = static_cast<std::uint8_t>(of_proxy     ? FenceKind::proxy
                                            : beyond_cta ? FenceKind::gpu
                                                         : FenceKind::cta);
  return true;
}

// What changes speed alone.
bool Decoder::hint() {
  if (root() == "createpolicy") {
    understood_.assign(words_.size(), true);
    const Ref policy = target(operand(0), Type::b64);
    LaneKey key;
    key.type = Type::b64;
    const Ref zero = constant(0, 8);
    Draft& draft = emit(Kind::lanes, Pipe::alu, lanes_handler(key));
    write(draft, 0, policy);
    read(draft, 1, zero);
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
  if (root() == "griddepcontrol" && !has("wait") && !has("launch_dependents")) return false;
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
  Draft& draft = emit(Kind::barrier, Pipe::control, nullptr);
  if (reducing) write(draft, 0, result);
  read(draft, 1, id);
  read(draft, 2, count);
  read(draft, 3, voting);
  draft.op.m[0] = form;
  draft.op.m[1] = negated ? 1 : 0;
  draft.op.m[2] = aligned ? 1 : 0;
  return true;
}

}  // namespace fa_tune::emulator
