#include "tools/commands/session.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "engine/gate/reference_run.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {

Session::Session(Devices how_many, const std::string& names, const device::DeviceProfile& target,
                 const std::filesystem::path& root, std::unique_ptr<kernel::Compiler> compiler)
    : root_(root), compiler_(std::move(compiler)) {
  if (how_many == Devices::several) devices_ = worker::open_devices_in_workers(names, target, root);
  if (how_many == Devices::one)
    devices_.push_back(worker::open_device_in_worker(names, target, root));
}

kernel::CompilePool& Session::pool() {
  if (!pool_) pool_.emplace(*compiler_, default_jobs());
  return *pool_;
}

std::vector<device::Device*> Session::devices() const {
  std::vector<device::Device*> all;
  for (const auto& each : devices_) all.push_back(each.get());
  all.insert(all.end(), others_.begin(), others_.end());
  return all;
}

void Session::add(const std::vector<device::Device*>& devices) {
  others_.insert(others_.end(), devices.begin(), devices.end());
}

std::shared_ptr<problem::ReferenceRunner> Session::reference(const device::DeviceProfile& target) {
  return reference_beside(device(), *compiler_, target, root_);
}

void Session::give_reference(problem::Problem& problem, const device::DeviceProfile& target,
                             const std::atomic<bool>* stop) {
  problem.use_reference(reference_beside(device(), *compiler_, target, root_, stop));
}

std::shared_ptr<problem::ReferenceRunner> reference_beside(const device::Device& beside,
                                                           kernel::Compiler& compiler,
                                                           const device::DeviceProfile& target,
                                                           const std::filesystem::path& root,
                                                           const std::atomic<bool>* stop) {
  return gate::make_reference_runner(
      [name = beside.info().id, target, root] {
        return worker::open_device_in_worker(name, target, root);
      },
      [&compiler](const kernel::CompileRequest& request) { return compiler.compile(request); },
      stop);
}

namespace {

constexpr std::string_view kEmulator = "emulator:";

space::SpaceFile for_emulator(const space::SpaceFile& file, const std::string& name,
                              const std::filesystem::path& root) {
  const std::string rest = name.substr(kEmulator.size());
  const auto profile = device::load_profile(rest.substr(0, rest.find_first_of("*,")), root);
  log_info("the target is {}", profile.title);
  return space::with_target(file, profile.name);
}

space::SpaceFile for_gpu(const space::SpaceFile& file, const device::DeviceInfo& gpu,
                         const std::filesystem::path& root) {
  const auto profile = device::profile_of_device(gpu.name, gpu.arch, gpu.sms, root);
  if (!profile)
    throw UserError(
        fmt::format("{}target: auto: no profile of search_spaces/devices is for {} ({})",
                    prefix(file.target_mark), gpu.name, gpu.arch));
  log_info("the target is {}, for {}", profile->title, gpu.name);
  return space::with_target(file, profile->name);
}

}  // namespace

space::SpaceFile for_device(const space::SpaceFile& file, const std::string& names,
                            const std::filesystem::path& root) {
  if (file.target != space::kAutoTarget) return file;
  if (names.starts_with(kEmulator)) return for_emulator(file, names, root);
  const auto gpus = worker::list_gpus_in_worker();
  const std::string first = names.substr(0, names.find(','));
  const bool any = first == "auto" || first == "cuda:all";
  const auto gpu = std::ranges::find_if(
      gpus, [&](const device::DeviceInfo& each) { return any || each.id == first; });
  if (gpu == gpus.end())
    throw UserError(
        fmt::format("{}target: auto takes the GPU that is there, and there is none: "
                    "--device emulator:PROFILE chooses one",
                    prefix(file.target_mark)));
  return for_gpu(file, *gpu, root);
}

space::SpaceFile for_opened_device(const space::SpaceFile& file, const device::DeviceInfo& info,
                                   const std::filesystem::path& root) {
  if (file.target != space::kAutoTarget) return file;
  const std::string name(device::id_on_node(info.id));
  return name.starts_with(kEmulator) ? for_emulator(file, name, root) : for_gpu(file, info, root);
}

tuner::EmulatorOpener emulator_in_worker(const std::filesystem::path& root) {
  return [root](const device::DeviceProfile& profile, std::uint64_t instructions) {
    return worker::open_emulator_in_worker(profile, instructions, root);
  };
}

}  // namespace fa_tune::commands
