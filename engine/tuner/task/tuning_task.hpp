#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/profile.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"
#include "engine/space_file/space_file.hpp"

namespace fa_tune::device {
class Device;
}  // namespace fa_tune::device

namespace fa_tune::kernel {
class CompilePool;
}  // namespace fa_tune::kernel

namespace fa_tune::tuner {

class Variant;

// The constants that expressions of a manifest may use at `shape`, which is complete
// (Problem::complete): "device.*" of the target and "problem.*".
Constants scope_of(const device::DeviceProfile& target, const Constants& shape);

// A space joined with what it names: the target's limits, the problem, the templates.
struct TuningTask {
  std::filesystem::path root;  // of what the space names
  space::SpaceFile file;
  device::DeviceProfile target;
  std::unique_ptr<problem::Problem> problem;
  std::vector<kernel::Template> templates;
  space::Space space;

  // The template a config chose.
  const kernel::Template& template_of(const Config& config) const;
  Constants scope(const Constants& shape) const;
  // A line for each parameter of a template that neither its source nor its launch names. Such a
  // parameter makes the same kernel again and again.
  std::vector<std::string> idle_parameters() const;
};

// Joins a parsed space file. Throws UserError with the place in the file for whatever is missing or
// does not fit: an unknown target or problem, a template that is not there, that solves another
// problem, or that wants a parameter the space lacks. A problem that wants a reference gets none
// here: the caller that needs expected results says where it runs (Problem::use_reference).
TuningTask open_task(space::SpaceFile file, const std::filesystem::path& root);
// The space that a run was begun with. It is read from the run's row, not from files.
space::SpaceFile stored_space(const db::RunRow& run);
TuningTask open_stored_task(const db::RunRow& run, const std::filesystem::path& root);

// A config's kernel on its way to a device. All must outlive it.
std::unique_ptr<Variant> make_variant(const TuningTask& task, const Config& config,
                                      kernel::CompilePool& pool, device::Device& device);
// The same for a template that is not one of the task's, such as one with a planted fault.
std::unique_ptr<Variant> make_variant(const TuningTask& task, const kernel::Template& from,
                                      const Config& config, kernel::CompilePool& pool,
                                      device::Device& device);

}  // namespace fa_tune::tuner
