#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/emulator/state/cta.hpp"
#include "engine/device/emulator/state/interleaving.hpp"

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
// their warps take turns, in the order that the launch's schedule draws. Used for one cluster of
// the grid after the other; those that wait for each other each have one.
class Cluster {
 public:
  explicit Cluster(const LaunchContext& context);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Begins cluster number `index` of the grid (x fastest).
  void begin(std::uint64_t index, Record* record);
  enum class Pause : std::uint8_t {
    ended,        // its threads have exited, or something went wrong
    waiting,      // nothing is left for it but to wait for another cluster
    interrupted,  // it has spent the effort that it may
  };
  // Lets it go on, with an effort (Cta::effort) of about `most`. It may be put aside in between,
  // and others run.
  Pause go_on(std::uint64_t most);
  // Whether the last go_on did anything but wait; its effort.
  bool progressed() const { return progressed_; }
  std::uint64_t effort() const { return effort_; }
  // After it has ended, or instead: what went wrong, if anything did.
  std::optional<Trouble> end();
  // It waits for other clusters, which will not come: says so in its report.
  void report_waiting(const std::string& why);
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
  Pause take_turns(std::uint64_t most);
  std::uint64_t total_effort() const;
  bool happen_next();
  void complete_phase();
  void report_stuck();

  const LaunchContext& context_;
  std::unique_ptr<Sanitizer> sanitizer_;  // if the launch is checked
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<Warp*> order_;
  std::vector<AsyncOperation> operations_;
  Schedule schedule_;
  Record* record_ = nullptr;
  bool progressed_ = false;
  std::uint64_t effort_ = 0;  // of the last go_on
  std::uint32_t phase_ = 0;   // of barrier.cluster
  std::optional<Trouble> trouble_;
};

// How many clusters a grid has; its sides are multiples of the cluster's.
std::uint64_t cluster_count(const LaunchConfig& config);

}  // namespace fa_tune::emulator
