#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/emulator/cta.hpp"
#include "engine/device/emulator/schedule.hpp"

namespace fa_tune::emulator {

// An operation that a thread has started and that happens by itself, at any moment before something
// waits for it: a bulk copy, an arrival when copies are done.
struct AsyncOperation {
  Warp* warp = nullptr;  // of the thread that started it
  const Op* op = nullptr;
  int lane = 0;
  std::uint32_t group = 0;  // of the thread's bulk groups; none for what completes on an mbarrier
  static constexpr std::uint32_t no_group = ~0U;
  // All that is left of it.
  std::function<void()> happen;
  // Reads the source and leaves the rest to `happen`; empty where the two are never apart.
  std::function<void()> take = nullptr;
};

// The CTAs that run together: one, or a cluster that can reach each other's shared memory. All
// their warps take turns, in the order that the launch's schedule draws. Made once a hardware
// thread and used for one cluster of the grid after the other.
class Cluster {
 public:
  explicit Cluster(const LaunchContext& context);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Runs cluster number `index` of the grid (x fastest). Returns what went wrong, if anything did.
  std::optional<Trouble> run(std::uint64_t index, Record* record);
  // After the last one: what can be said only now.
  std::optional<Trouble> finish();

  // For CTAs and handlers.
  bool in_trouble() const { return trouble_.has_value(); }
  void trouble_with(Trouble trouble) { trouble_ = std::move(trouble); }
  Schedule& schedule() { return schedule_; }
  std::span<const std::unique_ptr<Cta>> ctas() const { return ctas_; }
  // Lets the operation happen now or later, as the schedule has it.
  void start(AsyncOperation operation);
  // Makes the operations of a lane happen that belong to bulk groups before `end`, or, of each,
  // what reads its source.
  enum class Finish : std::uint8_t { all, reads };
  void finish_groups(const Warp& warp, int lane, std::uint32_t end, Finish what);
  // Something has happened that waiting warps may wait for.
  void wake();
  // barrier.cluster: lanes of `mask` arrive in the phase under way; whether a lane's phase is over.
  void arrive(Warp& warp, const Op& op, std::uint32_t mask);
  bool passed(const Warp& warp, int lane) const;
  // Threads of a CTA have exited.
  void threads_left(Cta& cta);

 private:
  void start_all(std::uint64_t index, Record* record);
  void take_turns();
  bool happen_next();
  void complete_phase();
  void report_stuck();

  const LaunchContext& context_;
  std::unique_ptr<Sanitizer> sanitizer_;  // if the launch is checked
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<Warp*> order_;
  std::vector<AsyncOperation> operations_;
  Schedule schedule_;
  std::uint32_t phase_ = 0;  // of barrier.cluster
  std::optional<Trouble> trouble_;
};

// How many clusters a grid has; its sides are multiples of the cluster's.
std::uint64_t cluster_count(const LaunchConfig& config);

}  // namespace fa_tune::emulator
