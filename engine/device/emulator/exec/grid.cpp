#include "engine/device/emulator/exec/grid.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "engine/device/emulator/exec/cluster_order.hpp"
#include "engine/device/emulator/exec/cluster_run.hpp"
#include "engine/device/emulator/shadow/global_shadow.hpp"

namespace fa_tune::emulator {
namespace {

// A cluster that executes so much is put aside for a while: it may wait for another in a way that
// nobody sees.
constexpr std::uint64_t kLongTurn = 1 << 22;
// So many are under way as long as nobody has been seen to wait: each takes memory.
constexpr std::uint64_t kFew = 32;
// Looks at clusters that all wait, after which none will go on any more. Enough that a single
// one that waits for a clock sees it pass; and the looks at each.
constexpr std::uint64_t kVainLooks = 1600;
constexpr std::uint64_t kVainLooksEach = 4;

// What a block counts for beside its instructions, of a launch's budget: setting it up. Without it
// a grid of empty blocks would be free.
constexpr std::uint64_t kSetUp = 1000;

// A cluster that has begun.
struct Flight {
  std::uint64_t number = 0;
  std::unique_ptr<ClusterRun> cluster;
  std::unique_ptr<Record> record;  // null: it is not counted
  bool begun = false;
  int interruptions = 0;
};

struct Kept {
  std::uint64_t number = 0;  // of the cluster
  std::unique_ptr<Record> record;
};

// Of interleavings: what is no cluster's. One draws the order in which clusters begin.
constexpr std::uint64_t kOrderDraws = ~std::uint64_t{0};
constexpr std::uint64_t kOwnDraws = kOrderDraws - 1;

enum class Recording { none, all, sample };

class GridRun {
 public:
  GridRun(const LaunchContext& context, ClusterOrder order, Recording recording,
          std::uint64_t whole_up_to, std::map<std::uint64_t, std::uint64_t> neighbours = {})
      : context_(context),
        order_(std::move(order)),
        turns_(context.interleaving, kOwnDraws),
        recording_(recording),
        launch_left_(context.launch_budget),
        neighbours_(std::move(neighbours)) {
    context_.between_blocks = &between_blocks_;
    whole_up_to_ = whole_up_to;
    deciding_ = order_.sampled_only();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (std::optional<Flight> flight = next(lock)) {
      ++running_;
      lock.unlock();
      if (!flight->begun) {
        take_off(launch_left_, kSetUp * context_.config.cluster.count());
        flight->cluster->begin(flight->number, flight->record.get());
        flight->begun = true;
      }
      const std::uint64_t most = std::min(turn_of(*flight), allowance());
      const ClusterRun::Pause pause = flight->cluster->go_on(most);
      spend(flight->cluster->effort());
      lock.lock();
      --running_;
      take_back(std::move(*flight), pause);
      changed_.notify_all();
    }
  }

  // After all threads have worked.
  std::optional<Diagnostic> finish() {
    for (const auto& cluster : idle_) note(order_.begun(), cluster->finish());
    for (auto& [cluster, kept] : unpaired_)
      if (kept.number == cluster) record_.join(std::move(*kept.record));
    return std::move(diagnostic_);
  }
  Record& record() { return record_; }
  bool whole() const { return !order_.sampled_only(); }

 private:
  std::uint64_t turn_of(const Flight& flight) {
    if (turns_.has_block_turns()) return turns_.block_turn();
    // Longer each time, or many that never end would take turns until all of them have shown it.
    return kLongTurn << std::min(2 * flight.interruptions, 16);
  }

  // What a thread is to do next; nothing when there is no more. Waits where others decide that.
  std::optional<Flight> next(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      if (diagnostic_) drop_after(first_failed_);
      const bool more = may_begin() || under_way() > running_;
      if (more && allowance() == 0) {
        end_unfinished();
        continue;
      }
      // Where blocks take turns, those that have begun may have theirs before others begin.
      const bool later = turns_.has_block_turns() && !interrupted_.empty() && turns_.below(2) == 0;
      if (may_begin() && !later) return begin();
      if (!is_stuck())
        if (auto flight = take_up()) return flight;
      if (running_ == 0) {
        if (waiting_.empty()) return std::nullopt;
        give_up();
        continue;
      }
      changed_.wait(lock);
    }
  }

  // Clusters that have begun and not ended.
  std::uint64_t under_way() const { return running_ + waiting_.size() + interrupted_.size(); }

  // One that was put aside. Those that wait take turns; when all have looked in vain, of those that
  // were interrupted the first in the grid, which others may wait for.
  std::optional<Flight> take_up() {
    std::deque<Flight>& from =
        interrupted_.empty() || vain_looks_ < waiting_.size() ? waiting_ : interrupted_;
    if (from.empty()) return std::nullopt;
    auto chosen = from.begin();
    if (turns_.has_block_turns()) {
      chosen += turns_.below(static_cast<std::uint32_t>(from.size()));
    } else if (&from != &waiting_) {
      chosen = std::ranges::min_element(from, {}, &Flight::number);
    }
    Flight flight = std::move(*chosen);
    from.erase(chosen);
    return flight;
  }

  bool may_begin() const {
    if (diagnostic_ || order_.done() || (deciding_ && order_.begun() > 0)) return false;
    const std::uint64_t room = waits_seen_ ? context_.resident : std::min(context_.resident, kFew);
    // A sample has begun out of turn: a device would hold those before it.
    return under_way() < std::max<std::uint64_t>(room, 1) + order_.out_of_turn();
  }

  Flight begin() {
    Flight flight;
    flight.number = order_.next();
    if (idle_.empty()) {
      flight.cluster = std::make_unique<ClusterRun>(context_);
    } else {
      flight.cluster = std::move(idle_.back());
      idle_.pop_back();
    }
    const bool counted = recording_ == Recording::all ||
                         (recording_ == Recording::sample && order_.is_sampled(flight.number));
    if (counted) flight.record = std::make_unique<Record>(*context_.program);
    return flight;
  }

  void take_back(Flight flight, ClusterRun::Pause pause) {
    const bool ended = pause == ClusterRun::Pause::ended;
    vain_looks_ = ended || flight.cluster->progressed() ? 0 : vain_looks_ + 1;
    if (pause == ClusterRun::Pause::waiting) waits_seen_ = true;
    if (deciding_) {
      deciding_ = false;
      const std::uint64_t clusters = context_.config.cluster_count();
      const bool small = ended && flight.cluster->effort() <= whole_up_to_ / clusters;
      if (small || pause == ClusterRun::Pause::waiting) order_.take_all();
    }
    if (pause == ClusterRun::Pause::waiting) {
      waiting_.push_back(std::move(flight));
      return;
    }
    if (pause == ClusterRun::Pause::interrupted) {
      flight.interruptions += 1;
      interrupted_.push_back(std::move(flight));
      return;
    }
    note(flight.number, flight.cluster->end());
    if (flight.record) keep(flight.number, std::move(flight.record));
    idle_.push_back(std::move(flight.cluster));
  }

  // Those of two neighbours wait for each other; then the first one's is counted.
  void keep(std::uint64_t number, std::unique_ptr<Record> record) {
    for (const auto& [cluster, neighbour] : neighbours_) {
      if (number != cluster && number != neighbour) continue;
      auto [place, is_first] = unpaired_.try_emplace(cluster);
      if (is_first) {
        place->second = {number, std::move(record)};
        return;
      }
      std::unique_ptr<Record> other = std::move(place->second.record);
      unpaired_.erase(place);
      if (number == neighbour) std::swap(record, other);
      record->compare_reads(*other);
      break;
    }
    record_.join(std::move(*record));
  }

  // All that have begun wait, and have been asked often enough.
  bool is_stuck() const {
    return running_ == 0 && interrupted_.empty() &&
           vain_looks_ > std::max<std::uint64_t>(kVainLooks, kVainLooksEach * waiting_.size());
  }

  // Nobody goes on any more.
  void give_up() {
    vain_looks_ = 0;
    // The sample waits for one that is not of it.
    if (!diagnostic_ && order_.sampled_only()) {
      order_.take_all();
      if (!order_.done()) return;
    }
    const auto first = std::ranges::min_element(waiting_, {}, &Flight::number);
    // Diagnostic that was found already explains why others wait.
    if (!diagnostic_) {
      first->cluster->report_waiting(why_stuck());
      note(first->number, first->cluster->end());
    }
    drop(waiting_, 0);
  }

  std::string why_stuck() const {
    const std::uint64_t blocks = waiting_.size() * context_.config.cluster.count();
    if (order_.done())
      return fmt::format(
          "the block waits for what no other block writes any more: nothing but {} that wait{} is "
          "left",
          blocks == 1 ? "this block" : fmt::format("{} blocks", blocks), blocks == 1 ? "s" : "");
    return fmt::format(
        "the block waits for a block that cannot begin: {} of the grid's {} wait, and the device "
        "holds no more at once",
        blocks, context_.config.grid.count());
  }

  // The launch may execute no more. Diagnostic that others are about to find says more.
  void end_unfinished() {
    const std::string& kernel = context_.program->kernel;
    note(std::numeric_limits<std::uint64_t>::max(),
         launch_left_.load() == 0
             ? Diagnostic{DiagnosticKind::timeout,
                          fmt::format("{}: its {} blocks have executed more instructions together "
                                      "than a launch may on the emulator",
                                      kernel, context_.config.grid.count())}
             : Diagnostic{DiagnosticKind::unfinished,
                          kernel + ": the instructions that may be executed for it were used up"});
    drop(waiting_, 0);
    drop(interrupted_, 0);
  }

  void drop_after(std::uint64_t number) {
    drop(waiting_, number);
    drop(interrupted_, number);
  }
  void drop(std::deque<Flight>& from, std::uint64_t first) {
    for (Flight& flight : from)
      if (flight.number >= first) idle_.push_back(std::move(flight.cluster));
    std::erase_if(from, [](const Flight& flight) { return flight.cluster == nullptr; });
  }

  void note(std::uint64_t number, std::optional<Diagnostic> diagnostic) {
    if (!diagnostic || (diagnostic_ && number >= first_failed_)) return;
    first_failed_ = number;
    diagnostic_ = std::move(diagnostic);
  }

  std::uint64_t allowance() const {
    const std::uint64_t left = launch_left_.load();
    return context_.allowance == nullptr ? left : std::min(left, context_.allowance->load());
  }
  void spend(std::uint64_t executed) {
    take_off(launch_left_, executed);
    if (context_.allowance != nullptr) take_off(*context_.allowance, executed);
  }
  static void take_off(std::atomic<std::uint64_t>& from, std::uint64_t executed) {
    std::uint64_t left = from.load();
    while (!from.compare_exchange_weak(left, left - std::min(left, executed))) {
    }
  }

  LaunchContext context_;
  GlobalShadow between_blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ClusterOrder order_;
  Interleaving turns_;  // of clusters
  Recording recording_;
  std::atomic<std::uint64_t> launch_left_;  // of its budget
  std::uint64_t whole_up_to_ = 0;
  bool deciding_ = false;  // the first of a sample runs alone: it tells whether all others will
  std::uint64_t running_ = 0;
  std::deque<Flight> waiting_;                     // for others
  std::deque<Flight> interrupted_;                 // after a long turn
  std::vector<std::unique_ptr<ClusterRun>> idle_;  // to be used again
  bool waits_seen_ = false;
  std::uint64_t vain_looks_ = 0;  // since anybody went on
  std::uint64_t first_failed_ = 0;
  std::optional<Diagnostic> diagnostic_;
  Record record_;
  std::map<std::uint64_t, std::uint64_t> neighbours_;  // Sampling
  std::map<std::uint64_t, Kept> unpaired_;             // by the first of two
};

void work_in_threads(GridRun& run, const LaunchContext& context, int threads) {
  std::uint64_t workers = static_cast<std::uint64_t>(std::max(threads, 1));
  const bool drawn = Interleaving(context.interleaving, kOwnDraws).has_block_turns();
  if (context.program->order_dependent || drawn) workers = 1;
  workers = std::min(workers, context.config.cluster_count());
  std::vector<std::jthread> helpers;
  for (std::uint64_t i = 1; i < workers; ++i) helpers.emplace_back([&run] { run.work(); });
  run.work();
}

}  // namespace

std::optional<Diagnostic> run_grid(const LaunchContext& context, int threads, Record* record) {
  GridRun run(context,
              ClusterOrder(context.config.cluster_count(), context.only_clusters,
                           Interleaving(context.interleaving, kOrderDraws),
                           std::min(context.resident, kFew)),
              record == nullptr ? Recording::none : Recording::all, 0);
  work_in_threads(run, context, threads);
  auto diagnostic = run.finish();
  if (record != nullptr) *record = std::move(run.record());
  return diagnostic;
}

Sampled run_sampled(const LaunchContext& context, int threads, const Sampling& sampling,
                    Record& record) {
  std::vector<std::uint64_t> with_neighbours = sampling.clusters;
  for (const auto& [cluster, neighbour] : sampling.neighbours) with_neighbours.push_back(neighbour);
  std::ranges::sort(with_neighbours);
  GridRun run(context, ClusterOrder(context.config.cluster_count(), std::move(with_neighbours)),
              Recording::sample, sampling.whole_up_to, sampling.neighbours);
  work_in_threads(run, context, threads);
  auto diagnostic = run.finish();
  record = std::move(run.record());
  return {std::move(diagnostic), run.whole()};
}

std::vector<std::uint64_t> sample_evenly(std::uint64_t total, std::uint64_t most) {
  std::vector<std::uint64_t> sample;
  const std::uint64_t count = std::min(total, most);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t index =
        count == total
            ? i
            : static_cast<std::uint64_t>(static_cast<double>(total - 1) * static_cast<double>(i) /
                                         static_cast<double>(count - 1));
    sample.push_back(index);
  }
  return sample;
}

std::map<std::uint64_t, std::uint64_t> neighbours_of(const std::vector<std::uint64_t>& sample,
                                                     std::uint64_t total, std::uint64_t sms) {
  std::map<std::uint64_t, std::uint64_t> neighbours;
  for (std::size_t i = 1; i < sample.size(); i += 2) {
    const std::uint64_t cluster = sample[i];
    if (cluster + sms >= total && cluster < sms) continue;
    const std::uint64_t neighbour = cluster + sms < total ? cluster + sms : cluster - sms;
    const bool taken =
        std::ranges::binary_search(sample, neighbour) ||
        std::ranges::any_of(neighbours, [&](const auto& pair) { return pair.second == neighbour; });
    if (!taken) neighbours[cluster] = neighbour;
  }
  return neighbours;
}

}  // namespace fa_tune::emulator
