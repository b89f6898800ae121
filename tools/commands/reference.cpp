#include "tools/commands/reference.hpp"

#include "engine/gate/reference_run.hpp"
#include "engine/worker/open.hpp"

namespace fa_tune {

std::shared_ptr<ReferenceRunner> reference_beside(const Device& beside, Compiler& compiler,
                                                  const DeviceProfile& target,
                                                  const std::filesystem::path& root) {
  return make_reference_runner(
      [name = beside.info().id, target, root] { return open_device_in_worker(name, target, root); },
      [&compiler](const CompileRequest& request) { return compiler.compile(request); });
}

}  // namespace fa_tune
