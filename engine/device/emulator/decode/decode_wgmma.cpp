#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "engine/device/emulator/decode/decoder.hpp"
#include "engine/device/emulator/matrix/matrix_ops.hpp"
#include "engine/device/emulator/warp/warp_ops.hpp"

// wgmma.* and setmaxnreg.

namespace fa_tune::emulator {
namespace {

constexpr int kKBits = 256;

// "m64n128k16": n and k, or zeros.
std::pair<int, int> shape_of(std::string_view word) {
  int n = 0;
  int k = 0;
  if (!word.starts_with("m64n")) return {0, 0};
  const char* end = word.data() + word.size();
  const auto first = std::from_chars(word.data() + 4, end, n);
  if (first.ptr == end || *first.ptr != 'k') return {0, 0};
  const auto second = std::from_chars(first.ptr + 1, end, k);
  return second.ptr == end ? std::pair(n, k) : std::pair(0, 0);
}

// PTX ISA, "Register Fragments and Shared Memory Matrix Layouts": multiples of 8 up to 256; of
// whole numbers 8, 24 and multiples of 16.
bool has_columns(int n, bool whole_numbers) {
  if (n < 8 || n > 256 || n % 8 != 0) return false;
  return !whole_numbers || n == 8 || n == 24 || n % 16 == 0;
}

bool is_half(Element element) { return element == Element::f16 || element == Element::bf16; }

}  // namespace

bool Decoder::wgmma() {
  if (rule_ != TensorRule::hopper || words_.size() < 2) return false;
  if (!has("sync") || !has("aligned")) return false;
  if (has("mma_async")) return wgmma_product();
  Handler run = nullptr;
  std::int64_t groups = 0;
  if (has("fence")) run = run_wgmma_fence;
  if (has("commit_group")) run = run_wgmma_commit;
  if (has("wait_group")) {
    run = run_wgmma_wait;
    if (operand(0).kind != Operand::Kind::integer || operand(0).value < 0) {
      malformed("a number of groups is expected");
    }
    groups = operand(0).value;
  }
  if (run == nullptr) return false;
  const std::size_t count = run == run_wgmma_wait ? 1 : 0;
  want_operands(count, count);
  Draft& draft = emit(Kind::converge, Pipe::control, run);
  draft.op.immediate = groups;
  draft.op.m[6] = 1;
  return true;
}

// wgmma.mma_async.sync.aligned.m64nNkK{.satfinite}.d.a.b d, a, b, add{, negate a, negate b{,
// transpose a}{, transpose b}}
bool Decoder::wgmma_product() {
  if (words_.size() < 8) return false;
  const auto [n, k] = shape_of(words_[4]);
  understood_[4] = true;
  const auto types = std::span(words_).last(3);
  for (std::size_t i = words_.size() - 3; i < words_.size(); ++i) understood_[i] = true;
  const auto a = element_of(types[1]);
  const auto b = element_of(types[2]);
  const auto sums = accumulator_of(types[0]);
  if (!a || !b || !sums || !go_together(*a, *b, *sums)) return false;
  const bool whole_numbers = *sums == Accumulator::s32;
  if (k * bits_of(*a) != kKBits || !has_columns(n, whole_numbers)) return false;
  WgmmaForm form;
  form.kind = {*a, *b, *sums, k, TensorRule::hopper_wgmma, has("satfinite")};
  if (form.kind.saturate && !whole_numbers) return false;
  form.tiles = n / 8;
  form.a_in_registers = operand(1).kind == Operand::Kind::vector;
  const std::size_t signs = whole_numbers ? 0 : 2;
  const std::size_t transposes = !is_half(*a) ? 0 : form.a_in_registers ? 1 : 2;
  want_operands(4 + signs + transposes, 4 + signs + transposes);
  if (signs != 0) {
    form.a_negated = wgmma_option(4, -1, 1) < 0;
    form.b_negated = wgmma_option(5, -1, 1) < 0;
  }
  if (transposes == 2) form.a_transposed = wgmma_option(6, 0, 1) != 0;
  if (transposes != 0) form.b_transposed = wgmma_option(5 + transposes, 0, 1) != 0;
  const std::size_t registers =
      static_cast<std::size_t>(form.tiles) * (*sums == Accumulator::f16 ? 2 : 4);
  const std::vector<Ref> d =
      fragment(0, registers, *sums == Accumulator::f32 ? Type::f32 : Type::b32, true);
  std::array<Ref, 5> left{};
  if (form.a_in_registers) {
    const std::vector<Ref> parts = fragment(1, 4, Type::b32, false);
    std::copy(parts.begin(), parts.end(), left.begin());
  } else {
    left[4] = source(operand(1), Type::b64);
  }
  const Ref right = source(operand(2), Type::b64);
  bool negated = false;
  Ref adds{Ref::Kind::predicate, kPredicateTrue};
  if (operand(3).kind == Operand::Kind::integer) {
    if (operand(3).value == 0) adds.id = kPredicateFalse;
  } else {
    adds = predicate_source(operand(3), negated);
  }
  Draft& draft = emit(Kind::converge, Pipe::tensor, run_wgmma);
  for (std::size_t i = 0; i < left.size(); ++i) read(draft, i, left[i]);
  read(draft, 5, right);
  read(draft, 6, adds);
  draft.sums = d;
  draft.op.m[0] = negated ? 1 : 0;
  draft.op.m[6] = 1;
  draft.op.target = static_cast<std::uint32_t>(program_.wgmma.size());
  draft.op.immediate = std::int64_t{2} * 16 * n * k;
  program_.wgmma.push_back(std::move(form));
  return true;
}

std::int64_t Decoder::wgmma_option(std::size_t index, std::int64_t low, std::int64_t high) {
  const Operand& option = operand(index);
  if (option.kind != Operand::Kind::integer || (option.value != low && option.value != high)) {
    malformed(fmt::format("operand {} is {} or {}", index + 1, low, high));
  }
  return option.value;
}

// setmaxnreg.{inc,dec}.sync.aligned.u32 count
bool Decoder::register_limit() {
  const bool more = has("inc");
  if (last_type() != Type::u32 || (!more && !has("dec"))) return false;
  if (!has("sync") || !has("aligned")) return false;
  want_operands(1, 1);
  const Operand& count = operand(0);
  if (count.kind != Operand::Kind::integer || count.value < 24 || count.value > 256 ||
      count.value % 8 != 0) {
    malformed("24 to 256 registers, a multiple of 8, are expected");
  }
  Draft& draft = emit(Kind::wait, Pipe::control, run_register_limit);
  draft.op.immediate = count.value;
  draft.op.m[0] = more ? 1 : 0;
  draft.op.m[6] = 1;
  program_.thread_registers = entry_registers_;
  return true;
}

// What ptxas gives the threads of a kernel that has setmaxnreg: as many as the launch that its
// directives allow can have. Without any it ignores the instruction (PTX ISA, setmaxnreg: the kernel
// must have been launched with a valid number).
std::uint32_t Decoder::thread_registers(const Function& entry) {
  constexpr std::uint64_t kOfAnSm = 65536;
  constexpr std::uint64_t kMost = 256;
  if (entry.most_registers != 0) {
    return static_cast<std::uint32_t>(std::min((entry.most_registers + 7) / 8 * 8, kMost));
  }
  if (entry.most_threads == 0) return 0;
  const std::uint64_t threads = (entry.most_threads + kWarpSize - 1) / kWarpSize * kWarpSize *
                                std::max<std::uint64_t>(entry.least_blocks, 1);
  return static_cast<std::uint32_t>(std::min(kOfAnSm / threads / 8 * 8, kMost));
}

}  // namespace fa_tune::emulator
