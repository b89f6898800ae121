#include "engine/worker/open.hpp"

#include <future>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/device_names.hpp"
#include "engine/worker/failed.hpp"
#include "engine/worker/launcher.hpp"
#include "engine/worker/remote_compiler.hpp"
#include "engine/worker/remote_device.hpp"
#include "engine/worker/session.hpp"

namespace fa_tune {
namespace {

std::unique_ptr<Device> open_named(const std::string& name, const std::filesystem::path& root,
                                   std::vector<std::string> more = {}) {
  RemoteOptions options;
  more.insert(more.end(), {"--device", name, "--root", root.string()});
  options.words = worker_words(more);
  const bool emulator = name.starts_with("emulator");
  if (emulator) options.deadlines = Deadlines::of_emulator();
  options.parks_buffers = !emulator;
  return open_remote(options);
}

}  // namespace

std::unique_ptr<Device> open_device_in_worker(const std::string& name, const DeviceProfile& target,
                                              const std::filesystem::path& root) {
  if (name != "auto") return open_named(name, root);
  try {
    return open_named("cuda:0", root);
  } catch (const MachineError& error) {
    log_info("no usable GPU, hence emulator:{}; times will be predictions ({})", target.name,
             error.what());
  }
  return open_named("emulator:" + target.given, root);
}

std::vector<std::unique_ptr<Device>> open_devices_in_workers(const std::string& names,
                                                             const DeviceProfile& target,
                                                             const std::filesystem::path& root) {
  const auto gpus = [] {
    std::vector<std::string> ids;
    for (const DeviceInfo& gpu : list_gpus_in_worker()) ids.push_back(gpu.id);
    return ids;
  };
  // A driver takes its seconds for each.
  std::vector<std::future<std::unique_ptr<Device>>> opening;
  for (const std::string& name : device_names(names, gpus))
    opening.push_back(std::async(std::launch::async, [&target, &root, name] {
      return open_device_in_worker(name, target, root);
    }));
  std::vector<std::unique_ptr<Device>> devices;
  for (auto& each : opening) devices.push_back(each.get());
  return devices;
}

std::unique_ptr<Device> open_emulator_in_worker(const DeviceProfile& profile,
                                                std::uint64_t instructions,
                                                const std::filesystem::path& root) {
  return open_named("emulator:" + profile.given, root,
                    {"--instructions", std::to_string(instructions)});
}

std::unique_ptr<Compiler> open_nvrtc_in_worker() {
  return open_remote_compiler({worker_words({"--compile"})});
}

std::vector<DeviceInfo> list_gpus_in_worker() {
  constexpr std::chrono::seconds kDeadline{60};
  WorkerSession session(worker_words({"--list"}));
  auto answer = session.greet(kDeadline);
  if (!answer) return {};
  auto* found = std::get_if<message::GpusFound>(&*answer);
  return found == nullptr ? std::vector<DeviceInfo>() : std::move(found->gpus);
}

}  // namespace fa_tune
