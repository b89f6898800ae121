#pragma once

#include <expected>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::tuner {

// One config of one template on its way to a device: its source, its binaries (one for each set of
// the problem's defines) and the loaded kernels, which are unloaded when it goes.
class Variant {
 public:
  // `scope` gives the constants of the template's manifest for a shape. All references must outlive
  // the Variant.
  Variant(const kernel::Template& from, const problem::Problem& problem,
          std::function<Constants(const Constants& shape)> scope, Config config,
          kernel::CompilePool& pool, device::Device& device);
  ~Variant();
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;

  const Config& config() const { return config_; }
  const kernel::Source& source() const { return source_; }  // for the timed shape
  // Begins to compile the timed shape's source and returns at once, so that it compiles while other
  // trials are on the device.
  void begin();
  // The same for a shape that it will be bound at.
  void begin(const Constants& shape);
  // Whether compiled() would return at once.
  bool ready() const;
  // Waits for the compiler.
  const kernel::CompileOutcome& compiled();
  // Its launch at a shape, or why it cannot be launched there.
  std::expected<PlannedLaunch, std::string> plan(const Constants& shape) const;
  // The code hash of its binary for a shape, or that it does not compile. Waits for the compiler.
  std::string code_at(const Constants& shape);

  // What is loaded and launched at a shape. Compiles if its defines are new. The error says what
  // failed; a kernel that keeps state is not launched. The image lives as long as this.
  struct Prepared {
    const KernelImage& image;
    PlannedLaunch launch;
  };
  std::expected<Prepared, std::string> prepare(const Constants& shape);
  // The same, loaded. All code that runs kernels on a device of this process's calls this.
  std::expected<gate::BoundKernel, std::string> bind(const Constants& shape);
  gate::Binder binder();
  // For the self-test, which asks whether other checks find such a kernel too.
  void bind_even_if_it_keeps_state() { may_keep_state_ = true; }

  // Moves it to another device of the same kind. This and unload() are called on the thread that
  // owns the device where it is.
  void move_to(device::Device& device);
  void unload();

 private:
  struct Build {
    std::future<kernel::CompileOutcome> pending;
    std::optional<kernel::CompileOutcome> outcome;
    std::optional<device::KernelHandle> kernel;
  };
  using Defines = std::vector<std::pair<std::string, std::string>>;

  std::expected<Build*, std::string> sound_build(const Constants& shape);
  Build& build(const Defines& defines);
  kernel::CompileOutcome& finished(Build& build);

  const kernel::Template& template_;
  const problem::Problem& problem_;
  std::function<Constants(const Constants& shape)> scope_;
  Config config_;
  kernel::CompilePool& pool_;
  device::Device* device_;
  Defines defines_;  // for the timed shape
  kernel::Source source_;
  std::map<Defines, Build> builds_;
  bool may_keep_state_ = false;
};

}  // namespace fa_tune::tuner
