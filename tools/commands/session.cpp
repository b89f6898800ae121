#include "tools/commands/session.hpp"

#include "engine/gate/reference_run.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune {

Session::Session(Devices how_many, const std::string& names, const DeviceProfile& target,
                 const std::filesystem::path& root)
    : root_(root), compiler_(open_compiler()) {
  if (how_many == Devices::several)
    devices_ = open_devices_in_workers(names, target, root);
  else
    devices_.push_back(open_device_in_worker(names, target, root));
}

CompilePool& Session::pool() {
  if (!pool_) pool_.emplace(*compiler_, default_jobs());
  return *pool_;
}

std::vector<Device*> Session::devices() const {
  std::vector<Device*> all;
  for (const auto& each : devices_) all.push_back(each.get());
  return all;
}

std::shared_ptr<ReferenceRunner> Session::reference(const DeviceProfile& target) {
  return reference_beside(device(), *compiler_, target, root_);
}

void Session::give_reference(Problem& problem, const DeviceProfile& target) {
  problem.use_reference(reference(target));
}

std::shared_ptr<ReferenceRunner> reference_beside(const Device& beside, Compiler& compiler,
                                                  const DeviceProfile& target,
                                                  const std::filesystem::path& root) {
  return make_reference_runner(
      [name = beside.info().id, target, root] { return open_device_in_worker(name, target, root); },
      [&compiler](const CompileRequest& request) { return compiler.compile(request); });
}

EmulatorOpener emulator_in_worker(const std::filesystem::path& root) {
  return [root](const DeviceProfile& profile, std::uint64_t instructions) {
    return open_emulator_in_worker(profile, instructions, root);
  };
}

}  // namespace fa_tune
