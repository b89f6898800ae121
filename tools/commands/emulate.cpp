#include <cstdio>
#include <map>
#include <memory>

#include <fmt/core.h>
#include <unistd.h>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/trace/counters.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"
#include "engine/worker/open.hpp"
#include "engine/yaml/yaml.hpp"
#include "tools/commands/command.hpp"
#include "tools/lone/element.hpp"
#include "tools/lone/kernel_file.hpp"
#include "tools/lone/launch_file.hpp"
#include "tools/lone/orders.hpp"
#include "tools/lone/outputs.hpp"
#include "tools/lone/ptx_entry.hpp"

namespace fa_tune::commands {
namespace {

struct EmulateArguments {
  lone::SourceFile source;
  std::string device;  // empty: what the launch file says, or kDevice
  std::vector<std::uint32_t> grid;
  std::vector<std::uint32_t> block;
  std::vector<std::uint32_t> cluster;
  std::uint32_t shared = 0;
  bool cooperative = false;
  bool programmatic = false;
  std::vector<std::string> specs;
  std::string checks = "all";
  std::vector<std::string> accepted;
  int schedules = 1;
  int schedule = 0;
  std::vector<std::uint64_t> only;
  bool counters = false;
  std::vector<std::string> dumps;
};

constexpr const char* kDevice = "h100";

// One launch, and the files that its outputs are written to, by their arguments' numbers.
struct Job {
  lone::SourceFile source;
  lone::LoneLaunch launch;
  std::string device;
  std::multimap<std::size_t, std::string> targets;
};

Dim3 sizes(const std::vector<std::uint32_t>& list) {
  Dim3 size;
  if (!list.empty()) size.x = list[0];
  if (list.size() > 1) size.y = list[1];
  if (list.size() > 2) size.z = list[2];
  return size;
}

device::Checks checks_of(const std::string& text) {
  if (text == "all") return device::Checks::all();
  device::Checks checks;
  if (text == "none") return checks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word == "init") {
      checks.initialized = true;
    } else if (word == "race") {
      checks.races = true;
    } else if (word == "sync") {
      checks.sync = true;
    } else {
      throw UserError("--check: " + quote_text(word) +
                      " is no check; expected all, none, or a list of init, race, sync");
    }
  }
  return checks;
}

// 0 or the number of the output to write, from "OUT.npy" or "N:OUT.npy".
std::pair<std::size_t, std::string> dump_target(const lone::LoneLaunch& launch,
                                                const std::string& text) {
  const std::size_t colon = text.find(':');
  std::size_t wanted = launch.arguments.size();
  if (colon != std::string::npos && colon > 0 && text.find_first_not_of("0123456789") == colon &&
      colon < 4)
    wanted = std::stoul(text.substr(0, colon));
  const bool named = wanted < launch.arguments.size();
  if (!named)
    for (std::size_t i = launch.arguments.size(); i-- > 0;)
      if (launch.arguments[i].is_output()) wanted = i;
  if (wanted >= launch.arguments.size() || !launch.arguments[wanted].is_output())
    throw UserError("--dump: there is no argument that is written; begin one with out: or inout:");
  return {wanted, named ? text.substr(colon + 1) : text};
}

void dump(const lone::ArgumentSpec& spec, const lone::LoneOutput& output, const std::string& file) {
  const std::string text = lone::write_npy(spec.element, spec.dims, output.bytes);
  if (file != "-") {
    write_file(file, text);
  } else {
    // The standard output is for text, and shows what is none (tools/main.cpp).
    std::fflush(stdout);
    FILE* const raw = fdopen(dup(STDOUT_FILENO), "wb");
    const bool whole =
        raw != nullptr && std::fwrite(text.data(), 1, text.size(), raw) == text.size();
    if (raw == nullptr || std::fclose(raw) != 0 || !whole)
      throw MachineError("--dump: standard output does not take it");
  }
}

// What could not start is the user's to mend; what went wrong while it ran is a finding.
int complain(const device::Fault& fault) {
  const bool never_ran = fault.kind == device::FaultKind::load_failed ||
                         fault.kind == device::FaultKind::unknown_instruction ||
                         fault.kind == device::FaultKind::resources;
  if (never_ran) throw UserError(to_text(fault.kind) + ": " + fault.message);
  fmt::print(stderr, "fa-tune: {}\n", message_line(to_text(fault.kind) + ": " + fault.message));
  return 1;
}

// What a drawn order has shown, with the fewest blocks that show it and how to see it again.
device::Fault explained(device::Device& device, const KernelImage& image,
                        const lone::LoneLaunch& launch, device::Fault fault) {
  fault.message +=
      lone::how_to_run_again(launch, lone::fewest_clusters(device, image, launch, fault));
  return fault;
}

// A correct kernel gives the same bits whatever the order of what is unordered.
int differs(const lone::LoneLaunch& launch, const std::vector<lone::LoneOutput>& first,
            const std::vector<lone::LoneOutput>& other, int base) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i].bytes == other[i].bytes) continue;
    const lone::ArgumentSpec& spec = launch.arguments[first[i].argument];
    std::uint64_t at = 0;
    while (lone::element_bits(spec.element, first[i].bytes, at) ==
           lone::element_bits(spec.element, other[i].bytes, at))
      ++at;
    fmt::print(
        stderr,
        "fa-tune: race: schedule {} leaves other bits than schedule {} in argument {}, first "
        "in element {}\n",
        launch.schedule, base, first[i].argument, at);
    return 1;
  }
  return 0;
}

int report_counters(lone::LoneRun& run, device::Device& device) {
  const auto timing = device.time(run.launch(), {});
  // The kernel did nothing wrong.
  if (!timing && timing.error().kind == device::FaultKind::not_modelled) {
    fmt::print("not modelled, so there is no time: {}\n\n", timing.error().message);
    return 0;
  }
  if (!timing) return complain(timing.error());
  fmt::print("predicted for {}: {:.3f} us\n{}\n", timing->model, timing->samples_us.front(),
             emulator::counters_report(timing->detail_json));
  return 0;
}

int run_job(Job job, const EmulateArguments& arguments) {
  lone::LoneLaunch& launch = job.launch;
  const bool unfenced = launch.checks.unfenced_mbarriers || !arguments.accepted.empty();
  launch.checks = checks_of(arguments.checks);
  launch.checks.unfenced_mbarriers = unfenced;
  job.source.line_info = arguments.source.line_info;
  // With --dump - standard output is the array's alone.
  const bool silent =
      std::ranges::any_of(job.targets, [](const auto& target) { return target.second == "-"; });
  const auto device = worker::open_device_in_worker("emulator:" + job.device, {}, require_root());
  const KernelImage image = image_of(job.source, device->info(), worker::open_nvrtc_in_worker);
  std::vector<lone::LoneOutput> first;
  launch.only_clusters = arguments.only;
  for (int tried = 0; tried < arguments.schedules; ++tried) {
    launch.schedule = static_cast<std::uint64_t>(arguments.schedule + tried);
    auto run = lone::LoneRun::prepare(*device, image, launch);
    if (!run) return complain(run.error());
    if (const auto done = run->run(); !done)
      return complain(launch.schedule == 0 ? done.error()
                                           : explained(*device, image, launch, done.error()));
    for (const std::string& note : tried == 0 ? device->take_notes() : std::vector<std::string>())
      log_warning("{}; nothing that the kernel decides or stores depends on it", note);
    auto outputs = run->outputs();
    if (!outputs) return complain(outputs.error());
    if (tried > 0) {
      if (const int code = differs(launch, first, *outputs, arguments.schedule); code != 0)
        return code;
      continue;
    }
    first = std::move(*outputs);
    if (arguments.counters)
      if (const int code = report_counters(*run, *device); code != 0) return code;
  }
  for (const lone::LoneOutput& output : first) {
    const lone::ArgumentSpec& spec = launch.arguments[output.argument];
    const auto [begin, end] = job.targets.equal_range(output.argument);
    for (auto target = begin; target != end; ++target) dump(spec, output, target->second);
    if (!silent) fmt::print("{}\n", lone::summary_of(spec, output));
  }
  return 0;
}

Job job_of_options(const EmulateArguments& arguments) {
  Job job;
  job.source = arguments.source;
  job.device = arguments.device.empty() ? kDevice : arguments.device;
  Dim3 block = sizes(arguments.block);
  Dim3 cluster = sizes(arguments.cluster);
  bool has_block = !arguments.block.empty();
  if (job.source.file.extension() == ".ptx") {
    const lone::PtxEntry entry = lone::choose_entry(read_file(job.source.file, kProgramFile),
                                                    job.source.kernel, job.source.file.string());
    job.source.kernel = entry.name;
    if (!has_block && entry.block) block = *entry.block;
    if (arguments.cluster.empty() && entry.cluster) cluster = *entry.cluster;
    has_block = has_block || entry.block;
  }
  if (job.source.kernel.empty()) throw UserError("--kernel says which kernel of the file is run");
  if (!has_block) throw UserError("--block says how many threads a block has");
  job.launch.config = {
      sizes(arguments.grid), block, cluster, arguments.shared, arguments.cooperative,
      arguments.programmatic};
  for (const std::string& spec : arguments.specs)
    job.launch.arguments.push_back(lone::parse_argument(spec));
  for (const std::string& text : arguments.dumps) job.targets.insert(dump_target(job.launch, text));
  return job;
}

Job job_of_file(const std::filesystem::path& file, const EmulateArguments& arguments) {
  const lone::SourceFile& source = arguments.source;
  if (!source.kernel.empty() || !source.defines.empty() || !source.include.empty() ||
      !arguments.grid.empty() || !arguments.block.empty() || !arguments.cluster.empty() ||
      arguments.shared != 0 || arguments.cooperative || arguments.programmatic ||
      !arguments.specs.empty() || !arguments.dumps.empty())
    throw UserError(
        "a launch file says all of its launch; beside one there are --device, --check, "
        "--accept, --schedules, --schedule, --only, --counters and --line-info");
  lone::LaunchFile launch = lone::LaunchFile::load(file);
  Job job;
  job.source = std::move(launch.source);
  job.launch = std::move(launch.launch);
  job.device = !arguments.device.empty() ? arguments.device
               : launch.device.empty()   ? kDevice
                                         : launch.device;
  for (const auto& [argument, path] : launch.saves) job.targets.emplace(argument, path.string());
  return job;
}

int emulate(const EmulateArguments& arguments) {
  const std::filesystem::path& file = arguments.source.file;
  if (file.extension() == ".json") return run_job(job_of_file(file, arguments), arguments);
  std::error_code unreadable;
  if (!std::filesystem::is_directory(file, unreadable))
    return run_job(job_of_options(arguments), arguments);
  int worst = 0;
  for (const std::filesystem::path& each : lone::launch_files_of(file)) {
    fmt::print("{}\n", each.filename().string());
    // Findings come on the other stream, behind the name of their launch.
    std::fflush(stdout);
    worst = std::max(worst, run_job(job_of_file(each, arguments), arguments));
  }
  return worst;
}

}  // namespace

void add_emulate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "emulate", "run a kernel of any .cu or .ptx file on the emulator, check it and count");
  auto arguments = std::make_shared<EmulateArguments>();
  command
      ->add_option("file", arguments->source.file,
                   "CUDA C++ (.cu), PTX (.ptx), a launch (.json), or a folder of launches")
      ->type_name("FILE")
      ->required();
  command->add_option("--kernel", arguments->source.kernel,
                      "its name, extern \"C\" in CUDA C++; PTX of a single kernel needs none");
  const auto dims = [&](const char* name, std::vector<std::uint32_t>& to, const char* help) {
    return command->add_option(name, to, help)
        ->delimiter(',')
        ->expected(1, 3)
        ->check(CLI::Range(1, 2'147'483'647));
  };
  dims("--grid", arguments->grid, "blocks: x, or x,y,z");
  dims("--block", arguments->block, "threads a block: x, or x,y,z; PTX with .reqntid needs none");
  dims("--cluster", arguments->cluster, "blocks a cluster: x, or x,y,z");
  command->add_option("--shared", arguments->shared, "dynamic shared memory a block, bytes");
  command->add_flag("--cooperative", arguments->cooperative,
                    "all blocks run at once, so that the grid may sync");
  command->add_flag("--programmatic", arguments->programmatic,
                    "it begins before the kernel in front of it has ended: accesses to global "
                    "memory before griddepcontrol.wait are told");
  command
      ->add_option("--arg", arguments->specs,
                   "an argument, in order: f32[1024]=normal:7, out:u32[256], i32=5, ...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--device", arguments->device,
                      "a device profile: its name or file; a launch's own, or h100");
  command->add_option("--check", arguments->checks, "all, none, or a list of init,race,sync")
      ->capture_default_str();
  command
      ->add_option("--accept", arguments->accepted,
                   "what is no finding: mbarriers of the block that no fence shows to copies")
      ->check(CLI::IsMember({std::string(lone::kUnfencedMbarriers)}))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--schedules", arguments->schedules, "how many orders of events to try")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command->add_option("--schedule", arguments->schedule, "the first of these orders, by its number")
      ->check(CLI::Range(0, 1'000'000'000));
  command
      ->add_option("--only", arguments->only,
                   "the blocks (clusters) that run, by number: 0,3; a finding says which it needs")
      ->delimiter(',')
      ->expected(1, 1024);
  command->add_flag("--counters", arguments->counters, "what it did, what bounds it, and a time");
  command->add_flag("--line-info", arguments->source.line_info, "name CUDA lines in reports");
  command->add_option("--define", arguments->source.defines, "NAME or NAME=VALUE for a .cu file")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("-I,--include", arguments->source.include, "a folder of headers")
      ->type_name("FOLDER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--dump", arguments->dumps,
                   "write the first output, or argument N as N:FILE, as .npy; - is stdout")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  act(*command, action, arguments, emulate);
}

}  // namespace fa_tune::commands
