#include <cstdint>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "engine/device/local/open.hpp"
#include "engine/worker/worker_main.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune {
namespace {

struct WorkerArguments {
  std::string device;
  std::string root;
  std::optional<std::uint64_t> instructions;
  bool health = false;
  bool compile = false;
  bool list = false;
  pid_t parent = 0;
};

int serve(const WorkerArguments& arguments) {
  // What the driver would keep on disk is of no use: every kernel is compiled here once.
  setenv("CUDA_CACHE_DISABLE", "1", /*overwrite=*/1);
  WorkerEnd end(arguments.parent);
  if (arguments.list) return serve_list(end, list_gpus);
  if (arguments.compile) return serve_compiler(end, open_nvrtc);
  DeviceWork work;
  work.open = [&] {
    return open_device(arguments.device, {}, arguments.root, arguments.instructions);
  };
  work.health = arguments.health;
  work.emulated = arguments.device.starts_with("emulator");
  return serve_device(end, work);
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("worker", "what fa-tune starts to run and compile kernels in");
  command->group("");  // not for people: it speaks frames
  auto arguments = std::make_shared<WorkerArguments>();
  command->add_option("--device", arguments->device);
  command->add_option("--root", arguments->root);
  command->add_option("--instructions", arguments->instructions);
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

}  // namespace fa_tune
