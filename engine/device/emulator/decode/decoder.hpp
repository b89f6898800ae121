#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/device/emulator/alu/lanes.hpp"
#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/frontend/ast.hpp"
#include "engine/device/emulator/frontend/lexer.hpp"
#include "engine/device/emulator/matrix/matrix_ops.hpp"
#include "engine/device/emulator/memory/memory_ops.hpp"
#include "engine/device/emulator/tensor_core/tensor_core.hpp"
#include "engine/device/emulator/warp/warp_ops.hpp"

namespace fa_tune::emulator {

// An operand before registers have places: what Op::r will say, by name.
struct Ref {
  enum class Kind : std::uint8_t { none, reg, predicate, constant };
  Kind kind = Kind::none;
  std::uint32_t id = 0;  // virtual register or predicate; slot of the constants
};

// A virtual register. Its width decides how many slots it takes.
struct VirtualRegister {
  Type type = Type::b32;
  bool fixed = false;  // lives all the time: special registers, return addresses
};

struct Draft {
  Op op;
  std::array<Ref, 16> refs{};
  Ref guard;
  std::uint16_t writes = 0;  // bit i: refs[i] is written
  int place = -1;            // Statement::place
  std::vector<Ref> sums;     // of a wgmma: registers that it reads and writes
};

// The memory of a module's variables in global or constant memory.
struct Placing {
  std::function<std::uint64_t(const Symbol&)> place;  // gives the address
  // Writes the low `bytes` bytes of a value to an address within what was placed.
  std::function<void(std::uint64_t address, std::uint64_t value, int bytes)> write;
};

// Turns statements into drafts of instructions: checks opcode, number, kind, width of operands, and
// chooses handlers. Nothing of a kernel is executed unless all of it is known.
class Decoder {
 public:
  Decoder(Module& module, TensorRule rule, Placing placing)
      : module_(module), rule_(rule), placing_(std::move(placing)) {}

  // The kernel and every function that it calls. Throws LoadError.
  Program decode(std::string_view kernel);
  // Those with a family, in order.
  static std::vector<std::string> opcodes();

 private:
  // decoder.cpp: functions, symbols, control flow.
  void place_symbols(Function& entry, const std::vector<Function*>& functions);
  void place_frames(const std::vector<Function*>& functions);
  void write_references(const Symbol& symbol);
  static void mark_used(const Operand& operand);
  static void mark_used(Symbol& symbol);
  void function(const Function& function);
  void statement(const Statement& statement);
  std::uint32_t label(std::string_view name) const;
  void finish(const Function& entry);

  // decode_calls.cpp: which functions there are, and how they are entered, called and left.
  void know_functions();
  Function& find_function(std::string_view name, int line);
  std::uint64_t function_address(const Function& function) const;
  std::vector<Function*> callees(const Function& caller, const Statement& statement);
  std::vector<Function*> collect(Function& entry);
  void enter(const Function& function);
  void copy_parameter(const Symbol* from, const Symbol* to);
  void call_one(const Function& callee, const std::vector<Operand>& results,
                const std::vector<Operand>& arguments);
  void call_of_driver(std::string_view name, const std::vector<Operand>& results);
  Ref fixed_predicate();
  void set_flag(Ref flag, bool value);
  void copy_register(Ref from, Ref to);

  // decode_*.cpp. Each returns false if it does not know the form at hand.
  using Family = bool (Decoder::*)();
  static const std::unordered_map<std::string_view, Family>& families();
  static Family family(std::string_view root);
  bool branch();
  bool branch_indexed();
  bool call();
  bool return_or_exit();
  bool stop();
  bool fence();
  bool hint();
  bool barrier();
  bool cluster_barrier();
  bool cluster_address();
  bool mbarrier();
  bool wgmma();
  bool wgmma_product();
  std::int64_t wgmma_option(std::size_t index, std::int64_t low, std::int64_t high);
  bool register_limit();
  static std::uint32_t thread_registers(const Function& entry);
  bool mbarrier_wait(bool suspends);
  Space mbarrier_space(MemoryOrder otherwise, std::uint8_t& ordering);
  bool tensor_map();
  bool tensor_map_copy();
  bool stack();
  bool integer(Type type);
  bool with_carry();
  bool dot_product();
  bool masks();
  bool video();
  bool permute_mode();
  bool arithmetic();
  bool approximate();
  bool logic();
  bool bit_field();
  bool lop3();
  bool setp();
  bool set_value();
  bool select();
  bool testp();
  bool convert();
  bool convert_fp8(Type to, Type from);
  bool convert_pack();
  bool move();
  void copy_constant(const Operand& to, Type type);
  bool pack(Type type);
  bool pack_bytes(Type type);
  // decode_quad.cpp: registers of 128 bits, which are two of 64.
  bool pack_quad();
  bool unpack_quad();
  bool move_quad();
  std::array<Ref, 2> quad(const Operand& operand);
  bool load_quad();
  bool store_quad();
  bool async_store();
  Ref quad_half(int index, int half);
  bool unpack(Type type);
  bool address_conversion();
  bool load();
  bool store();
  bool atomic();
  // What an instruction says of how it orders others.
  struct Ordering {
    bool relaxed = false;
    bool acquires = false;
    bool releases = false;
    MemoryScope scope = MemoryScope::gpu;

    std::uint8_t of_access() const;
  };
  // decode_atomic.cpp
  struct AtomicPlace {
    Space where = Space::generic;
    std::uint8_t order = 0;  // MemoryOrder and MemoryScope, packed
    bool known = false;
  };
  Type atomic_type();
  AtomicPlace atomic_place();
  bool atomic_quad(Atomic what);
  bool isspacep();
  bool async();
  bool bulk();
  struct BulkOperands {                         // those that an instruction has
    std::array<const Operand*, 4> addresses{};  // as Op::r of async_copy.hpp has them
    const Operand* size = nullptr;
    const Operand* mask = nullptr;
    const Operand* tensor = nullptr;
  };
  Draft& bulk_draft(const BulkOperands& operands, std::uint8_t dimensions, Handler run);
  void tensor_operand(const Operand& operand, std::uint8_t dimensions, std::array<Ref, 16>& refs);
  std::uint8_t tensor_dimensions();
  bool bulk_wait();
  bool bulk_prefetch(const std::vector<std::string_view>& spaces, bool tensor, bool policy);
  bool async_arrive();
  bool ldmatrix_or_stmatrix();
  bool movmatrix();
  bool mma();
  bool mma_f64(int m, int k);
  bool wmma();
  bool wmma_memory(bool store);
  bool wmma_mma();
  bool shuffle();
  bool vote();
  bool match();
  bool redux();
  bool one_of_warp();

  // Helpers on the statement at hand.
  [[noreturn]] void unknown() const;
  [[noreturn]] void malformed(const std::string& what) const;
  // Else unknown_instruction.
  void require_arithmetic(Accumulator sums) const;
  bool hopper() const { return rule_ == TensorRule::hopper; }
  std::string_view root() const { return words_[0]; }
  bool has(std::string_view modifier);  // and mark it as understood
  Type last_type();                     // the opcode's last word
  void all_understood() const;          // else unknown()
  std::size_t operand_count() const { return statement_->operands.size(); }
  const Operand& operand(std::size_t index) const;
  void want_operands(std::size_t least, std::size_t most) const;

  Ref source(const Operand& operand, Type type);  // register of the type's width or a constant
  Ref register_at_least(const Operand& operand, Type type, int& width);
  Ref source_at_least(const Operand& operand, Type type, int& width);
  Ref target(const Operand& operand, Type type);
  Ref target_at_least(const Operand& operand, Type type, int& width);
  Ref predicate_source(const Operand& operand, bool& negated);
  Ref predicate_target(const Operand& operand);
  Ref predicate_register(int index);
  std::pair<Ref, Ref> target_and_predicate();
  Ref register_ref(int index);
  Ref constant(std::uint64_t bits, int bytes);
  std::uint64_t constant_bits(const Operand& operand, Type type) const;
  std::uint64_t symbol_address(const Symbol& symbol) const;
  Ref special(const Operand& operand, Type type);
  Ref new_register(Type type, bool fixed);
  Ref new_predicate();
  void address(Draft& draft, const Operand& operand, std::size_t ref, std::size_t width_at);
  Ref whole_address(const Operand& operand, bool& wide);
  // Valid until the next emit.
  Draft& emit(Kind kind, Pipe pipe, Handler run);
  // With operands from r[0] on: those written, then those read. What is none stays empty.
  Draft& emit(Kind kind, Pipe pipe, Handler run, std::initializer_list<Ref> targets,
              std::initializer_list<Ref> sources = {});
  static void read(Draft& draft, std::size_t index, Ref ref);
  static void write(Draft& draft, std::size_t index, Ref ref);
  // The whole of an instruction 'd, a, b, ...' of one lane.
  bool lanes(const LaneKey& key, Pipe pipe, Type to, std::initializer_list<Type> sources);
  static LaneOp lane_op_of(std::string_view root);
  void rounding(LaneKey& key);
  Combine combination();
  LaneKey modifiers(LaneOp op, Type type);
  Space space();
  Space loaded_space(Space where, const Operand& from) const;
  std::vector<Operand> values(const Operand& operand, std::size_t count) const;
  static void set_values(Op& op, Space where, Type type, std::size_t count, int width);
  Ordering cache_modifiers();
  Ref copy_of(Ref ref);
  std::vector<Ref> fragment(std::size_t index, std::size_t count, Type type, bool written);
  // One product of m rows; the fragments' registers in the ISA's order.
  struct MmaParts {
    std::vector<Ref> d, a, b, c;
  };
  void emit_mma(const MmaKind& kind, int m, const MmaParts& parts);
  void emit_mma_f64(int m, int k, const MmaParts& parts);
  void emit_wmma(const MmaKind& kind, int groups, int columns, const MmaParts& parts);
  void keep_sources(MmaParts& parts);
  std::vector<Ref> new_registers(std::size_t count, Type type);
  // f16 pairs to f32 and back.
  std::vector<Ref> to_f32_pairs(const std::vector<Ref>& halves);
  void from_f32_pairs(const std::vector<Ref>& from, const std::vector<Ref>& halves);

  Module& module_;
  TensorRule rule_;
  Placing placing_;
  Program program_;
  std::uint32_t entry_registers_ = 0;
  std::vector<Draft> drafts_;
  std::vector<VirtualRegister> registers_;
  std::uint32_t predicates_ = 2;                 // false and true come first
  std::vector<std::uint32_t> fixed_predicates_;  // live all the time
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> constants_;
  std::map<std::string_view, std::uint16_t> names_;
  std::map<Special, std::uint32_t> specials_;
  std::map<std::string_view, Function*> functions_;        // those with a body
  std::set<const Function*> taken_;                        // whose address is taken
  std::map<const Function*, std::uint32_t> active_;        // a predicate of those that may recur
  std::map<const Function*, std::uint32_t> entries_;       // first draft
  std::map<const Function*, std::uint32_t> return_slots_;  // virtual register
  // To be filled in when all functions have their places.
  struct Patch {
    std::size_t draft = 0;
    const Function* callee = nullptr;
    std::uint32_t label = 0;  // a statement of the function at hand
  };
  std::vector<Patch> calls_;
  std::vector<Patch> branches_;
  std::size_t first_table_ = 0;        // branch tables of the function at hand
  std::vector<std::uint32_t> places_;  // of the function's statements: a draft

  bool uses_stack_ = false;
  std::uint64_t stack_begin_ = 0;  // in the thread's local memory
  Ref stack_pointer_;

  // Of the function and statement at hand.
  const Function* function_ = nullptr;
  const Statement* statement_ = nullptr;
  std::vector<std::string_view> words_;
  std::vector<bool> understood_;
  std::map<int, std::uint32_t> local_registers_;  // function's register to virtual register
  std::map<int, std::uint32_t> local_predicates_;
  Ref saved_stack_;           // of a function that takes stack
  Ref carry_;                 // CC.CF, once something has used it
  std::optional<Ref> guard_;  // instead of the statement's own
};

// register_allocation.cpp: gives every virtual register its slots, by liveness, so that a warp's
// registers stay few, and fills in Op::r. Returns the slot of each.
std::vector<std::uint16_t> allocate_registers(const std::vector<Draft>& drafts,
                                              const std::vector<VirtualRegister>& registers,
                                              std::uint32_t predicates,
                                              const std::vector<std::uint32_t>& fixed_predicates,
                                              Program& program);
// collect_def_use.cpp: after the registers have their places.
DefUse def_use_of(const std::vector<Draft>& drafts, const std::vector<VirtualRegister>& registers,
                  const Program& program);
ValueDefUse value_def_use_of(const std::vector<Draft>& drafts, std::size_t registers);
// Bytes of a virtual register: 2, 4 or 8.
int width_of(Type type);

// decode_matrix.cpp: the types of matrix instructions by their words.
std::optional<Element> element_of(std::string_view word);
std::optional<Accumulator> accumulator_of(std::string_view word);
// PTX ISA, mma: which elements and sums go together.
bool go_together(Element a, Element b, Accumulator sums);

}  // namespace fa_tune::emulator
