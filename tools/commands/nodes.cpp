#include "tools/commands/nodes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/gate/reference_run.hpp"
#include "engine/util/child_process.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"
#include "engine/util/shell.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

namespace fs = std::filesystem;

std::chrono::milliseconds grace_of(const NodeArguments& arguments) {
  return std::chrono::milliseconds(std::lround(arguments.grace_s * 1000));
}

// With this machine's compilers in it before any of a node's can come.
std::shared_ptr<kernel::CompilerGroup> open_compilers(const NodeArguments& arguments,
                                                      const CompilerChoice& choice) {
  auto group = std::make_shared<kernel::CompilerGroup>(
      kernel::CompilerGroup::Options{grace_of(arguments), "a node that compiles", choice.stop});
  if (choice.version) group->require_version(*choice.version);
  if (choice.jobs == 0) return group;
  try {
    if (const auto added = group->add(worker::open_nvrtc_in_worker(), choice.jobs); !added)
      throw UserError(fmt::format("this machine cannot compile for that run: {}", added.error()));
  } catch (const MachineError& error) {
    throw MachineError(fmt::format("{}; --jobs 0 has nodes alone compile", error.what()));
  }
  return group;
}

constexpr std::string_view kSlurm = "slurm";
// Stands for the command of a node in a command that starts nodes.
constexpr std::string_view kCommandMark = "{}";

// The port of a search under Slurm, which is that of the search that resumes it in the same
// allocation, so that nodes find it again. Below those that Linux hands out by itself.
std::uint16_t port_for(const fs::path& db) {
  constexpr std::uint64_t kFirst = 20000;
  constexpr std::uint64_t kCount = 12000;
  const std::string purpose = environment("SLURM_JOB_ID") + " " + fs::absolute(db).string();
  return static_cast<std::uint16_t>(kFirst + derive_seed(0, purpose) % kCount);
}

// What srun is told besides.
std::vector<std::string> srun_options(const std::string& start) {
  const std::string text = start.substr(std::min(start.size(), kSlurm.size() + 1));
  if (text.empty()) return {};
  std::vector<std::string> words = split_words(text);
  for (const std::string& word : words)
    for (const char* const ours : {"-N", "--nodes", "-n", "--ntasks", "-w", "--nodelist"})
      if (word == ours || word.starts_with(std::string(ours) + "="))
        throw UserError(
            fmt::format("--nodes slurm: {} is not for OPTIONS: each node of the allocation gets a "
                        "step of one task",
                        ours));
  return words;
}

// The words that start nodes by a command of the user's: with those of a node for {}, as text for a
// shell where that is within a word, or else behind all.
std::vector<std::string> filled_in(const std::string& start, const std::vector<std::string>& node,
                                   const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  bool marked = false;
  std::string text;
  for (const std::string& word : node) text += (text.empty() ? "" : " ") + shell_word(word);
  for (std::string& word : split_words(start)) {
    const std::size_t at = word.find(kCommandMark);
    marked |= at != std::string::npos;
    if (word == kCommandMark) {
      words.insert(words.end(), node.begin(), node.end());
      continue;
    }
    if (at != std::string::npos) word.replace(at, kCommandMark.size(), text);
    words.push_back(std::move(word));
  }
  if (!marked) words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

std::string NodeArguments::words() const {
  std::string words;
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words += fmt::format(" {} {}", option, shell_word(value));
  };
  add("--listen", listen);
  add("--key", key);
  add("--nodes", start);
  add("--node-device", device);
  if (jobs) add("--node-jobs", std::to_string(*jobs));
  return words;
}

void add_node_options(CLI::App& command, NodeArguments& arguments) {
  command
      .add_option(
          "--listen", arguments.listen,
          "search with the devices and compilers of other machines, which come here by "
          "`fa-tune node`; with devices of this machine besides only if --device names them")
      ->type_name("HOST:PORT");
  command
      .add_option(
          "--key", arguments.key,
          "of --listen: the file with the key that nodes must have; made, for you alone, if "
          "it is not there")
      ->type_name("FILE");
  command
      .add_option(
          "--nodes", arguments.start,
          "slurm: a node on each machine of this Slurm allocation, started by srun with these "
          "OPTIONS besides (blanks between); needs no --listen and --key. Or a command that starts "
          "nodes, with {} for that of a node; without {} --connect and --key are put behind it")
      ->type_name("slurm[:OPTIONS]|COMMAND");
  command
      .add_option("--node-device", arguments.device,
                  "of --nodes: what each node lends, as `fa-tune node --device` has it; cuda:all "
                  "if not given")
      ->type_name("DEVICE");
  command
      .add_option("--node-jobs", arguments.jobs,
                  "of --nodes: how many compilers each node lends; if not given, one for each core "
                  "that its devices leave")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--grace", arguments.grace_s,
                  "with nodes: seconds that a search without any device or compiler left waits for "
                  "one")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
}

Nodes::KeyFile::KeyFile(const NodeArguments& arguments, const fs::path& db)
    : path_(fs::absolute(arguments.key.empty() ? fs::path(db.string() + ".key")
                                               : fs::path(arguments.key))),
      is_own_(arguments.key.empty()),
      is_left_(is_own_ && fs::exists(path_)),
      key_(node::read_or_make_key(path_)) {}

Nodes::KeyFile::~KeyFile() {
  std::error_code error;
  if (is_own_) fs::remove(path_, error);
}

std::unique_ptr<node::NodeHub> Nodes::listen(const NodeArguments& arguments,
                                             const fs::path& db) const {
  node::HubOptions options;
  options.key = key_.key();
  options.grace = grace_of(arguments);
  options.compilers = compilers_;
  if (!arguments.listen.empty()) {
    options.address = node::parse_address(arguments.listen, "--listen");
    return std::make_unique<node::NodeHub>(options);
  }
  options.address = {node::name_of_this_machine(), port_for(db)};
  try {
    return std::make_unique<node::NodeHub>(options);
  } catch (const UserError&) {
    options.address.port = 0;
    return std::make_unique<node::NodeHub>(options);
  }
}

Nodes::Nodes(const NodeArguments& arguments, const fs::path& db, const CompilerChoice& choice,
             std::optional<SlurmAllocation> allocation)
    : key_(arguments, db),
      compilers_(open_compilers(arguments, choice)),
      hub_(listen(arguments, db)) {
  log_info("listens for nodes: {} node --connect {} --key {}", program_name(),
           to_text(hub_->address()), shell_word(key_.path().string()));
  if (arguments.start.empty()) return;
  if (allocation) {
    start_by_slurm(arguments, std::move(*allocation));
    return;
  }
  const auto node = command(arguments);
  // Without the program and its subcommand.
  std::vector<std::string> rest(node.begin() + 2, node.end());
  if (arguments.device.empty()) rest.resize(rest.size() - 2);
  const auto words = filled_in(arguments.start, node, rest);
  starter_ = std::make_unique<NodeStarter>(words.front(), words);
}

Nodes::~Nodes() {
  if (slurm_) slurm_->stop();
  if (!hub_->connected_nodes().empty()) return;
  // There is none whose farewell could be waited for.
  if (slurm_) slurm_->end(NodeStarter::Clock::now());
  if (starter_) starter_->end(NodeStarter::Clock::now());
}

std::vector<std::string> Nodes::command(const NodeArguments& arguments) const {
  std::vector<std::string> words = {fs::read_symlink("/proc/self/exe").string(),
                                    "node",
                                    "--connect",
                                    to_text(hub_->address()),
                                    "--key",
                                    key_.path().string()};
  if (arguments.jobs) words.insert(words.end(), {"--jobs", std::to_string(*arguments.jobs)});
  words.insert(words.end(), {"--device", arguments.device.empty() ? "cuda:all" : arguments.device});
  return words;
}

void Nodes::start_by_slurm(const NodeArguments& arguments, SlurmAllocation allocation) {
  log_info("{} of job {} of Slurm: {}", allocation.nodes().size() == 1 ? "node" : "nodes",
           allocation.job(), fmt::join(allocation.nodes(), ", "));
  SlurmOptions options;
  options.srun = srun_options(arguments.start);
  options.command = [words = command(arguments)](const std::string& node) {
    auto all = words;
    all.insert(all.end(), {"--name", node});
    return all;
  };
  options.connected = [this] { return hub_->connected_nodes(); };
  options.resumed = key_.is_left();
  slurm_ = std::make_unique<SlurmNodes>(std::move(allocation), std::move(options));
}

bool Nodes::failed() const {
  if (slurm_) return slurm_->failed();
  return starter_ && starter_->exit_code().value_or(0) != 0;
}

device::Device& Nodes::first(const std::atomic<bool>& stop) {
  device::Device* const device = hub_->wait_for_first([&] { return stop || failed(); });
  if (device != nullptr) return *device;
  if (stop) throw Interrupted("interrupted before a node had come");
  throw MachineError(slurm_ ? "no node could be started; what Slurm and they said is above"
                            : "the command of --nodes failed before a node had come");
}

void Nodes::wait_for_compiler(const std::atomic<bool>& stop) {
  if (compilers_->size() > 0) return;
  log_info("nobody compiles yet (--jobs 0): waits for a node that does");
  if (compilers_->wait_for_first([&] { return stop || failed(); })) return;
  if (stop) throw Interrupted("interrupted before a node that compiles had come");
  throw MachineError("no node that compiles has come, and none will: what starts nodes has failed");
}

void Nodes::wait_for_others(const std::atomic<bool>& stop) {
  using namespace std::chrono_literals;
  constexpr auto kQuiet = 3s;
  constexpr auto kLongest = 60s;
  const auto count = [this] {
    return hub_->devices_so_far() + static_cast<std::size_t>(compilers_->size());
  };
  const auto began = std::chrono::steady_clock::now();
  auto last_came = began;
  for (std::size_t before = count(); !stop;) {
    const auto now = std::chrono::steady_clock::now();
    if (const std::size_t here = count(); here != before) {
      before = here;
      last_came = now;
    }
    if (now - last_came >= kQuiet || now - began >= kLongest) return;
    std::this_thread::sleep_for(100ms);
  }
}

device::DeviceSupply& Nodes::join(Session& session, problem::Problem& problem,
                                  const std::atomic<bool>& stop) {
  wait_for_compiler(stop);
  const auto own = session.devices();
  if (!own.empty()) {
    hub_->require_kind(own.front()->info());
    if (own.front()->info().times == device::TimeKind::measured) wait_for_others(stop);
    session.add(hub_->take_arrived());
    return *hub_;
  }
  const bool measures = first(stop).info().times == device::TimeKind::measured;
  if (measures) wait_for_others(stop);
  session.add(hub_->take_arrived());
  problem.use_reference(gate::make_reference_runner(
      [this] { return hub_->open_reference(); },
      [&compiler = session.compiler()](const kernel::CompileRequest& request) {
        return compiler.compile(request);
      },
      &stop));
  return *hub_;
}

std::unique_ptr<Nodes> open_nodes(const NodeArguments& arguments, const fs::path& db,
                                  const CompilerChoice& choice) {
  if (choice.jobs == 0 && !arguments.listens())
    throw UserError(
        "--jobs 0 needs --listen HOST:PORT, or --nodes slurm: nodes compile then, and nobody else "
        "does");
  if ((!arguments.device.empty() || arguments.jobs) && arguments.start.empty())
    throw UserError("--node-device and --node-jobs are for nodes that --nodes starts");
  if (arguments.slurm()) {
    srun_options(arguments.start);  // of which none may be wrong
    return std::make_unique<Nodes>(arguments, db, choice, SlurmAllocation());
  }
  if (arguments.listens() == arguments.key.empty())
    throw UserError("--listen HOST:PORT and --key FILE go together");
  if (!arguments.start.empty() && !arguments.listens())
    throw UserError("--nodes needs --listen HOST:PORT and --key FILE: an address that nodes reach");
  return arguments.listens() ? std::make_unique<Nodes>(arguments, db, choice, std::nullopt)
                             : nullptr;
}

}  // namespace fa_tune::commands
