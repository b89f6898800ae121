#include <algorithm>
#include <map>
#include <ranges>

#include "engine/device/emulator/decode/decoder.hpp"

// Registers to slots by linear scan (Poletto and Sarkar 1999). A value's interval covers every
// instruction at which it is live; two values share a slot if their intervals do not meet. A result
// and the operands of the same instruction always meet, so that handlers need not fear overlap. A
// write under a guard leaves the old value in some lanes and so does not end it. Lanes that run
// apart do no harm: each lane has its own copy of every register, and a write touches only the
// lanes that execute it.

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kMostSlots = 0x7ff0;
constexpr std::size_t kMostPairs = std::size_t{1} << 32;

class Bits {
 public:
  explicit Bits(std::size_t count) : words_((count + 63) / 64) {}
  bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1U) != 0; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  // this |= in & ~kill; true if that changed anything.
  bool add(const Bits& in, const Bits& kill) {
    bool changed = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t more = words_[i] | (in.words_[i] & ~kill.words_[i]);
      changed |= more != words_[i];
      words_[i] = more;
    }
    return changed;
  }
  void unite(const Bits& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  template <class F>
  void each(F f) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        f(i * 64 + static_cast<std::size_t>(__builtin_ctzll(rest)));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

struct Block {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::size_t> next;
  Bits live_in;
  Bits live_out;
  Bits killed;
};

struct Interval {
  std::size_t value = 0;
  std::size_t begin = ~std::size_t{0};
  std::size_t end = 0;
};

class Allocator {
 public:
  Allocator(const std::vector<Draft>& drafts, const std::vector<VirtualRegister>& registers,
            std::uint32_t predicates, const std::vector<std::uint32_t>& fixed_predicates,
            Program& program)
      : drafts_(drafts),
        registers_(registers),
        predicates_(predicates),
        fixed_predicates_(fixed_predicates),
        program_(program) {}

  std::vector<std::uint16_t> run() {
    make_blocks();
    find_liveness();
    find_intervals();
    assign();
    rewrite();
    return {places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(registers_.size())};
  }

 private:
  // Values are numbered registers first, then predicates.
  std::size_t value_of(Ref ref) const {
    return ref.kind == Ref::Kind::reg ? ref.id : registers_.size() + ref.id;
  }
  std::size_t values() const { return registers_.size() + predicates_; }

  template <class F>
  void each_read(const Draft& draft, F f) const {
    if (draft.guard.kind == Ref::Kind::predicate) f(value_of(draft.guard));
    const bool partial = draft.guard.id != kPredicateTrue;
    for (std::size_t i = 0; i < draft.refs.size(); ++i) {
      const Ref& ref = draft.refs[i];
      if (ref.kind != Ref::Kind::reg && ref.kind != Ref::Kind::predicate) continue;
      if ((draft.writes >> i & 1U) == 0 || partial) f(value_of(ref));
    }
    for (const Ref& ref : draft.sums) f(value_of(ref));
  }
  template <class F>
  void each_write(const Draft& draft, F f) const {
    for (std::size_t i = 0; i < draft.refs.size(); ++i) {
      const Ref& ref = draft.refs[i];
      if ((draft.writes >> i & 1U) != 0 && ref.kind != Ref::Kind::none) f(value_of(ref));
    }
    for (const Ref& ref : draft.sums) f(value_of(ref));
  }

  void make_blocks() {
    const std::vector<Op>& ops = program_.ops;
    std::vector<bool> leads(ops.size() + 1, false);
    leads[0] = true;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Kind kind = ops[i].kind;
      if (kind == Kind::branch) leads[ops[i].target] = true;
      if (kind == Kind::branch || kind == Kind::branch_indexed || kind == Kind::ret ||
          kind == Kind::exit || kind == Kind::trap) {
        leads[i + 1] = true;
      }
    }
    for (const auto& table : program_.branch_tables) {
      for (const std::uint32_t target : table) leads[target] = true;
    }
    // Liveness takes memory for every pair of block and value; no real kernel is near this.
    const auto leaders = static_cast<std::size_t>(std::count(leads.begin(), leads.end(), true));
    if (leaders * values() > kMostPairs) {
      throw LoadError{
          {DiagnosticKind::load_failed, "the kernel is too large: blocks times registers"}};
    }
    std::vector<std::size_t> block_at(ops.size() + 1);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (leads[i]) {
        blocks_.push_back({i, i, {}, Bits(values()), Bits(values()), Bits(values())});
      }
      block_at[i] = blocks_.size() - 1;
      blocks_.back().end = i + 1;
    }
    for (Block& block : blocks_) {
      const Op& last = ops[block.end - 1];
      const bool stays = last.kind == Kind::branch || last.kind == Kind::branch_indexed ||
                         last.kind == Kind::ret || last.kind == Kind::exit ||
                         last.kind == Kind::trap;
      const bool guarded = drafts_[block.end - 1].guard.id != kPredicateTrue;
      if ((!stays || guarded) && block.end < ops.size()) {
        block.next.push_back(block_at[block.end]);
      }
      if (last.kind == Kind::branch) block.next.push_back(block_at[last.target]);
      if (last.kind == Kind::branch_indexed) {
        for (const std::uint32_t target : program_.branch_tables[last.target]) {
          block.next.push_back(block_at[target]);
        }
      }
    }
  }

  void find_liveness() {
    for (Block& block : blocks_) {
      for (std::size_t i = block.begin; i < block.end; ++i) {
        each_read(drafts_[i], [&](std::size_t value) {
          if (!block.killed.test(value)) block.live_in.set(value);
        });
        each_write(drafts_[i], [&](std::size_t value) { block.killed.set(value); });
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (Block& block : std::views::reverse(blocks_)) {
        for (const std::size_t next : block.next) block.live_out.unite(blocks_[next].live_in);
        changed |= block.live_in.add(block.live_out, block.killed);
      }
    }
  }

  void extend(std::size_t value, std::size_t at) {
    Interval& interval = intervals_[value];
    interval.begin = std::min(interval.begin, at);
    interval.end = std::max(interval.end, at);
  }

  void find_intervals() {
    intervals_.resize(values());
    for (std::size_t value = 0; value < values(); ++value) intervals_[value].value = value;
    for (const Block& block : blocks_) {
      block.live_in.each([&](std::size_t value) { extend(value, block.begin); });
      block.live_out.each([&](std::size_t value) { extend(value, block.end - 1); });
      for (std::size_t i = block.begin; i < block.end; ++i) {
        each_read(drafts_[i], [&](std::size_t value) { extend(value, i); });
        each_write(drafts_[i], [&](std::size_t value) { extend(value, i); });
      }
    }
    for (std::size_t id = 0; id < registers_.size(); ++id) {
      if (!registers_[id].fixed) continue;
      intervals_[id].begin = 0;
      intervals_[id].end = drafts_.size();
    }
    const auto fix = [&](std::uint32_t predicate) {
      intervals_[registers_.size() + predicate].begin = 0;
      intervals_[registers_.size() + predicate].end = drafts_.size();
    };
    fix(kPredicateFalse);
    fix(kPredicateTrue);
    for (const std::uint32_t predicate : fixed_predicates_) fix(predicate);
  }

  // One pool of places each for registers of up to 32 bits, of 64 bits, and predicates.
  struct Pool {
    std::vector<std::uint32_t> free;
    std::multimap<std::size_t, std::uint32_t> busy;  // by the end of the interval
    std::uint32_t size = 0;
    std::uint32_t take(const Interval& interval) {
      while (!busy.empty() && busy.begin()->first < interval.begin) {
        free.push_back(busy.begin()->second);
        busy.erase(busy.begin());
      }
      std::uint32_t place = size;
      if (free.empty()) {
        ++size;
      } else {
        place = free.back();
        free.pop_back();
      }
      busy.emplace(interval.end, place);
      return place;
    }
  };

  void assign() {
    std::vector<Interval> order;
    for (const Interval& interval : intervals_) {
      if (interval.begin <= interval.end) order.push_back(interval);
    }
    // Ties by number: predicates false and true are the first of theirs and so get places 0 and 1.
    std::sort(order.begin(), order.end(), [](const Interval& a, const Interval& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.value < b.value;
    });
    Pool narrow;
    Pool wide;
    Pool predicate;
    places_.assign(values(), kNoOperand);
    std::vector<std::uint32_t> place(values(), 0);
    for (const Interval& interval : order) {
      place[interval.value] = pool_of(interval.value, narrow, wide, predicate).take(interval);
    }
    if (narrow.size + 2 * wide.size > kMostSlots || predicate.size > kMostSlots) {
      throw LoadError{{DiagnosticKind::load_failed, "the kernel has too many live registers"}};
    }
    for (const Interval& interval : order) {
      const std::size_t value = interval.value;
      const bool kIsWide = value < registers_.size() && width_of(registers_[value].type) == 8;
      places_[value] =
          static_cast<std::uint16_t>(kIsWide ? narrow.size + 2 * place[value] : place[value]);
    }
    program_.slots = narrow.size + 2 * wide.size;
    program_.predicates = predicate.size;
  }

  Pool& pool_of(std::size_t value, Pool& narrow, Pool& wide, Pool& predicate) const {
    if (value >= registers_.size()) return predicate;
    return width_of(registers_[value].type) == 8 ? wide : narrow;
  }

  void rewrite() {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      Op& op = program_.ops[i];
      op.guard = places_[value_of(drafts_[i].guard)];
      for (std::size_t j = 0; j < op.r.size(); ++j) {
        const Ref& ref = drafts_[i].refs[j];
        switch (ref.kind) {
          case Ref::Kind::none:
            op.r[j] = kNoOperand;
            break;
          case Ref::Kind::constant:
            op.r[j] = static_cast<std::uint16_t>(kConstantBit | ref.id);
            break;
          default:
            op.r[j] = places_[value_of(ref)];
            break;
        }
      }
      for (const Ref& ref : drafts_[i].sums) {
        program_.wgmma[op.target].sums.push_back(places_[value_of(ref)]);
      }
    }
  }

  const std::vector<Draft>& drafts_;
  const std::vector<VirtualRegister>& registers_;
  std::uint32_t predicates_;
  const std::vector<std::uint32_t>& fixed_predicates_;
  Program& program_;
  std::vector<Block> blocks_;
  std::vector<Interval> intervals_;
  std::vector<std::uint16_t> places_;
};

}  // namespace

std::vector<std::uint16_t> allocate_registers(const std::vector<Draft>& drafts,
                                              const std::vector<VirtualRegister>& registers,
                                              std::uint32_t predicates,
                                              const std::vector<std::uint32_t>& fixed_predicates,
                                              Program& program) {
  return Allocator(drafts, registers, predicates, fixed_predicates, program).run();
}

}  // namespace fa_tune::emulator
