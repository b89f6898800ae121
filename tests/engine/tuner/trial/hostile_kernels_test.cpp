// Kernels that do harm among kernels that do not, in a whole search through a worker: exactly those
// are charged, the others' results stand, the search ends. On the emulator; `hostile_kernels_gpu`
// runs the same with more kernels on cuda:0, where a loop without end and an illegal address cost
// real processes.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/file.hpp"
#include "engine/worker/remote_device.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::space;
using namespace fa_tune::tuner;
using namespace fa_tune::worker;

namespace {

namespace fs = std::filesystem;

struct Harm {
  const char* code;     // at the kernel's beginning
  const char* finding;  // what the trial must fail with on a GPU
};

// By the value of the parameter HARM; 0 is none.
const std::map<int, Harm> kHarms = {
    // Not on a variable of its own, even a volatile one: the compiler drops such a loop.
    {1, {"while (clock64() >= 0) {}", "hang"}},
    {2, {"*reinterpret_cast<volatile int*>(16) = 1;", "fault"}},
    {3, {"asm volatile(\"trap;\");", "fault"}},
    // More shared memory than there is: see the manifest.
    {4, {"", "shared_memory"}},
    // Past the end of O, into K, by the distance of the two.
    {5, {"if (threadIdx.x == 0) o[k - o] = 0x3c01;", "input_changed"}}};

std::string device_name() {
  const char* given = std::getenv("FA_TUNE_TEST_DEVICE");
  return given == nullptr ? "emulator:l4" : given;
}
bool on_gpu() { return device_name().starts_with("cuda"); }

// A copy of the task's folders in which the template mma can do harm, and a space with a preset
// for each kind and some more of them in its midst.
class HostileProject {
 public:
  HostileProject() {
    for (const char* name : {"kernel_templates", "search_spaces"})
      fs::copy(test::root() / name, folder_ / name, fs::copy_options::recursive);
    const fs::path cuda = folder_ / "kernel_templates" / "attention" / "mma.cu";
    std::string harm;
    for (const auto& [value, each] : kHarms)
      harm += "#if HARM == " + std::to_string(value) + "\n" + each.code + "\n#endif\n";
    const std::string anchor = "  const unsigned base = shared_address(memory);\n";
    write_file(cuda, test::replace(read_file(cuda), {{anchor, anchor + harm}}));
    const fs::path manifest = folder_ / "kernel_templates" / "attention" / "mma.yaml";
    write_file(manifest,
               test::replace(read_file(manifest),
                             {{"EPILOGUE, MIN_BLOCKS]", "EPILOGUE, MIN_BLOCKS, HARM]"},
                              {"  shared: SHARED_BYTES\n",
                               "  shared: \"SHARED_BYTES + (1048576 if HARM == 4 else 0)\"\n"}}));
  }

  TuningTask open() const {
    const std::string small =
        on_gpu() ? "B: 1, H: 8, Lq: 512, Lk: 512, D: 64" : "B: 1, H: 1, Lq: 32, Lk: 32, D: 32";
    const std::string base =
        "template: mma, BLOCK_M: 32, BLOCK_N: 32, WARPS_M: 2, WARPS_N: 1, STAGES: 1, LAYOUT: "
        "padded, Q_PLACE: in_shared, RESCALE: always, EPILOGUE: direct, MIN_BLOCKS: 0, HARM: ";
    std::string presets = "  base: {" + base + "0}\n";
    std::string values = "0";
    for (const auto& [value, each] : kHarms) {
      // The emulator counts half a billion instructions before it ends a loop, which takes long.
      if (!on_gpu() && std::string(each.finding) == "hang") continue;
      presets += "  harm" + std::to_string(value) + ": {" + base + std::to_string(value) + "}\n";
      values += ", " + std::to_string(value);
    }
    std::string text = read_file(test::root() / "search_spaces" / "l4.yaml");
    text = test::replace(
        text,
        {{"B: 1, H: 8, Lq: 512, Lk: 512, D: 64", small},
         {"  scalar: attention/scalar.yaml\n", ""},
         {"  WARPS: {values: [2, 4, 8], when: \"template == 'scalar'\"}\n", ""},
         {"\nconstraints:\n",
          "  HARM: [" + values +
              "]\n\nconstraints:\n  - {expr: \"HARM == 0 or LAYOUT == 'padded' and RESCALE == "
              "'always' and EPILOGUE == 'direct' and MIN_BLOCKS == 0 and STAGES == 1 and "
              "Q_PLACE == 'in_shared'\", because: harm}\n"}});
    if (!on_gpu())
      text = test::replace(text, {{"BLOCK_M: [4, 8, 16, 32, 64, 128]", "BLOCK_M: [16, 32]"},
                                  {"BLOCK_N: [32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256]",
                                   "BLOCK_N: [32, 48]"}});
    const std::size_t scalar = text.find("  - {expr: \"template != 'scalar'");
    text.erase(scalar, text.find('\n', scalar) + 1 - scalar);
    const std::size_t old = text.find("  # The first is what every time is compared with.");
    text.replace(old, text.find("\nbudget:") - old, presets);
    return open_task(parse_space_file(text, "hostile.yaml"), folder_.path());
  }

 private:
  test::ScratchFolder folder_;
};

int harm_of(const TrialRow& trial) {
  return nlohmann::json::parse(trial.config_json).value("HARM", 0);
}

}  // namespace

namespace {

std::unique_ptr<Device> emulator_in_worker(const std::string& profile, std::uint64_t instructions) {
  RemoteOptions remote;
  remote.words = {FA_TUNE_PROGRAM,  "worker",
                  "--device",       "emulator:" + profile,
                  "--root",         test::root().string(),
                  "--instructions", std::to_string(instructions)};
  remote.deadlines = Deadlines::of_emulator();
  return open_remote(remote);
}

}  // namespace

TEST_CASE("an emulator in a worker ends with its instructions, and its process does not") {
  const std::string ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry endless()\n"
      "{\nLOOP: bra LOOP;\n}\n";
  const auto device = emulator_in_worker("l4", 1'000'000);
  const auto kernel = device->load({BinaryKind::ptx, "sm_89", "endless", ptx, {}});
  REQUIRE(kernel);
  Launch launch;
  launch.kernel = *kernel;
  launch.config.block.x = 32;
  for (int i = 0; i < 2; ++i) {
    const auto ran = device->launch(launch);
    REQUIRE_FALSE(ran);
    CHECK(ran.error().kind == FaultKind::unfinished);
  }
  CHECK(device->deaths().empty());
}

TEST_CASE("kernels that do harm are charged, and only they") {
  const HostileProject hostile;
  const TuningTask task = hostile.open();
  RemoteOptions remote;
  remote.words = {FA_TUNE_PROGRAM, "worker", "--device",
                  device_name(),   "--root", test::root().string()};
  if (!on_gpu()) remote.deadlines = Deadlines::of_emulator();
  const auto device = open_remote(remote);
  test::ScratchFolder folder;
  const auto compiler = with_cache(open_nvrtc(), folder / "cache");
  Store store(folder / "a.db", Store::Mode::write);
  EvolveOptions options;
  options.trials = on_gpu() ? 300 : 20;
  options.strategy = "random";
  options.jobs = on_gpu() ? 16 : 2;
  options.final_suites = {"quick"};
  options.emulator = [](const DeviceProfile& profile, std::uint64_t instructions) {
    return emulator_in_worker(profile.given, instructions);
  };
  test::QuietListener listener;
  const std::atomic<bool> stop{false};
  const EvolveResult result = evolve(task, *device, *compiler, store, options, listener, stop);
  CHECK_FALSE(result.device_lost);
  CHECK(result.trouble.empty());
  CHECK(store.run(1)->state == "done");

  const auto trials = store.trials(1);
  CHECK(trials.size() == static_cast<std::size_t>(*options.trials));
  std::map<int, int> charged;
  int right = 0;
  for (const TrialRow& trial : trials) {
    CAPTURE(trial.config_json);
    CAPTURE(trial.message);
    const int harm = harm_of(trial);
    // Duplicates, and what does not fit, stop before they run.
    const bool never_ran = trial.outcome == Outcome::duplicate || trial.stage == "compile" ||
                           (trial.stage == "resources" && trial.finding != kHarms.at(4).finding);
    if (harm == 0) {
      CHECK((trial.outcome == Outcome::passed || never_ran || trial.stage == "resources"));
      right += trial.outcome == Outcome::passed;
    } else if (!never_ran) {
      CHECK(trial.outcome == Outcome::failed);
      CHECK(trial.finding == kHarms.at(harm).finding);
      ++charged[harm];
    }
  }
  CHECK(charged.size() == kHarms.size() - (on_gpu() ? 0 : 1));
  CHECK(right >= (on_gpu() ? 200 : 10));
  std::string told;
  for (const auto& [harm, count] : charged)
    told += std::to_string(count) + " " + kHarms.at(harm).finding + ", ";
  MESSAGE(device->info().name, ": charged ", told, right, " of ", trials.size(), " passed, ",
          device->deaths().size(), " workers lost");
}

}  // namespace fa_tune::test
