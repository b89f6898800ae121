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

namespace fa_tune {

// One config of one template on its way to a device: its source, its binaries (one for each set of
// the problem's defines) and the loaded kernels, which are unloaded when it goes.
class Variant {
 public:
  // `scope` gives the constants of the template's manifest for a shape. All references must outlive
  // the Variant.
  Variant(const Template& from, const Problem& problem,
          std::function<Constants(const Constants& shape)> scope, Config config, CompilePool& pool,
          Device& device);
  ~Variant();
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;

  const Config& config() const { return config_; }
  const Source& source() const { return source_; }  // for the timed shape
  // Hands the timed shape's source to the compiler and returns, so that it is compiled while other
  // trials are at the device.
  void begin();
  // The same for a shape that it will be bound at.
  void begin(const Constants& shape);
  // Whether compiled() would not wait for what begin() began.
  bool ready() const;
  // Waits for the compiler.
  const CompileOutcome& compiled();
  // What it is launched with at a shape, or why it cannot be.
  std::expected<PlannedLaunch, std::string> plan(const Constants& shape) const;
  // What is compiled for a shape: its code hash, or that it does not compile. Waits for the
  // compiler.
  std::string code_at(const Constants& shape);

  // Compiles (if its defines are new), loads and describes the launch for a shape. The message says
  // which of these failed. A kernel that keeps state is not bound: all that runs kernels comes by
  // here.
  std::expected<BoundKernel, std::string> bind(const Constants& shape);
  Binder binder();
  // For who asks what else gives such a kernel away.
  void bind_even_if_it_keeps_state() { may_keep_state_ = true; }

  // Goes on at another device of the same kind. To be called, as unload() is, on the thread that
  // owns the device which it is at.
  void move_to(Device& device);
  void unload();

 private:
  struct Build {
    std::future<CompileOutcome> pending;
    std::optional<CompileOutcome> outcome;
    std::optional<KernelHandle> kernel;
  };
  using Defines = std::vector<std::pair<std::string, std::string>>;

  Build& build(const Defines& defines);
  CompileOutcome& finished(Build& build);

  const Template& template_;
  const Problem& problem_;
  std::function<Constants(const Constants& shape)> scope_;
  Config config_;
  CompilePool& pool_;
  Device* device_;
  Source source_;
  std::map<Defines, Build> builds_;
  bool may_keep_state_ = false;
};

}  // namespace fa_tune
