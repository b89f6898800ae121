#include "engine/tuner/self_test/self_test.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/gate/reference_run.hpp"
#include "engine/kernel/compile/global_state_check.hpp"
#include "engine/tuner/self_test/fault_file.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {
namespace {

using Sort = SelfTestRow::Sort;

// Compiled and checked ahead of the device.
constexpr std::size_t kEntriesAhead = 64;

// A task with a device and all that gates kernels there.
class Workplace {
 public:
  // With `whole` the timed shape is gated too, wherever that is, and the clock's proof asked.
  Workplace(TuningTask task, const DeviceOpener& open, const EmulatorOpener& emulator,
            kernel::Compiler& compiler, int jobs, std::uint64_t seed, bool whole)
      : task_(std::move(task)),
        open_(open),
        pool_(compiler, jobs),
        truth_(*task_.problem, problem::Truth::thorough),
        seed_(seed),
        whole_(whole) {
    if (task_.problem->wants_reference())
      task_.problem->use_reference(
          gate::make_reference_runner([this] { return open_(task_.target); },
                                      [&compiler](const kernel::CompileRequest& request) {
                                        return compiler.compile(request);
                                      }));
    open_device();
    check_.emplace(task_, *device_, pool_, emulator, seed);
    const bool timed = whole_ || device_->info().times == device::TimeKind::measured;
    cases_ = gate::trial_cases(*task_.problem, seed,
                               timed ? gate::TimedShape::all : gate::TimedShape::none);
  }

  const TuningTask& task() const { return task_; }
  const device::Device& device() const { return *device_; }

  // No Variant may be alive.
  void open_device() {
    timer_.reset();
    device_.reset();
    device_ = open_(task_.target);
    timer_.emplace(*task_.problem, task_.target, *device_, truth_, derive_seed(seed_, "time"),
                   whole_ ? ValidatedTimer::Proof::always : ValidatedTimer::Proof::where_measured);
  }

  std::unique_ptr<Variant> begin(const kernel::Template& from, const Config& config) {
    auto variant = make_variant(task_, from, config, pool_, *device_);
    // What is seen at run time has to stand without that check.
    variant->bind_even_if_it_keeps_state();
    variant->begin();
    return variant;
  }

  std::future<SanitizerResult> start_check(const kernel::Template& from, const Config& config) {
    return check_->start(from, config);
  }

  // What is seen at run time comes first.
  Rejection run(Variant& variant, std::future<SanitizerResult>& check) {
    const gate::Verdict verdict = gate::Gate(*device_, truth_).check(variant.binder(), cases_);
    if (!verdict.passed()) return verdict.rejection();
    const auto bound = variant.bind(task_.problem->shape());
    if (!bound) return {gate::Finding::kNotBound, bound.error()};
    if (const auto timed = timer_->time(*bound, measure::Effort::screen); !timed)
      return timed.error();
    if (const auto kept = kernel::keeps_state(*variant.compiled())) return {"keeps_state", *kept};
    if (auto seen = check.get(); seen.rejection) return *std::move(seen.rejection);
    return {gate::Finding::kPassed, ""};
  }

 private:
  TuningTask task_;
  const DeviceOpener& open_;
  kernel::CompilePool pool_;
  gate::TruthCache truth_;
  std::uint64_t seed_;
  bool whole_;
  std::vector<gate::GateCase> cases_;
  std::unique_ptr<device::Device> device_;
  std::optional<ValidatedTimer> timer_;
  std::optional<SanitizerCheck> check_;
};

struct Entry {
  Workplace* place = nullptr;
  std::optional<kernel::Template> planted;  // else the task's own
  Config config;
  SelfTestRow row;
  bool builds = true;
  std::string says;

  const kernel::Template& from() const {
    return planted ? *planted : place->task().template_of(config);
  }
};

bool passes(const Entry& entry) {
  const SelfTestRow& row = entry.row;
  const bool passed = row.rejection.finding == gate::Finding::kPassed;
  if (row.sort == Sort::twin || row.sort == Sort::variant) return passed;
  // A fault that could not be built was never tried.
  if ((row.rejection.finding == gate::Finding::kNotBound) == entry.builds) return false;
  const bool told =
      (row.rejection.finding + ": " + row.rejection.message).find(entry.says) != std::string::npos;
  return !passed && (told || !entry.place->device().info().checks);
}

// Whether a gene is there in a config that has all genes before it.
bool exists(const space::Parameter& parameter, const Config& config, const Constants& constants) {
  if (!parameter.when) return true;
  const auto scope = [&](const std::string& name) -> const Value* {
    const auto found = constants.find(name);
    return found != constants.end() ? &found->second : config.find(name);
  };
  const auto known = [&](const std::string& name) { return scope(name) != nullptr; };
  return std::ranges::all_of(parameter.when->names(), known) &&
         parameter.when->evaluate_bool(scope);
}

// A fault file does not know which of its template's optional genes a space has.
Config with_defaults(Config config, const Constants& optional, const space::Space& space) {
  for (const space::Parameter& parameter : space.parts().parameters) {
    const auto found = optional.find(parameter.name);
    if (found != optional.end() && config.find(parameter.name) == nullptr &&
        exists(parameter, config, space.parts().constants))
      config.set(found->first, found->second);
  }
  return config;
}

class Tester {
 public:
  Tester(const std::filesystem::path& root, const DeviceOpener& open, kernel::Compiler& compiler,
         int jobs, const SelfTestOptions& options, const SelfTestListener& listen)
      : root_(root),
        open_(open),
        compiler_(compiler),
        jobs_(jobs),
        options_(options),
        listen_(listen) {}

  SelfTestResult run(const std::vector<space::SpaceFile>& spaces) {
    for (const space::SpaceFile& space : spaces) find_faults(space);
    for (const Known& known : faults_)
      if (known.space == nullptr) result_.left_out.push_back(known.fault.name);
    std::erase_if(faults_, [](const Known& known) { return known.space == nullptr; });
    if (options_.kinds_once) leave_one_of_each_kind();
    plant_faults();
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      const auto upto = [&](std::size_t n) {
        return options_.variants * static_cast<int>(n) / static_cast<int>(spaces.size());
      };
      try_variants(spaces[i], upto(i + 1) - upto(i));
    }
    return std::move(result_);
  }

 private:
  struct Known {
    const space::SpaceFile* space = nullptr;
    std::filesystem::path file;
    PlantedFault fault;
  };

  void find_faults(const space::SpaceFile& space) {
    for (const auto& [name, manifest] : space.templates) {
      const auto path = fault_file_of(root_ / "kernel_templates" / manifest);
      if (!std::filesystem::is_regular_file(path)) continue;
      if (files_.insert(path).second)
        for (PlantedFault& fault : parse_fault_file(read_file(path, kYamlFile), path, name))
          faults_.push_back({nullptr, path, std::move(fault)});
      for (Known& known : faults_)
        if (known.space == nullptr && known.file == path && has_genes(space, known.fault.config))
          known.space = &space;
    }
  }

  void leave_one_of_each_kind() {
    std::set<std::string> kinds;
    std::erase_if(faults_, [&](const Known& known) {
      return !known.fault.cheat && !kinds.insert(known.fault.kind).second;
    });
  }

  // A template's optional genes are not in all of its spaces, nor are all their values.
  static bool has_genes(const space::SpaceFile& space, const Config& config) {
    return std::ranges::all_of(config.settings(), [&](const auto& setting) {
      const auto gene = std::ranges::find(space.parameters, setting.first, &space::Parameter::name);
      return gene != space.parameters.end() &&
             std::ranges::find(gene->values, setting.second) != gene->values.end();
    });
  }

  // Whether a setting of a fault's problem stands in for one of the space's: one length for both
  // goes where there are two (space_settings.hpp), and heads of K and V go with those of Q.
  static bool replaces(const std::string& setting, const std::string& old) {
    return old == setting || (old == "shape.L" && setting.starts_with(old)) ||
           (old == "shape.Hkv" && setting == "shape.H");
  }

  // Projects differ by the settings of their problem alone; each is opened once.
  Workplace& place_of(const Known& known) {
    std::string key = known.space->name;
    for (const auto& [name, value] : known.fault.problem)
      key += " " + name + "=" + fa_tune::to_text(value);
    auto& place = places_[key];
    if (!place) {
      space::SpaceFile file = *known.space;
      // A preset is made for the space's own shape.
      file.presets.clear();
      for (const auto& setting : known.fault.problem) {
        std::erase_if(file.problem_settings,
                      [&](const auto& old) { return replaces(setting.first, old.first); });
        file.problem_settings.push_back(setting);
      }
      place =
          std::make_unique<Workplace>(open_task(std::move(file), root_), open_, options_.emulator,
                                      compiler_, jobs_, derive_seed(options_.seed, "faults"), true);
    }
    return *place;
  }

  void plant_faults() {
    const std::size_t wanted = options_.faults < 0
                                   ? faults_.size()
                                   : std::min<std::size_t>(options_.faults, faults_.size());
    std::set<std::pair<Workplace*, std::string>> twins;
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < wanted; ++i) {
      const Known& known = faults_[i * faults_.size() / wanted];
      const PlantedFault& fault = known.fault;
      Workplace& place = place_of(known);
      const kernel::Template& sound = place.task().template_of(fault.config);
      const space::Space& its_space = place.task().space;
      const Config config = with_defaults(fault.config, sound.optional(), its_space);
      if (const auto why = its_space.why_invalid(config))
        throw UserError(prefix(fault.mark) + "'" + fault.name + "': " + *why);
      Entry entry{.place = &place,
                  .planted = plant(sound, fault),
                  .config = config,
                  .row = {},
                  .builds = fault.builds,
                  .says = fault.says};
      entry.row.sort = fault.cheat ? Sort::cheat : Sort::fault;
      entry.row.space = known.space->name;
      entry.row.template_name = sound.name();
      entry.row.name = fault.name;
      entry.row.kind = fault.kind;
      entries.push_back(std::move(entry));
      if (twins.emplace(&place, config.to_json()).second)
        entries.push_back(right_task(place, *known.space, config, Sort::twin));
    }
    expected_ = static_cast<int>(entries.size()) + options_.variants;
    work_off(entries);
    places_.clear();
  }

  void try_variants(const space::SpaceFile& space, int count) {
    if (count <= 0) return;
    const std::uint64_t seed = derive_seed(options_.seed, "variants " + space.name);
    Workplace place(open_task(space, root_), open_, options_.emulator, compiler_, jobs_, seed,
                    false);
    Random random(seed);
    std::set<std::string> seen;
    std::vector<Entry> entries;
    const auto most = std::min<std::uint64_t>(count, place.task().space.count());
    while (entries.size() < most) {
      const Config config = place.task().space.sample(random);
      if (seen.insert(config.to_json()).second)
        entries.push_back(right_task(place, space, config, Sort::variant));
    }
    work_off(entries);
  }

  static Entry right_task(Workplace& place, const space::SpaceFile& space, const Config& config,
                          Sort sort) {
    Entry entry{.place = &place, .planted = {}, .config = config, .row = {}, .says = {}};
    entry.row.sort = sort;
    entry.row.space = space.name;
    entry.row.template_name = place.task().template_of(config).name();
    entry.row.name = config.to_json();
    return entry;
  }

  void work_off(std::vector<Entry>& entries) {
    std::vector<std::unique_ptr<Variant>> variants(entries.size());
    std::vector<std::future<SanitizerResult>> checks(entries.size());
    std::size_t begun = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (; begun < std::min(i + kEntriesAhead, entries.size()); ++begun) {
        const Entry& next = entries[begun];
        checks[begun] = next.place->start_check(next.from(), next.config);
        variants[begun] = next.place->begin(next.from(), next.config);
      }
      Entry& entry = entries[i];
      const Stopwatch watch;
      entry.row.rejection = entry.place->run(*variants[i], checks[i]);
      entry.row.seconds = watch.milliseconds() / 1000;
      entry.row.passed = passes(entry);
      result_.rows.push_back(entry.row);
      listen_(result_, expected_);
      variants[i].reset();
      if (entry.place->device().lost()) reopen(*entry.place, entries, variants, i + 1, begun);
    }
  }

  // With all of [first, end) that have begun on the place's device.
  static void reopen(Workplace& place, const std::vector<Entry>& entries,
                     std::vector<std::unique_ptr<Variant>>& variants, std::size_t first,
                     std::size_t end) {
    for (std::size_t i = first; i < end; ++i)
      if (entries[i].place == &place) variants[i].reset();
    place.open_device();
    for (std::size_t i = first; i < end; ++i)
      if (entries[i].place == &place)
        variants[i] = place.begin(entries[i].from(), entries[i].config);
  }

  const std::filesystem::path& root_;
  const DeviceOpener& open_;
  kernel::Compiler& compiler_;
  int jobs_;
  const SelfTestOptions& options_;
  const SelfTestListener& listen_;
  std::set<std::filesystem::path> files_;
  std::vector<Known> faults_;
  std::map<std::string, std::unique_ptr<Workplace>> places_;
  SelfTestResult result_;
  int expected_ = 0;  // rows, about: a small space has fewer variants than its share
};

}  // namespace

std::string to_text(SelfTestRow::Sort sort) {
  switch (sort) {
    case Sort::fault:
      return "fault";
    case Sort::cheat:
      return "cheat";
    case Sort::twin:
      return "twin";
    case Sort::variant:
      break;
  }
  return "variant";
}

int SelfTestResult::count(Sort sort) const {
  return static_cast<int>(std::ranges::count(rows, sort, &SelfTestRow::sort));
}

int SelfTestResult::passed(Sort sort) const {
  return static_cast<int>(std::ranges::count_if(
      rows, [sort](const SelfTestRow& row) { return row.sort == sort && row.passed; }));
}

bool SelfTestResult::passed() const {
  return !rows.empty() && std::ranges::all_of(rows, &SelfTestRow::passed);
}

SelfTestResult self_test(const std::vector<space::SpaceFile>& spaces,
                         const std::filesystem::path& root, const DeviceOpener& open,
                         kernel::Compiler& compiler, int jobs, const SelfTestOptions& options,
                         const SelfTestListener& listen) {
  return Tester(root, open, compiler, jobs, options, listen).run(spaces);
}

}  // namespace fa_tune::tuner
