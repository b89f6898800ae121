#include "tools/commands/session.hpp"

#include "engine/gate/reference_run.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {

Session::Session(Devices how_many, const std::string& names, const device::DeviceProfile& target,
                 const std::filesystem::path& root)
    : root_(root), compiler_(open_compiler()) {
  if (how_many == Devices::several)
    devices_ = worker::open_devices_in_workers(names, target, root);
  else
    devices_.push_back(worker::open_device_in_worker(names, target, root));
}

kernel::CompilePool& Session::pool() {
  if (!pool_) pool_.emplace(*compiler_, default_jobs());
  return *pool_;
}

std::vector<device::Device*> Session::devices() const {
  std::vector<device::Device*> all;
  for (const auto& each : devices_) all.push_back(each.get());
  return all;
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

tuner::EmulatorOpener emulator_in_worker(const std::filesystem::path& root) {
  return [root](const device::DeviceProfile& profile, std::uint64_t instructions) {
    return worker::open_emulator_in_worker(profile, instructions, root);
  };
}

}  // namespace fa_tune::commands
