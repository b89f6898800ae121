#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/device/emulator/state/cta.hpp"
#include "engine/device/emulator/state/interleaving.hpp"

namespace fa_tune::emulator {

// An operation that a thread has started and that completes by itself, at any moment before
// something waits for it: a bulk copy, an arrival when copies are done.
struct AsyncOperation {
  Warp* warp = nullptr;  // of the thread that started it
  const Op* op = nullptr;
  int lane = 0;
  std::uint32_t group = 0;  // of the thread's bulk groups; none for what completes on an mbarrier
  static constexpr std::uint32_t kNoGroup = ~0U;
  // All that is left of it.
  std::function<void()> complete;
  // Reads the source and leaves the rest to `complete`; empty where the two are never apart.
  std::function<void()> read_source = nullptr;
};

// The CTAs that run together: one, or a cluster that can reach each other's shared memory. Used for
// one cluster of the grid after the other; those that wait for each other each have one.
class Cluster {
 public:
  // `sanitizer`: null unless the launch is checked.
  Cluster(const LaunchContext& context, Sanitizer* sanitizer);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Begins cluster number `index` of the grid (x fastest).
  void begin(std::uint64_t index, Record* record);
  // After it has ended, or instead: what went wrong, if anything did.
  std::optional<Diagnostic> end();

  bool has_failed() const { return diagnostic_.has_value(); }
  void fail(Diagnostic diagnostic) { diagnostic_ = std::move(diagnostic); }
  Interleaving& interleaving() { return interleaving_; }
  std::span<const std::unique_ptr<Cta>> ctas() const { return ctas_; }
  std::span<Warp* const> warps() const { return warps_; }
  // Completes the operation now or leaves it for later, as the interleaving says.
  void start(AsyncOperation operation);
  // Completes one of those that were left for later; false if there is none.
  bool complete_next();
  // Completes the operations of a lane that belong to bulk groups before `end`, or only reads their
  // sources.
  enum class Finish : std::uint8_t { all, reads };
  void finish_groups(const Warp& warp, int lane, std::uint32_t end, Finish what);
  // Something has happened that waiting warps may wait for.
  void wake();
  // barrier.cluster: lanes of `mask` arrive in the phase under way. False after a report.
  bool arrive(Warp& warp, const Op& op, std::uint32_t mask);
  // Ends the phase if all threads have arrived that still run; whether it did.
  bool complete_phase();
  // Whether the phase is over that a lane has arrived in.
  bool passed(const Warp& warp, int lane) const;

 private:
  const LaunchContext& context_;
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<Warp*> warps_;  // of all CTAs
  std::vector<AsyncOperation> operations_;
  Interleaving interleaving_;
  Record* record_ = nullptr;
  std::uint32_t phase_ = 0;  // of barrier.cluster
  std::optional<Diagnostic> diagnostic_;
};

}  // namespace fa_tune::emulator
