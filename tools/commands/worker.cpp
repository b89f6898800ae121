#include <cstdint>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/compiler_headers.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/kernel/compile/nvrtc_library.hpp"
#include "engine/tuner/profiling/profiling.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/file.hpp"
#include "engine/worker/worker_main.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct WorkerArguments {
  std::string device;
  std::string root;
  std::optional<std::uint64_t> instructions;
  std::uint64_t memory = 0;
  std::vector<std::string> readable;
  bool health = false;
  bool compile = false;
  bool list = false;
  pid_t parent = 0;
};

int serve_compiler(worker::WorkerEnd& end, const WorkerArguments& arguments) {
  worker::CompilerWork work;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  work.places = {find_root() / ".venv", root_above(program.parent_path()) / ".venv",
                 environment("FA_TUNE_CUDA_INCLUDE")};
  work.places.insert(work.places.end(), arguments.readable.begin(), arguments.readable.end());
  // Headers lie beside the library's folder.
  for (const std::filesystem::path library : kernel::nvrtc_candidates())
    if (library.has_parent_path()) work.places.push_back(library.parent_path().parent_path());
  work.open = kernel::open_nvrtc;
  work.readable = [&] {
    std::vector<std::filesystem::path> folders(arguments.readable.begin(),
                                               arguments.readable.end());
    const kernel::NvrtcFacts facts = kernel::describe_nvrtc();
    folders.push_back(std::filesystem::path(facts.path).parent_path());
    for (const std::string& option : kernel::include_options(facts.headers))
      folders.emplace_back(option.substr(option.find('=') + 1));
    return folders;
  };
  work.memory = arguments.memory;
  return worker::serve_compiler(end, work);
}

int serve(const WorkerArguments& arguments) {
  // What the driver would keep on disk is of no use: every kernel is compiled here once.
  setenv("CUDA_CACHE_DISABLE", "1", /*overwrite=*/1);
  worker::WorkerEnd end(arguments.parent);
  if (arguments.list) return worker::serve_list(end, device::list_gpus);
  if (arguments.compile) return serve_compiler(end, arguments);
  worker::DeviceWork work;
  work.open = [&] {
    return device::open_device(arguments.device, {}, arguments.root, arguments.instructions);
  };
  work.health = arguments.health;
  work.memory = arguments.memory;
  work.emulated = arguments.device.starts_with("emulator");
  return worker::serve_device(end, work);
}

struct ProfiledArguments {
  std::string file;
  std::string compiled;
  std::string compiler;
  std::string device;
  std::string root;
  std::uint64_t seed = 0;
  int launches = 1;
  unsigned seconds = 60;
};

int launch_profiled(const ProfiledArguments& arguments) {
  // Whatever becomes of the profiler above, this process ends.
  alarm(arguments.seconds);
  // It has machine code; what the driver would keep on disk is of no use.
  setenv("CUDA_CACHE_DISABLE", "1", /*overwrite=*/1);
  const auto device = device::open_device(arguments.device, {}, arguments.root);
  tuner::launch_for_profiler(read_file(arguments.file, kExportedFile), arguments.compiled,
                             arguments.compiler, *device, arguments.root, arguments.seed,
                             arguments.launches);
  return 0;
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("worker", "what fa-tune starts to run and compile kernels in");
  command->group("");  // not for people: it speaks frames
  auto arguments = std::make_shared<WorkerArguments>();
  command->add_option("--device", arguments->device);
  command->add_option("--root", arguments->root);
  command->add_option("--instructions", arguments->instructions);
  command->add_option("--memory", arguments->memory);
  command->add_option("--readable", arguments->readable);
  command->add_flag("--health", arguments->health);
  command->add_flag("--compile", arguments->compile);
  command->add_flag("--list", arguments->list);
  command->add_option("--parent", arguments->parent);
  command->callback([arguments, &action] {
    action = [arguments] {
      const int code = serve(*arguments);
      // Nothing is tidied up: a driver with a kernel that never ends would wait for it.
      _exit(code);
      return code;
    };
  });
}

void add_profiled(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("profiled", "what Nsight Compute is started over by `profile`");
  command->group("");  // not for people: it runs a kernel that was gated, and says nothing
  auto arguments = std::make_shared<ProfiledArguments>();
  command->add_option("--file", arguments->file)->required();
  command->add_option("--compiled", arguments->compiled)->required();
  command->add_option("--compiler", arguments->compiler)->required();
  command->add_option("--device", arguments->device)->required();
  command->add_option("--root", arguments->root)->required();
  command->add_option("--seed", arguments->seed)->required();
  command->add_option("--launches", arguments->launches)->required();
  command->add_option("--seconds", arguments->seconds)->required();
  act(*command, action, arguments, launch_profiled);
}

}  // namespace fa_tune::commands
