// Do two devices give the same answers for the same small kernels?
//
//   bench_conformance cuda:0 emulator:h100 --out h100.json
//   bench_conformance cuda:0 emulator:h100 --keep FOLDER
//   bench_conformance kept:FOLDER emulator:h100
//   bench_conformance emulator:h100 emulator:h100 --schedules 8
//   bench_conformance cuda:0 --run NAME [--fault]
//
// Kernels are the .cu files below tests/conformance/kernels, their inputs seeded. A GPU is held by
// a worker (the fa-tune beside this program), as is an emulator named apart:emulator:h100. A folder
// of kept answers stands for the device that gave them. The fourth form holds the emulator's other
// schedules against its first. The last one runs one kernel once, a planted fault of
// tests/conformance/faults too, and exits with 1 if the device complains: what a checker such as
// compute-sanitizer is started on.

#include <ctime>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/worker/remote_device.hpp"
#include "tools/lone/outputs.hpp"

namespace fa_tune::bench {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Outcome = std::expected<std::vector<lone::LoneOutput>, std::string>;

struct Options {
  std::string device;
  std::string other;
  std::string only;
  std::string out;
  std::string keep;
  std::string run;
  bool fault = false;
  int schedules = 1;
};

std::filesystem::path kernels(const char* folder) {
  return find_root() / "tests" / "conformance" / folder;
}

// Among kept answers: whose they are.
constexpr const char* kDeviceFile = "device.cbor";

void write_cbor(const std::filesystem::path& file, const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_cbor(value);
  write_file(file, std::string(bytes.begin(), bytes.end()));
}

void keep_outcome(const std::filesystem::path& file, const Outcome& outcome) {
  json answer;
  if (!outcome) answer["fault"] = outcome.error();
  if (outcome) answer["outputs"] = json::array();
  for (const lone::LoneOutput& each : outcome.value_or(std::vector<lone::LoneOutput>())) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(each.bytes.data());
    answer["outputs"].push_back(
        {{"argument", each.argument},
         {"bytes", json::binary(std::vector<std::uint8_t>(begin, begin + each.bytes.size()))}});
  }
  write_cbor(file, answer);
}

Outcome kept_outcome(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::unexpected("no answer was kept");
  const json answer = json::from_cbor(read_file(file));
  if (answer.contains("fault")) return std::unexpected(answer["fault"].get<std::string>());
  std::vector<lone::LoneOutput> outputs;
  for (const json& each : answer["outputs"]) {
    const auto& bytes = each["bytes"].get_binary();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    outputs.push_back({each["argument"].get<std::size_t>(), {begin, begin + bytes.size()}});
  }
  return outputs;
}

// A kernel that costs its process the GPU, or never ends, costs nobody else anything.
std::unique_ptr<device::Device> open_in_worker(const std::string& name) {
  worker::RemoteOptions options;
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fa-tune";
  options.words = {program.string(), "worker", "--device", name, "--root", find_root().string()};
  if (!name.starts_with("cuda")) options.deadlines = worker::Deadlines::of_emulator();
  return worker::open_remote(options);
}

// One of two devices whose answers are held against each other.
class Side {
 public:
  Side(const std::string& name, kernel::Compiler& compiler) : compiler_(compiler) {
    constexpr std::string_view kept = "kept:";
    constexpr std::string_view apart = "apart:";
    if (name.starts_with(kept)) {
      kept_ = name.substr(kept.size());
      const json from = json::from_cbor(read_file(kept_ / kDeviceFile));
      from.at("id").get_to(info_.id);
      from.at("name").get_to(info_.name);
      from.at("arch").get_to(info_.arch);
      from.at("driver").get_to(info_.driver);
      return;
    }
    device_ = name.starts_with(apart)    ? open_in_worker(name.substr(apart.size()))
              : name.starts_with("cuda") ? open_in_worker(name)
                                         : device::open_device(name, {}, find_root());
    info_ = device_->info();
  }

  const device::DeviceInfo& info() const { return info_; }

  Outcome run(const lone::KernelFile& kernel, std::uint64_t schedule) {
    const std::string file = kernel.name + ".cbor";
    if (device_ == nullptr) return kept_outcome(kept_ / file);
    const Outcome outcome = kernel.run(*device_, compiler_, false, {}, schedule);
    if (!keep_.empty()) keep_outcome(keep_ / file, outcome);
    return outcome;
  }

  // From now on the answers are kept in `folder`, which must exist.
  void keep(const std::filesystem::path& folder) {
    keep_ = folder;
    write_cbor(
        keep_ / kDeviceFile,
        {{"id", info_.id}, {"name", info_.name}, {"arch", info_.arch}, {"driver", info_.driver}});
  }

 private:
  kernel::Compiler& compiler_;
  std::unique_ptr<device::Device> device_;  // none for kept answers
  std::filesystem::path kept_;              // answers are read from here, if not empty
  std::filesystem::path keep_;              // and written to here
  device::DeviceInfo info_;
};

struct Row {
  lone::Difference difference;
  std::string verdict;
  std::string problem;
};

Row hold(const lone::KernelFile& kernel, const std::vector<lone::LoneOutput>& a,
         const std::vector<lone::LoneOutput>& b) {
  Row row;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const lone::ArgumentSpec& spec = kernel.launch.arguments[a[i].argument];
    const lone::Difference one = compare(spec, kernel.agreement, a[i].bytes, b[i].bytes);
    if (!one.agrees && row.problem.empty()) {
      const auto bits = [&](const lone::LoneOutput& from) {
        return lone::element_bits(spec.element, from.bytes, one.first);
      };
      row.problem = fmt::format("argument {} element {}: {:#x} ({}) and {:#x} ({})", a[i].argument,
                                one.first, bits(a[i]), value_of(spec.element, bits(a[i])),
                                bits(b[i]), value_of(spec.element, bits(b[i])));
    }
    row.difference += one;
  }
  const bool same = row.difference.identical == row.difference.elements;
  row.verdict = same ? "identical" : row.difference.agrees ? "within bound" : "DIFFERS";
  return row;
}

Row row_of(const lone::KernelFile& kernel, const Options& options, Side& one, Side& other,
           ordered_json& recorded) {
  Row row;
  const auto fail = [&](const Side& side, const std::string& why) {
    row.verdict = "FAILED";
    row.problem = side.info().id + ": " + why;
    return row;
  };
  const auto a = one.run(kernel, 0);
  if (!a) return fail(one, a.error());
  recorded = record(kernel, *a);
  for (int schedule = 0; schedule < options.schedules; ++schedule) {
    const auto b = other.run(kernel, static_cast<std::uint64_t>(schedule));
    if (!b) return fail(other, b.error());
    const Row next = hold(kernel, *a, *b);
    if (schedule == 0 || row.verdict == "identical" || next.verdict == "DIFFERS") row = next;
    if (row.verdict == "DIFFERS") break;
  }
  return row;
}

int agree(const Options& options) {
  const auto compiler = kernel::with_cache(kernel::open_nvrtc(), cache_folder());
  Side one(options.device, *compiler);
  Side other(options.other, *compiler);
  if (!options.keep.empty()) {
    std::filesystem::create_directories(options.keep);
    one.keep(options.keep);
  }
  ordered_json rows = ordered_json::array();
  int good = 0;
  int count = 0;
  fmt::print("{:<24} {:<14} {:>9} {:>9} {:>10} {:>11}  {}\n", "kernel", "class", "elements",
             "identical", "worst ulp", "worst diff", "verdict");
  for (const lone::KernelFile& kernel : lone::KernelFile::load_all(kernels("kernels"))) {
    if (!options.only.empty() && kernel.name != options.only) continue;
    if (!kernel.runs_on(one.info().arch) || !kernel.runs_on(other.info().arch)) continue;
    ordered_json recorded;
    const Row row = row_of(kernel, options, one, other, recorded);
    const lone::Difference& d = row.difference;
    fmt::print("{:<24} {:<14} {:>9} {:>9} {:>10} {:>11.3g}  {}{}\n", kernel.name, kernel.kind,
               d.elements, d.identical, d.worst_ulp, d.worst_absolute, row.verdict,
               row.problem.empty() ? "" : ": " + row.problem);
    (void)std::fflush(stdout);
    ++count;
    good += row.verdict == "identical" || row.verdict == "within bound";
    rows.push_back({{"kernel", kernel.name},
                    {"class", kernel.kind},
                    {"elements", d.elements},
                    {"identical", d.identical},
                    {"worst_ulp", d.worst_ulp},
                    {"worst_absolute", d.worst_absolute},
                    {"bound", describe(kernel.agreement)},
                    {"because", kernel.because},
                    {"verdict", row.verdict},
                    {"problem", row.problem},
                    {"outputs", recorded}});
  }
  if (count == 0) throw UserError("there is no such kernel that both devices can run");
  fmt::print("{} of {} kernels agree: {} and {}\n", good, count, one.info().name,
             other.info().name);
  const ordered_json result = {
      {"devices", {one.info().name, other.info().name}},
      {"ids", {one.info().id, other.info().id}},
      {"driver", one.info().driver},
      {"compiler", compiler->version()},
      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
      {"schedules", options.schedules},
      {"kernels", count},
      {"agree", good},
      {"rows", rows}};
  if (!options.out.empty()) write_file(options.out, result.dump(1) + "\n");
  return good == count ? 0 : 1;
}

// The file of a kernel given by its name or as a path.
std::filesystem::path find_kernel(const std::string& name) {
  if (std::filesystem::is_regular_file(name)) return name;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kernels("")))
    if (entry.path().filename() == name + ".cu") return entry.path();
  throw UserError("there is no kernel " + name);
}

// In this process, so that a checker around it sees the launch.
int run_one(const Options& options) {
  const lone::KernelFile kernel = lone::KernelFile::load(find_kernel(options.run));
  const auto compiler = kernel::with_cache(kernel::open_nvrtc(), cache_folder());
  const auto device = device::open_device(options.device, {}, find_root());
  const auto compiled = compiler->compile(kernel.request(device->info(), options.fault));
  if (!compiled) throw UserError(kernel.name + ": " + compiled.error().message);
  lone::LoneLaunch launch = kernel.launch;
  launch.checks = device::Checks::all();
  const auto outputs = lone::run_lone(*device, compiled->image, launch);
  if (outputs) {
    fmt::print("{}: ran\n", kernel.name);
    return 0;
  }
  fmt::print("{}: {}: {}\n", kernel.name, to_text(outputs.error().kind), outputs.error().message);
  return 1;
}

}  // namespace
}  // namespace fa_tune::bench

int main(int argc, char** argv) {
  fa_tune::bench::Options options;
  CLI::App app("Do two devices give the same answers for the same small kernels?",
               "bench_conformance");
  app.add_option("device", options.device, "cuda:N or emulator:NAME")->required();
  app.add_option("other", options.other, "the device it is held against");
  app.add_option("--only", options.only, "one kernel");
  app.add_option("--out", options.out, "a JSON file for the result");
  app.add_option("--keep", options.keep, "a folder for all of the first device's outputs");
  app.add_option("--schedules", options.schedules, "how many on the other device");
  app.add_option("--run", options.run, "run one kernel once in this process");
  app.add_flag("--fault", options.fault, "with the planted fault");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!options.run.empty()) return fa_tune::bench::run_one(options);
    if (options.other.empty()) throw fa_tune::UserError("a second device is needed, or --run");
    return fa_tune::bench::agree(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_conformance: {}\n", error.what());
    return 3;
  }
}
