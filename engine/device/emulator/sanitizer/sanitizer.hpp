#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/device/emulator/shadow/global_shadow.hpp"
#include "engine/device/emulator/shadow/init_shadow.hpp"
#include "engine/device/emulator/shadow/pending_copies.hpp"
#include "engine/device/emulator/shadow/shared_shadow.hpp"
#include "engine/device/emulator/shadow/vector_clocks.hpp"
#include "engine/device/emulator/state/access.hpp"
#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// The clock value of an agent (VectorClocks) at which an asynchronous access is known to be
// complete.
struct CompletionToken {
  std::uint16_t agent = 0;
  std::uint32_t time = 0;
};

// Asynchronous operations that groups count: of a bulk group the reading of its sources and, later,
// its writing to global memory; of wgmma the reading of shared memory.
enum class AsyncGroupKind : std::uint8_t { wgmma, bulk_reads, bulk_writes };
inline constexpr std::size_t kAsyncGroupKinds = 3;

// Watches a launch for what bounds and alignment do not show: reads of what nobody has written,
// races, misused asynchronous operations. One for the clusters of a launch that run one after the
// other; those that wait for each other each have one. Instructions tell it what they do; what it
// finds it reports through Cta::report. It never changes what the kernel does.
class Sanitizer final : private RaceFilter, private GlobalOrder {
 public:
  // The CTAs that run together.
  Sanitizer(const LaunchContext& context, std::uint32_t ctas);

  // Cluster number `index` begins.
  void start(std::uint64_t index);

  // A cluster has ended so. A read of what nobody has written is told only if nothing explains it
  // better: where a barrier is missing, whether the reader comes before the writer is chance. One
  // that has ended well may have left a copy behind that nobody has waited for: it comes into memory
  // that is another block's by then.
  std::optional<Diagnostic> finalize(std::optional<Diagnostic> diagnostic);
  // The launch has ended.
  std::optional<Diagnostic> finish();

  // An instruction is about to be executed for those of `mask` whose guard holds, by a warp that
  // may hold undefined values (Warp::undefined).
  void follow(Warp& warp, const Op& op, std::uint32_t mask);

  // An access that is within its memory. False after a report.
  bool access(Warp& warp, const Op& op, std::uint32_t mask, const Access& access,
              const Addresses& addresses);

  // cp.async: lanes of `mask` write to shared addresses `to`, those of `reading` read from `from`.
  bool begin_copy(Warp& warp, const Op& op, std::uint32_t mask, const Addresses& to,
                  std::uint32_t reading, const Addresses& from);
  // cp.async.wait_*; op.immediate as in async/cp_async.cpp.
  void wait_copies(Warp& warp, const Op& op, std::uint32_t mask);
  // cp.async.mbarrier.arrive: the lane's copies so far end with the mbarrier's phase.
  void hand_copies(const Warp& warp, int lane, const std::byte* mbarrier);

  // Bulk copies, tensor copies and wgmma: each piece is told when a lane issues it. It is known to
  // be complete when the mbarrier's phase under way is over, or the group has been waited for.
  CompletionToken by_phase(const Warp& warp, const Op& op, int lane, const std::byte* mbarrier);
  // `group`: how many groups the lane has committed before this operation.
  CompletionToken by_group(const Warp& warp, int lane, std::uint32_t group, AsyncGroupKind kind,
                           const Op& op);
  // `memory` is in some CTA's shared memory, `bytes` a multiple of 16 or a power of two below. It is
  // issued by the lanes of `lanes`, of which `lane` is one. `by_proxy`: through the asynchronous
  // proxy.
  bool async_shared(Warp& warp, const Op& op, int lane, std::uint32_t lanes,
                    const CompletionToken& completion, const std::byte* memory, std::uint32_t bytes,
                    const Access& access, bool by_proxy);
  bool async_global(Warp& warp, const Op& op, int lane, const CompletionToken& completion,
                    std::uint64_t address, std::uint32_t bytes, const Access& access);
  // The lanes know that what `lane` did in groups before `end` is complete.
  void wait_groups(const Warp& warp, int lane, std::uint32_t lanes, std::uint32_t end,
                   AsyncGroupKind kind);

  // bar.warp.sync: the lanes of the warp have converged.
  void converge(const Warp& warp);
  // Barrier `id` of the warp's CTA: lanes of the warp arrive; they go on; the barrier is ready for
  // its next use. `waits`: those who arrive wait, too.
  void arrive(const Warp& warp, std::uint32_t lanes, std::uint32_t id, bool waits);
  void leave(const Warp& warp, std::uint32_t lanes, std::uint32_t id);
  void reopen(const Cta& cta, std::uint32_t id);
  // barrier.cluster, by the number of its phase.
  void arrive_cluster(const Warp& warp, std::uint32_t lanes, bool relaxed);
  void complete_cluster();
  void leave_cluster(const Warp& warp, std::uint32_t lanes);
  // mbarriers, by where they lie. `bits`: MemoryOrder and MemoryScope of the instruction, packed.
  void make_mbarrier(const Warp& warp, const Op& op, int lane, const std::byte* mbarrier);
  // A lane uses it, or starts a copy that will. False after a report.
  bool use_mbarrier(Warp& warp, const Op& op, int lane, const std::byte* mbarrier, bool by_proxy);
  void arrive_mbarrier(const Warp& warp, int lane, const std::byte* mbarrier, std::uint8_t bits);
  void complete_mbarrier(const std::byte* mbarrier);
  void pass_mbarrier(const Warp& warp, std::uint32_t lanes, const std::byte* mbarrier,
                     std::uint8_t bits);
  void fence(const Warp& warp, std::uint32_t lanes, MemoryScope scope);
  // fence.proxy.async
  void fence_proxy(const Warp& warp, std::uint32_t lanes, ProxySpace space);
  // griddepcontrol.wait
  void wait_dependencies(const Warp& warp, std::uint32_t lanes);
  // fence.mbarrier_init
  void fence_made(const Warp& warp, std::uint32_t lanes);
  // Lanes of the warp exit. False after a report.
  bool exit(Warp& warp, const Op& op, std::uint32_t mask);

 private:
  // Arrivals of an mbarrier's own CTA, which who waits learns of at any scope; those of others of
  // cluster scope; and that others of a narrower scope have read what they read.
  struct Arrivals {
    Clock near;
    Clock far;
    Horizon read;
  };
  // What the phase under way of an mbarrier waits for was begun by this one last.
  struct Begun {
    const Warp* warp = nullptr;
    const Op* op = nullptr;
    int lane = 0;
    std::uint32_t time = 0;  // of the agent, when the phase is over
  };
  struct PhaseClocks {
    std::uint16_t agent = 0;
    std::optional<Begun> begun;
    std::uint32_t waited = 0;  // the agent's time, up to which somebody has waited
    Arrivals coming;           // of those who have arrived
    Arrivals over;             // of the phases that are complete
    std::optional<Stamp> made;
  };
  // What the filter needs to know of the access that it is asked about.
  struct Current {
    Warp* warp = nullptr;
    const Op* op = nullptr;
    const Access* access = nullptr;
    const Addresses* addresses = nullptr;
    std::uint32_t mask = 0;
    Cta* owner = nullptr;  // of the shared memory
    bool asynchronous = false;
    CompletionToken completion = {};  // of what is asynchronous
  };
  struct SharedPlace {
    std::uint32_t rank = 0;  // of the CTA in the cluster
    std::uint32_t offset = 0;
  };

  // An undefined value: of which lanes, and the load it comes from, in unwritten_loads_.
  struct Undefined {
    std::uint32_t lanes = 0;
    std::uint16_t origin = 0;

    void add(const Undefined& other) {
      if (other.lanes != 0) origin = other.origin;
      lanes |= other.lanes;
    }
  };
  struct UnwrittenLoad {
    std::uint32_t op = 0;
    Diagnostic diagnostic;
  };

  bool access_shared(const Current& at);
  bool access_local(const Current& at);
  bool access_global(const Current& at);
  // Whether it comes after the grids before, as in a programmatic launch it has to. False after a
  // report.
  bool after_dependencies(const Current& at);
  bool reads_inputs(const Current& at);
  const Allocation* allocation_at(std::uint64_t address);
  bool check_global(const Current& at, int lane, std::uint64_t address);
  // `lanes` read the same place; `key` is that of stored_undefined_.
  void read_written(const Current& at, std::uint32_t lanes, Space space, std::uint64_t address,
                    const InitShadow& map, std::size_t offset, std::uint64_t key);
  bool follows(const Current& at) const;
  static Undefined operand(const std::vector<Undefined>& values, const Op& op, std::size_t i);
  static Undefined product(const std::vector<Undefined>& values, const Op& op, std::size_t sums,
                           bool lower);
  void load_undefined(const Current& at, std::uint32_t lanes, std::uint32_t missing,
                      std::uint16_t origin);
  // The first undefined value that the lane stores, or null.
  const Undefined* stores_undefined(const Current& at, int lane) const;
  void store_undefined(const Current& at, int lane, InitShadow& map, std::size_t offset,
                       std::uint64_t key);
  const Undefined* stored_value(const std::vector<Undefined>& values, const Op& op, std::size_t i,
                                int lane) const;
  static std::uint32_t value_bytes(const Current& at);
  std::uint16_t origin_of(const Current& at, const std::function<Diagnostic()>& describe);
  void refuse_undefined(const Undefined& value);
  void tell_notes();
  bool race_global(const Current& at, int lane, std::uint64_t address);
  bool ordered(const GlobalStamp& before, std::uint32_t before_lane,
               bool before_writes) const override;
  bool knows_others() const override;
  // Strong accesses: lanes that go to one place are one.
  void synchronize(const Current& at, bool global);
  void synchronize(const Current& at, std::uint32_t lanes, std::uint64_t key, bool global);
  void learn_flag(const Current& at, const LaneSet& lanes, std::uint64_t key, bool global);
  void publish_flag(const Current& at, const LaneSet& lanes, std::uint64_t key, bool global);
  void add_arrival(const Warp& warp, const LaneSet& lanes, Arrivals& into, bool near,
                   std::uint8_t bits);

  void end_copy(const Warp& warp, const PendingCopies::Copy& copy, std::uint32_t lane,
                std::uint16_t agent, std::uint32_t time);

  bool is_benign(const Conflict& conflict) override;
  bool same_bytes(const Current& at, int lane, int before_lane, bool same_instruction,
                  const std::byte* memory, std::size_t skip, std::size_t bytes) const;

  // Words.
  void report_race(const Conflict& conflict);
  void report_global_race(const Current& at, int lane, const GlobalConflict& conflict);
  Diagnostic describe_unwritten(const Current& at, int lane, Space space, std::uint64_t address,
                                const InitShadow::Missing& missing) const;
  void report_exit(Warp& warp, const Op& op, int lane, std::uint32_t copy);
  std::optional<Diagnostic> describe_left_behind() const;
  std::string thread_text(std::uint32_t thread) const;
  std::string where_text(std::uint32_t op) const;

  std::uint32_t number(const Warp& warp) const {
    return warp.cta->rank() * warps_a_cta_ + warp.index;
  }
  SharedPlace place(const Warp& warp, std::uint64_t address) const;
  Viewer viewer(std::uint32_t warp) const;
  static Strength strength_of(const Warp& warp, const Access& access) {
    return {access.strong() ? access.scope : MemoryScope::none, warp.cta->rank()};
  }
  static LaneSet lane_set(const Warp& warp, std::uint32_t lanes) {
    return {lanes, lanes == warp.live};
  }
  void report_unmade(Warp& warp, const Op& op, int lane, const Stamp& made, bool known);
  std::uint32_t index_of(const Op& op) const {
    return static_cast<std::uint32_t>(&op - context_.program->ops.data());
  }
  PhaseClocks& phases(const std::byte* mbarrier);

  const LaunchContext& context_;
  CheckSet checks_;
  std::uint32_t warps_a_cta_ = 0;
  std::uint64_t cluster_ = 0;
  Current current_;
  const Allocation* nearest_ = nullptr;  // of the last global access
  // The first read of what nobody had written that something came of.
  std::optional<Diagnostic> unwritten_;
  std::vector<UnwrittenLoad> unwritten_loads_;     // those that are followed, each instruction once
  std::vector<std::vector<Undefined>> undefined_;  // a warp, by places of Program::def_use
  // Where each byte comes from that was stored undefined, by its place; whether it is so still the
  // InitShadow says.
  std::unordered_map<std::uint64_t, std::uint16_t> stored_undefined_;

  VectorClocks clocks_;
  std::vector<SharedShadow> cells_;         // a CTA
  std::vector<InitShadow> shared_written_;  // a CTA
  std::vector<InitShadow> local_written_;   // a warp
  std::vector<PendingCopies> copies_;       // a warp
  // Of each warp, lanes that have run griddepcontrol.wait; which of them were the first, and when:
  // whoever knows of these needs no later ones.
  struct Waited {
    std::uint32_t lanes = 0;
    std::uint32_t first = 0;
    std::uint32_t time = 0;
  };
  std::vector<Waited> waited_;
  std::vector<std::array<Clock, kBarriersACta>> barriers_;  // a CTA
  std::unordered_map<const std::byte*, PhaseClocks> mbarriers_;
  Clock cluster_coming_;
  Clock cluster_over_;
  // What strong writes have published at a place: to each CTA of the cluster what its own threads
  // have, and to all what they have at cluster scope.
  struct Flag {
    std::vector<Clock> cta;
    Clock cluster;
  };
  std::unordered_map<std::uint64_t, Flag> flags_;
  GlobalShadow& global_;  // the launch's
  // What a warp has under way in groups of a kind, and who makes its accesses.
  struct Grouped {
    struct Part {
      int lane = 0;
      std::uint32_t group = 0;
      std::uint32_t time = 0;
      std::uint32_t op = 0;
    };
    std::uint16_t agent = 0;
    std::vector<Part> parts;
  };
  std::array<std::vector<Grouped>, kAsyncGroupKinds> grouped_;  // by AsyncGroupKind, a warp
};

}  // namespace fa_tune::emulator
