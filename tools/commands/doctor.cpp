#include <filesystem>

#include <fmt/core.h>
#include <sqlite3.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/profiler/ncu.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/worker/open.hpp"
#include "engine/worker/sandbox.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

void say(const char* what, bool good, const std::string& text) {
  fmt::print("{:<10} {:<8} {}\n", what, good ? "ok" : "missing", text);
}

void say_profiler() {
  try {
    const std::string ncu = profiler::find_ncu("");
    say("ncu", true,
        fmt::format("{}, {}: for 'profile' on a GPU", profiler::ncu_version(ncu), ncu));
  } catch (const MachineError& error) {
    say("ncu", false, error.what());
  }
}

void say_sandbox() {
  const std::vector<std::string> missing = worker::missing_limits();
  for (const std::string& line : missing) say("sandbox", false, line);
  if (missing.empty())
    say("sandbox", true, "workers are held to their system calls, paths and memory");
}

// What is installed, what is missing and what a run would use. Exit code 3 if nothing could run.
int doctor() {
  const auto root = find_root();
  say("root", !root.empty(),
      root.empty() ? "kernel_templates and search_spaces not found: set FA_TUNE_ROOT"
                   : root.string());
  const kernel::NvrtcFacts nvrtc = kernel::describe_nvrtc();
  say("compiler", nvrtc.found,
      nvrtc.found ? fmt::format("{}, {}", nvrtc.version, nvrtc.path)
                  : "no libnvrtc: tools/setup installs it, or set FA_TUNE_NVRTC to the library");
  if (nvrtc.found)
    say("headers", !nvrtc.headers.empty(),
        nvrtc.headers.empty() ? "no CUDA headers: kernels that include cuda_fp16.h do not compile; "
                                "run tools/setup, or set FA_TUNE_CUDA_INCLUDE"
                              : nvrtc.headers);
  const auto gpus = worker::list_gpus_in_worker();
  for (const device::DeviceInfo& gpu : gpus)
    say("gpu", true,
        fmt::format("{}  {}, {}, {} SMs, driver {}", gpu.id, gpu.name, gpu.arch, gpu.sms,
                    gpu.driver));
  if (gpus.empty())
    say("gpu", false, "no NVIDIA driver or no GPU: kernels will run in the emulator");
  say_profiler();
  std::string profiles;
  std::error_code error;
  for (const auto& file :
       std::filesystem::directory_iterator(root / "search_spaces" / "devices", error))
    if (file.path().extension() == ".yaml")
      profiles += (profiles.empty() ? "" : ", ") + file.path().stem().string();
  say("emulator", !profiles.empty(), "profiles: " + profiles);
  say_sandbox();
  say("database", true, std::string("SQLite ") + sqlite3_libversion());
  say("cache", true, cache_folder().string());
  fmt::print("\n--device auto would use {}\n",
             gpus.empty() ? "the emulator with the space's target" : gpus.front().id);
  return root.empty() || !nvrtc.found ? 3 : 0;
}

int list_fault_points() {
  for (const FaultPoint& point : kFaultPoints) fmt::print("{:<20} {}\n", point.name, point.where);
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "say what is installed, missing, and would be used");
  auto points = std::make_shared<bool>(false);
  command->add_flag("--fault-points", *points,
                    "list where FA_TUNE_FAULT=NAME[:N] makes the program die as by kill -9");
  command->callback([points, &action] { action = *points ? list_fault_points : doctor; });
}

}  // namespace fa_tune::commands
