#include "engine/worker/open.hpp"

#include <algorithm>
#include <charconv>
#include <future>
#include <mutex>
#include <string_view>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/remote_compiler.hpp"
#include "engine/worker/remote_device.hpp"
#include "engine/worker/sandbox.hpp"
#include "engine/worker/session.hpp"

namespace fa_tune::worker {
namespace {

// Once for a run, among its first lines.
void say_missing_limits() {
  static std::once_flag said;
  std::call_once(said, [] {
    for (const std::string& line : missing_limits())
      log_warning("workers are not held to all of their limits: {}", line);
  });
}

// A driver that finds none of its device files has a program with more rights make them, which a
// worker that runs kernels may not start. One that lists GPUs may.
void make_device_files() {
  static std::once_flag asked;
  std::call_once(asked, [] {
    std::error_code error;
    if (std::filesystem::exists("/proc/driver/nvidia", error) &&
        !std::filesystem::exists("/dev/nvidia-uvm", error))
      list_gpus_in_worker();
  });
}

std::unique_ptr<device::Device> open_named(const std::string& name,
                                           const std::filesystem::path& root,
                                           std::size_t devices = 1,
                                           std::vector<std::string> more = {}) {
  say_missing_limits();
  RemoteOptions options;
  more.insert(more.end(), {"--device", name, "--root", root.string()});
  const bool emulator = name.starts_with("emulator");
  if (emulator) {
    options.deadlines = Deadlines::of_emulator();
    more.insert(more.end(), {"--memory", std::to_string(memory_of_emulator(devices))});
  } else {
    make_device_files();
  }
  options.words = worker_words(more);
  options.parks_buffers = !emulator;
  return open_remote(options);
}

}  // namespace

std::unique_ptr<device::Device> open_device_in_worker(const std::string& name,
                                                      const device::DeviceProfile& target,
                                                      const std::filesystem::path& root,
                                                      std::size_t devices) {
  if (name != "auto") return open_named(name, root, devices);
  try {
    return open_named("cuda:0", root);
  } catch (const MachineError& error) {
    log_info("no usable GPU, hence emulator:{}; times will be predictions ({})", target.name,
             error.what());
  }
  return open_named("emulator:" + target.given, root);
}

std::vector<std::unique_ptr<device::Device>> open_devices_in_workers(
    const std::string& names, const device::DeviceProfile& target,
    const std::filesystem::path& root) {
  const auto gpus = [] {
    std::vector<std::string> ids;
    for (const device::DeviceInfo& gpu : list_gpus_in_worker()) ids.push_back(gpu.id);
    return ids;
  };
  // A driver takes its seconds for each.
  std::vector<std::future<std::unique_ptr<device::Device>>> opening;
  const std::vector<std::string> single = device_names(names, gpus);
  for (const std::string& name : single)
    opening.push_back(std::async(std::launch::async, [&target, &root, name, &single] {
      return open_device_in_worker(name, target, root, single.size());
    }));
  std::vector<std::unique_ptr<device::Device>> devices;
  for (auto& each : opening) devices.push_back(each.get());
  return devices;
}

std::unique_ptr<device::Device> open_emulator_in_worker(const device::DeviceProfile& profile,
                                                        std::uint64_t instructions,
                                                        const std::filesystem::path& root) {
  return open_named("emulator:" + profile.given, root, 1,
                    {"--instructions", std::to_string(instructions)});
}

std::unique_ptr<kernel::Compiler> open_nvrtc_in_worker(
    const std::vector<std::filesystem::path>& readable) {
  say_missing_limits();
  std::vector<std::string> words = {"--compile", "--memory", std::to_string(memory_of_compiler())};
  for (const std::filesystem::path& folder : readable)
    words.insert(words.end(), {"--readable", folder.string()});
  return open_remote_compiler({worker_words(words)});
}

std::vector<device::DeviceInfo> list_gpus_in_worker() {
  constexpr std::chrono::seconds kDeadline{60};
  ProcessSession session(worker_words({"--list"}));
  auto answer = session.greet(kDeadline);
  if (!answer) return {};
  auto* found = std::get_if<message::GpusFound>(&*answer);
  return found == nullptr ? std::vector<device::DeviceInfo>() : std::move(found->gpus);
}

namespace {

constexpr std::size_t kMostEmulators = 64;

// "emulator:l4*2" is two of them.
void add_emulators(const std::string& part, std::vector<std::string>& names) {
  const std::size_t star = part.rfind('*');
  const std::string_view digits = std::string_view(part).substr(star + 1);
  std::size_t count = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (!part.starts_with("emulator") || error != std::errc() ||
      rest != digits.data() + digits.size() || count < 1 || count > kMostEmulators)
    throw UserError(
        fmt::format("--device '{}': only emulators are counted, from 1 to {}, as in emulator:l4*2",
                    part, kMostEmulators));
  names.insert(names.end(), count, part.substr(0, star));
}

}  // namespace

std::vector<std::string> device_names(const std::string& names,
                                      const std::function<std::vector<std::string>()>& list_gpus) {
  std::vector<std::string> single;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string part = names.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || (part == "auto" && names != part))
      throw UserError(fmt::format(
          "--device '{}': expected auto, or devices with commas between, as in cuda:0,cuda:1",
          names));
    if (part == "cuda:all") {
      const auto gpus = list_gpus();
      if (gpus.empty())
        throw MachineError("--device cuda:all: there is no usable GPU; fa-tune doctor says why");
      single.insert(single.end(), gpus.begin(), gpus.end());
    } else if (part.find('*') != std::string::npos) {
      add_emulators(part, single);
    } else {
      single.push_back(part);
    }
  }
  for (auto name = single.begin(); name != single.end(); ++name)
    if (name->starts_with("cuda") && std::find(single.begin(), name, *name) != name)
      throw UserError(fmt::format(
          "--device '{}': {} is named twice, and two kernels on one GPU disturb each other's times",
          names, *name));
  return single;
}

}  // namespace fa_tune::worker
