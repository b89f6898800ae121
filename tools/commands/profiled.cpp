#include <cstdlib>

#include <unistd.h>

#include "engine/device/local/open.hpp"
#include "engine/tuner/profiling/profiling.hpp"
#include "engine/util/file.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune {
namespace {

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
  const auto device = open_device(arguments.device, {}, arguments.root);
  launch_for_profiler(read_file(arguments.file), arguments.compiled, arguments.compiler, *device,
                      arguments.root, arguments.seed, arguments.launches);
  return 0;
}

}  // namespace

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
  command->callback(
      [arguments, &action] { action = [arguments] { return launch_profiled(*arguments); }; });
}

}  // namespace fa_tune
