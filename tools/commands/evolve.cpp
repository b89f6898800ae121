#include "engine/tuner/evolve.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <sstream>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/community/t1/t1_file.hpp"
#include "engine/community/t1/t1_space.hpp"
#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/loop/run_options.hpp"
#include "engine/tuner/task/task_check.hpp"
#include "engine/util/child_process.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/util/shell.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/nodes.hpp"
#include "tools/commands/session.hpp"
#include "tools/commands/summary.hpp"
#include "tools/terminal/progress.hpp"

namespace fa_tune::commands {
namespace {

// A search that nobody bounded: long enough to find something, short enough to wait for.
constexpr int kDefaultTrials = 100;

struct EvolveArguments {
  std::string space;
  std::vector<std::string> settings;
  std::string reference;
  std::string target;
  std::string db = "fa.db";
  std::string device = "auto";
  std::optional<std::string> budget;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> strategy;
  std::optional<std::string> proposer;
  double proposer_share = 0.5;
  double proposer_deadline_s = 10;
  std::optional<std::string> warm;
  std::optional<std::int64_t> resume;
  std::optional<int> generation;
  std::optional<int> ahead;
  bool no_finals = false;
  std::string format = "text";
  int jobs = default_jobs();
  NodeArguments nodes;
};

// Only reads: a slip in the file's name or the run's number must not make or change a database.
db::RunRow stored_run(const EvolveArguments& arguments) {
  const auto run = db::Store(arguments.db, db::Store::Mode::read).run(*arguments.resume);
  if (!run)
    throw UserError(
        fmt::format("{}: there is no run {} to resume", arguments.db, *arguments.resume));
  return *run;
}

// As typed, else as the resumed run had it, else as the space says.
void set_budget(tuner::EvolveOptions& options, const EvolveArguments& arguments,
                const std::optional<db::RunRow>& stored, const space::SpaceFile& file) {
  if (arguments.budget) {
    const Budget budget = parse_budget(*arguments.budget);
    options.trials = budget.trials;
    options.seconds = budget.seconds;
    return;
  }
  if (stored) {
    const auto kept = nlohmann::json::parse(stored->options_json, nullptr, false);
    if (kept.contains("trials")) options.trials = kept["trials"].get<int>();
    if (kept.contains("seconds")) options.seconds = kept["seconds"].get<double>();
    return;
  }
  options.trials = file.budget_trials;
  options.seconds = file.budget_seconds;
  if (!options.trials && !options.seconds) options.trials = kDefaultTrials;
}

// The command comes from the command line alone: no file and no database can make us run one.
std::optional<search::ProposerOptions> proposer_options(const EvolveArguments& arguments) {
  if (!arguments.proposer) return std::nullopt;
  search::ProposerOptions options;
  options.words = split_words(*arguments.proposer);
  options.share = arguments.proposer_share;
  options.deadline = std::chrono::milliseconds(std::lround(arguments.proposer_deadline_s * 1000));
  require_program(options.words.front());
  return options;
}

// The runs in "3,5"; none for "auto" and "off".
std::vector<std::int64_t> runs_named(const std::string& warm) {
  std::vector<std::int64_t> runs;
  if (warm == "auto" || warm == "off") return runs;
  std::istringstream list(warm);
  for (std::string part; std::getline(list, part, ',');) {
    const char* end = part.data() + part.size();
    const auto read = std::from_chars(part.data(), end, runs.emplace_back());
    if (read.ec == std::errc() && read.ptr == end) continue;
    throw UserError(fmt::format(
        "--warm: expected auto, off, or runs of the database as in 3,5, not '{}'", warm));
  }
  return runs;
}

void announce(const tuner::TuningTask& task, const std::vector<device::Device*>& devices,
              const tuner::EvolveOptions& options, const kernel::Compiler& compiler) {
  const device::Device& device = *devices.front();
  log_info("space {}: {} valid configs, {}", task.file.name, task.space.count(),
           task.problem->describe(task.problem->shape()));
  for (const std::string& line : task.idle_parameters()) log_warning("{}", line);
  announce_coverage(*task.problem);
  std::vector<std::string> ids;
  for (const device::Device* each : devices) ids.push_back(each->info().id);
  log_info("{} {}: {}, compiled for {} by {}, {} at a time", ids.size() == 1 ? "device" : "devices",
           fmt::join(ids, ", "), device.info().name, device.info().arch, compiler.version(),
           options.jobs);
  for (const tuner::PriorRun& earlier : options.earlier)
    log_info("learns from {} trials of {}", earlier.trials, earlier.title);
  if (device.info().times == device::TimeKind::predicted)
    log_info(
        "no GPU is used: kernels run in the emulator, times are predictions by the model of {}",
        device::modelled_gpu(device.info().name));
  if (device.info().arch != task.target.arch)
    log_info("the space's target is {} ({}): its limits hold here too, so that a winner fits it",
             task.target.title, task.target.arch);
}

// What makes a run the run it is cannot be changed in the midst of it.
void refuse_what_is_stored(const EvolveArguments& arguments) {
  const std::pair<const char*, bool> given[] = {{"--space", !arguments.space.empty()},
                                                {"--set", !arguments.settings.empty()},
                                                {"--reference", !arguments.reference.empty()},
                                                {"--target", !arguments.target.empty()},
                                                {"--seed", arguments.seed.has_value()},
                                                {"--strategy", arguments.strategy.has_value()},
                                                {"--warm", arguments.warm.has_value()},
                                                {"--generation", arguments.generation.has_value()},
                                                {"--ahead", arguments.ahead.has_value()}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      throw UserError(fmt::format(
          "{} is kept with the run that --resume goes on with: leave it out, or begin a new run",
          name));
}

// Whether a device of this machine takes part: with nodes only one that is named.
bool has_own_device(const EvolveArguments& arguments) {
  return arguments.device != "auto" || !arguments.nodes.listens();
}

space::SpaceFile with_device(const space::SpaceFile& file, const EvolveArguments& arguments,
                             Nodes* nodes, const std::filesystem::path& root) {
  if (has_own_device(arguments)) return for_device(file, arguments.device, root);
  if (file.target != space::kAutoTarget) return file;
  return for_opened_device(file, nodes->first(stop_asked()).info(), root);
}

// A space of ours, or a T1 file's kernel as one.
space::SpaceFile named_space(const EvolveArguments& arguments, Nodes* nodes,
                             const std::filesystem::path& root) {
  const auto path = space::find_space_file(arguments.space, root);
  const std::string text = read_file(path, kYamlFile);
  if (!community::looks_like_t1(text)) {
    if (!arguments.reference.empty() || !arguments.target.empty())
      throw UserError("--reference and --target are for T1 files: a space names its own");
    return with_device(
        space::with_settings(space::load_space_file(arguments.space, root), arguments.settings),
        arguments, nodes, root);
  }
  if (arguments.reference.empty())
    throw UserError(path.string() +
                    ": is a T1 file: name a plain kernel that computes the same, to hold its own "
                    "against, with --reference FILE.cu, or --reference self");
  community::T1Use use{.reference = arguments.reference};
  if (!arguments.target.empty()) use.target = arguments.target;
  source::SourceMaps lines;
  space::SpaceFile file = space::parse_space_file(community::t1_as_space(text, path, use, &lines),
                                                  path.string() + " (as a space)");
  file.source_lines = std::move(lines);
  if (arguments.reference == "self")
    log_info(
        "the reference is the kernel itself, with its default config: a search proves that all "
        "configs compute the same as that one, and no more");
  return with_device(space::with_settings(file, arguments.settings), arguments, nodes, root);
}

void tell_sources(const tuner::TuningTask& task) {
  const tuner::TaskFindings findings = tuner::check_sources(task);
  if (!findings.errors.empty()) throw UserError(findings.errors.front());
  for (const std::string& line : findings.warnings) log_warning("{}", line);
}

int run_search(const EvolveArguments& arguments) {
  const auto root = require_root();
  if (!arguments.resume && arguments.space.empty())
    throw UserError("evolve needs --space FILE, or --resume RUN to go on with a run");
  if (arguments.resume) refuse_what_is_stored(arguments);
  // All is checked before the database is opened for writing: a slip must not leave an empty file.
  std::optional<db::RunRow> stored;
  if (arguments.resume) stored = stored_run(arguments);
  std::optional<std::string> version;
  if (stored) version = stored->compiler;
  // Who ends a wait for nodes wants those that were started to end too.
  if (arguments.nodes.listens()) heed_interrupts();
  const std::unique_ptr<Nodes> nodes =
      open_nodes(arguments.nodes, arguments.db, {arguments.jobs, version, &stop_asked()});
  const tuner::TuningTask task = tuner::open_task(
      stored ? tuner::stored_space(*stored) : named_space(arguments, nodes.get(), root), root);
  // A stored space has been looked at, and its run may have trials already.
  if (!stored) tell_sources(task);
  tuner::EvolveOptions options;
  options.resume = arguments.resume;
  if (arguments.strategy) options.strategy = *arguments.strategy;
  options.jobs = arguments.jobs;
  options.finals = !arguments.no_finals;
  options.emulator = emulator_in_worker(root);
  options.proposer = proposer_options(arguments);
  if (arguments.seed) options.seed = *arguments.seed;
  // Refuses an unknown name early. A proposer learns, whatever it stands beside.
  const bool learns =
      search::make_strategy(options.strategy, {.space = task.space, .seed = options.seed})
          ->learns() ||
      options.proposer;
  set_budget(options, arguments, stored, task.file);
  options.warm = arguments.warm.value_or("auto") != "off";
  if (!stored) {
    const auto named = runs_named(arguments.warm.value_or("auto"));
    if (!named.empty()) {
      const db::Store known(arguments.db, db::Store::Mode::read);
      for (const std::int64_t run : named)
        options.earlier.push_back(tuner::choose_prior_runs(known, task, run));
    }
  }
  const bool own = has_own_device(arguments);
  Session session(own ? Session::Devices::several : Session::Devices::none, arguments.device,
                  task.target, root, nodes != nullptr ? nodes->compiler() : open_compiler());
  if (own) session.give_reference(*task.problem, task.target, &stop_asked());
  if (nodes != nullptr) {
    options.supply = &nodes->join(session, *task.problem, stop_asked());
    options.compilers = &nodes->compilers();
    options.jobs = nodes->compilers().size();
  }
  const std::vector<device::Device*> devices = session.devices();
  const device::DeviceInfo& device = session.device().info();
  options.policy =
      tuner::choose_batch_policy(learns, {.compilers = options.jobs,
                                          .devices = static_cast<int>(devices.size()),
                                          .measures = device.times == device::TimeKind::measured,
                                          .trials = options.trials});
  if (arguments.generation) options.policy.generation = *arguments.generation;
  if (arguments.ahead) options.policy.ahead = *arguments.ahead;
  db::Store store(arguments.db, db::Store::Mode::write);
  if (!stored && arguments.warm.value_or("auto") == "auto")
    options.earlier = tuner::choose_prior_runs(store, task, device.name);
  announce(task, devices, options, session.compiler());

  heed_interrupts();
  tuner::EvolveResult result;
  {
    terminal::Progress progress(options, to_text(device.times), stop_asked());
    result =
        tuner::evolve(task, devices, session.compiler(), store, options, progress, stop_asked());
  }
  for (const std::string& line : describe(result.breakdown)) log_info("{}", line);
  fmt::print("{}", arguments.format == "json" ? summary_json(store, result)
                                              : summarize(task, store, result, arguments.db));
  const std::string resume = fmt::format(
      "{} evolve --db {} --device {} --resume {}{}{}{}", program_name(), shell_word(arguments.db),
      shell_word(arguments.device), result.run, arguments.nodes.words(),
      arguments.jobs == 0 ? " --jobs 0" : "", arguments.proposer ? " --proposer '...'" : "");
  if (!result.trouble.empty())
    throw MachineError(result.trouble + "; all finished trials are kept. Go on with: " + resume);
  if (result.device_lost)
    throw MachineError("the device was lost; all finished trials are kept. Go on with: " + resume);
  if (result.interrupted) {
    log_info("interrupted; nothing is lost. Go on with: {}", resume);
    return 130;
  }
  if (result.finals_left)
    log_info("no finals were held: these are screens. Hold them with: {}", resume);
  if (result.counts.passed == 0) {
    log_warning("no variant passed; see the reasons with: {} failures --run {} --db {}",
                program_name(), result.run, shell_word(arguments.db));
    return 1;
  }
  return 0;
}

int evolve_command(const EvolveArguments& arguments) {
  try {
    return run_search(arguments);
  } catch (const Interrupted& why) {
    log_info("{}; nothing was begun", why.what());
    return 130;
  }
}

}  // namespace

void add_evolve(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "evolve",
      "search a space for its fastest correct kernel; a source may compile for 60 s, a launch last "
      "10 s on a GPU and 10^10 instructions on the emulator");
  auto arguments = std::make_shared<EvolveArguments>();
  command
      ->add_option("--space", arguments->space, "space file, as a path or a name in search_spaces")
      ->type_name("SPACE");
  command->add_option(
      "--set", arguments->settings,
      "override a value under `problem`, as in --set shape.L=4096 --set causal=true, or "
      "sizes.n=1000 of a problem of your own");
  command
      ->add_option("--reference", arguments->reference,
                   "of a T1 file: a CUDA file with a plain kernel that computes the same; or "
                   "self, its own kernel with the default config")
      ->type_name("FILE");
  command->add_option("--target", arguments->target,
                      "of a T1 file: the device profile whose limits hold; h100 if not given");
  add_db_option(*command, arguments->db, "database to write");
  command
      ->add_option(
          "--device", arguments->device,
          "auto, cuda:N, or emulator:PROFILE (`doctor` lists them); several of one kind search "
          "together: cuda:0,cuda:1, cuda:all, emulator:l4*2")
      ->type_name("DEVICE")
      ->capture_default_str();
  add_node_options(*command, arguments->nodes);
  command->add_option("--budget", arguments->budget,
                      "trials (200) or time (90s, 10m); the space's own if not given");
  add_seed(*command, arguments->seed, "the run's seed, 1 if not given");
  command
      ->add_option("--strategy", arguments->strategy,
                   "how to search, with options as in evolve:presets=off; evolve if not given")
      ->type_name(fmt::format("{}", fmt::join(search::strategy_names(), "|")));
  command->add_option("--proposer", arguments->proposer,
                      "a command that proposes configs, asked over its standard input and output");
  command
      ->add_option("--proposer-share", arguments->proposer_share,
                   "its part of each generation, above 0 and up to 1")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1.0));
  command
      ->add_option("--proposer-deadline", arguments->proposer_deadline_s,
                   "seconds for each of its answers")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 3600.0));
  command->add_option(
      "--warm", arguments->warm,
      "earlier runs of the database to learn from: auto, off, or their numbers (3,5); auto if "
      "not given");
  command
      ->add_option("--generation", arguments->generation,
                   fmt::format("trials asked for at a time; {} if not given",
                               tuner::BatchPolicy{}.generation))
      ->check(CLI::Range(1, 1000));
  command
      ->add_option(
          "--ahead", arguments->ahead,
          fmt::format("how many generations compilation runs ahead; with more the search reacts "
                      "later to results. If not given, on GPUs as many as keep them and the "
                      "compilers busy, but at most an eighth of the budget; else {}",
                      tuner::BatchPolicy{}.ahead))
      ->check(CLI::Range(0, 1000));
  command->add_flag(
      "--no-finals", arguments->no_finals,
      "skip the final, precise timing: do not publish times from such a run; --resume holds "
      "the finals later");
  command->add_option("--format", arguments->format, "of the result: text or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  command->add_option("--resume", arguments->resume, "go on with this run of the database");
  command
      ->add_option("--jobs", arguments->jobs,
                   "compilers of this machine, one for each core if not given; 0 where nodes alone "
                   "compile")
      ->check(CLI::Range(0, 1024));
  act(*command, action, arguments, evolve_command);
}

}  // namespace fa_tune::commands
