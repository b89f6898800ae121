#include "engine/tuner/evolve.hpp"

#include <algorithm>
#include <functional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/insights.hpp"
#include "engine/search/catalog/make_strategy.hpp"
#include "engine/tuner/comparison/known_best.hpp"
#include "engine/tuner/finals/finals.hpp"
#include "engine/tuner/loop/device_wait.hpp"
#include "engine/tuner/loop/proposer.hpp"
#include "engine/tuner/loop/run_options.hpp"
#include "engine/tuner/loop/search_loop.hpp"
#include "engine/tuner/loop/status_log.hpp"
#include "engine/tuner/trial/plain_kernel.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::tuner {
namespace {

// Times of different devices do not compare.
void require_one_kind(std::span<device::Device* const> devices) {
  const device::DeviceInfo& first = devices.front()->info();
  for (const device::Device* device : devices) {
    const device::DeviceInfo& info = device->info();
    if (info.name != first.name || info.arch != first.arch || info.driver != first.driver)
      throw UserError(
          fmt::format("{} is {} and {} is {}: times of different devices do not compare, so name "
                      "devices of one kind for a run",
                      first.id, first.name, info.id, info.name));
  }
}

// Each once, whatever machine it is on: emulators of one profile are the same device.
std::vector<std::string> ids_of(std::span<device::Device* const> devices) {
  std::vector<std::string> ids;
  for (const device::Device* device : devices) {
    const std::string id(device::id_on_node(device->info().id));
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

// Device::joules of all; nothing where one does not tell.
std::optional<double> joules_of(std::span<device::Device* const> devices) {
  double sum = 0;
  for (device::Device* device : devices) {
    const auto joules = device->joules();
    if (!joules) return std::nullopt;
    sum += *joules;
  }
  return sum;
}

// Everything one call of evolve() holds.
class Evolution {
 public:
  Evolution(const TuningTask& task, std::span<device::Device* const> devices,
            kernel::Compiler& compiler, db::Store& store, const EvolveOptions& options,
            EvolveListener& listener, const std::atomic<bool>& stop)
      : task_(task),
        devices_(devices.begin(), devices.end()),
        info_(devices.front()->info()),
        compiler_(compiler),
        store_(store),
        options_(options),
        status_(store, roster_, options, listener),
        stop_(stop),
        pool_(compiler, options.jobs, [this] { queue_.wake(); }),
        policy_(options.policy),
        usable_(devices_) {
    for (const device::Device* device : devices_) roster_.add(*device);
    if (options.supply != nullptr) options.supply->on_arrival([this] { queue_.wake(); });
    if (options.compilers == nullptr) return;
    options.compilers->on_arrival([this](int size) { pool_.grow(size); });
    // For what came before that.
    pool_.grow(options.compilers->size());
  }
  ~Evolution() {
    if (options_.supply != nullptr) options_.supply->on_arrival({});
    if (options_.compilers != nullptr) options_.compilers->on_arrival({});
  }
  Evolution(const Evolution&) = delete;
  Evolution& operator=(const Evolution&) = delete;

  EvolveResult run() {
    require_one_kind(devices_);
    try {
      go();
    } catch (const Interrupted& why) {
      log_debug("{}", why.what());
      result_.interrupted = true;
      leave();
    } catch (const kernel::NoCompilerLeft& why) {
      result_.trouble = why.what();
      leave();
    } catch (...) {
      leave();
      throw;
    }
    return result_;
  }

 private:
  void go() {
    begin();
    status_.begin(result_.run);
    search();
    fault_point("search_over");
    if (proposer_) proposer_->end(result_.interrupted ? "interrupted" : "the search is over");
    result_.finals_left = !options_.finals;
    if (goes_on() && options_.finals) {
      status_.enter("finals");
      on_a_device("finals", [this](device::Device& device) {
        const bool held = run_finals(task_, device, pool_, options_.emulator, store_, result_.run,
                                     seed_, options_.final_suites, status_, stop_);
        result_.interrupted = !held && !device.lost();
      });
    }
    if (goes_on() && !usable_.empty()) see_known_best(*usable_.front());
    fault_point("finals_over");
    store_.record_insights(
        result_.run,
        report::insight_rows(report::insights_of(store_, result_.run), to_text(info_.times)));
    status_.enter("over");
    const bool done = goes_on() && !result_.finals_left;
    store_.set_run_state(result_.run, done ? "done" : "interrupted");
  }

  bool goes_on() const {
    return !result_.interrupted && !result_.device_lost && result_.trouble.empty();
  }

  // Has a device that is left do it, and another from the beginning where that one is lost over it.
  // Where none is left the run ends as one that can be resumed.
  void on_a_device(const std::string& what, const std::function<void(device::Device&)>& work) {
    for (;;) {
      while (!usable_.empty() && !usable_.front()->ready()) {
        roster_.lose(*usable_.front(), usable_.front()->lost_because());
        usable_.erase(usable_.begin());
      }
      if (usable_.empty() && options_.supply != nullptr) {
        usable_ = wait_for_devices(*options_.supply, queue_, status_, stop_);
        for (const device::Device* device : usable_) roster_.add(*device);
        devices_.insert(devices_.end(), usable_.begin(), usable_.end());
      }
      if (usable_.empty()) {
        (stop_ ? result_.interrupted : result_.device_lost) = true;
        return;
      }
      device::Device& device = *usable_.front();
      const DeviceRoster::Work at_work(roster_, device, what);
      try {
        work(device);
      } catch (const DeviceGone&) {
        if (!device.lost()) throw;
      }
      if (!device.lost()) return;
    }
  }

  void see_known_best(device::Device& device) {
    if (task_.space.known_best().empty()) return;
    db::TrialFilter filter;
    filter.run = result_.run;
    filter.limit = 1;
    const auto ranked = store_.best(filter);
    if (ranked.empty()) return;
    status_.on_wait("the known best");
    try {
      result_.known_best = compare_known_best(task_, device, pool_, ranked.front(), seed_);
    } catch (const MachineError& error) {
      log_warning("the known best of the space was not timed: {}", error.what());
    }
  }

  // What went wrong is told by who threw it; a store that takes nothing more changes nothing in
  // that.
  void leave() noexcept {
    if (result_.run == 0) return;
    try {
      store_.set_run_state(result_.run, "interrupted");
    } catch (const std::exception& failure) {
      log_debug("run {} stays as it is: {}", result_.run, failure.what());
    }
  }

  void begin() {
    const db::RunRow now =
        describe_run(task_, ids_of(devices_), info_, compiler_.version(), options_);
    strategy_ = options_.strategy;
    seed_ = options_.seed;
    earlier_ = options_.earlier;
    auto proposer = options_.proposer;
    if (!options_.resume) {
      result_.run = store_.begin_run(now);
      if (proposer) open_proposer(*proposer);
      return;
    }
    const auto stored = store_.run(*options_.resume);
    if (!stored)
      throw UserError(
          fmt::format("there is no run {} to resume in this database", *options_.resume));
    require_same("space, with its templates and device facts,", stored->space_hash, now.space_hash);
    require_same("device", stored->device_name, now.device_name);
    require_same("compiler", stored->compiler, now.compiler);
    policy_ = batch_policy_of(*stored);
    const auto share = proposer_share(*stored);
    if (share.has_value() != proposer.has_value())
      throw UserError(
          share
              ? "the run had an outside proposer: give --proposer again, a command is never taken "
                "from a database"
              : "the run has no outside proposer, and none can join it now: leave out --proposer");
    store_.hold_run(stored->id);
    result_.run = stored->id;
    strategy_ = stored->strategy;
    seed_ = stored->seed;
    earlier_ = prior_runs_of(*stored);
    if (proposer) {
      proposer->share = *share;
      open_proposer(*proposer);
    }
    fault_point("run_resumed");
    store_.set_run_state(result_.run, "running");
  }

  void open_proposer(const search::ProposerOptions& options) {
    proposer_log_ = std::make_unique<StoredProposerLog>(store_, result_.run);
    proposer_ = std::make_unique<search::ProposerArm>(
        task_.space, brief_proposer(task_, info_, seed_, options_.trials, options_.seconds),
        options, *proposer_log_, proposer_log_->decisions(), &stop_);
  }

  // Once a run, before anything is known that shortens deadlines.
  void time_plain(gate::TruthCache& truth) {
    if (stop_ || store_.plain_kernel(result_.run)) return;
    if (task_.problem->plain_kernel() != nullptr) status_.on_wait("the plain kernel");
    std::optional<db::PlainKernelRow> plain;
    on_a_device("the plain kernel", [&](device::Device& device) {
      plain = time_plain_kernel(task_, device, pool_, truth, TrialSeeds::of(seed_).timing);
    });
    if (!plain) return;
    store_.record_plain_kernel(result_.run, *plain);
    if (plain->time)
      log_info("the plain kernel takes {:.2f} us {}", plain->time->us.value, to_text(info_.times));
    else
      log_warning("the plain kernel was not timed: {}", plain->message);
  }

  void search() {
    const auto strategy = search::make_strategy(
        strategy_,
        {.space = task_.space, .seed = seed_, .earlier = load_prior_runs(store_, task_, earlier_)});
    // Finals know truths of their own, and have the memory for them to themselves.
    gate::TruthCache truth(*task_.problem);
    time_plain(truth);
    SearchLoop loop({.task = task_,
                     .devices = devices_,
                     .queue = queue_,
                     .pool = pool_,
                     .truth = truth,
                     .store = store_,
                     .options = options_,
                     .listener = status_,
                     .stop = stop_,
                     .strategy = *strategy,
                     .proposer = proposer_.get(),
                     .supply = options_.supply,
                     .roster = roster_},
                    result_.run, policy_, seed_);
    const auto before = joules_of(devices_);
    loop.run();
    const auto after = joules_of(devices_);
    result_.counts = loop.counts();
    result_.breakdown = loop.breakdown();
    // What those drew that came later is not known.
    if (before && after && result_.breakdown.devices.size() == devices_.size())
      result_.breakdown.joules = *after - *before;
    result_.interrupted = loop.interrupted();
    result_.trouble = loop.trouble();
    usable_ = loop.usable();
    // Where more may come, the finals are for those.
    result_.device_lost = usable_.empty() && (options_.supply == nullptr || loop.has_more());
    if (result_.breakdown.trials > 0)
      store_.record_session(result_.run, {nlohmann::json(result_.breakdown.devices).dump(),
                                          to_json(result_.breakdown).dump()});
  }

  const TuningTask& task_;
  std::vector<device::Device*> devices_;  // that the search begins with
  const device::DeviceInfo& info_;        // of the first; the others are of its kind
  kernel::Compiler& compiler_;
  db::Store& store_;
  const EvolveOptions& options_;
  DeviceRoster roster_;
  StatusLog status_;
  const std::atomic<bool>& stop_;
  TaskQueue queue_;
  kernel::CompilePool pool_;
  std::unique_ptr<StoredProposerLog> proposer_log_;
  std::unique_ptr<search::ProposerArm> proposer_;
  EvolveResult result_;
  BatchPolicy policy_;
  std::vector<device::Device*> usable_;  // as far as is known
  std::string strategy_;
  std::uint64_t seed_ = 0;
  std::vector<PriorRun> earlier_;
};

}  // namespace

EvolveResult evolve(const TuningTask& task, std::span<device::Device* const> devices,
                    kernel::Compiler& compiler, db::Store& store, const EvolveOptions& options,
                    EvolveListener& listener, const std::atomic<bool>& stop) {
  return Evolution(task, devices, compiler, store, options, listener, stop).run();
}

EvolveResult evolve(const TuningTask& task, device::Device& device, kernel::Compiler& compiler,
                    db::Store& store, const EvolveOptions& options, EvolveListener& listener,
                    const std::atomic<bool>& stop) {
  device::Device* const devices[] = {&device};
  return evolve(task, devices, compiler, store, options, listener, stop);
}

}  // namespace fa_tune::tuner
