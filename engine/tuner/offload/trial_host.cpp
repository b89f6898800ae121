#include "engine/tuner/offload/trial_host.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/gate/reference_run.hpp"
#include "engine/kernel/compile/compile_cache.hpp"
#include "engine/problem/problem.hpp"
#include "engine/tuner/offload/trial_messages.hpp"
#include "engine/tuner/trial/gate_and_screen.hpp"

namespace fa_tune::tuner {
namespace {

// Thrown through whoever computes what is right.
struct NotCompiled {
  kernel::CompileRequest request;
};

}  // namespace

// Reference kernels that the engine has compiled for this run.
class TrialHost::References {
 public:
  void add(CompiledReference reference) {
    const std::lock_guard lock(mutex_);
    outcomes_.insert_or_assign(key_of(reference.request), std::move(reference.outcome));
  }
  kernel::CompileOutcome compile(const kernel::CompileRequest& request) {
    const std::lock_guard lock(mutex_);
    const auto found = outcomes_.find(key_of(request));
    if (found == outcomes_.end()) throw NotCompiled{request};
    if (const auto* failure = std::get_if<kernel::CompileFailure>(&found->second))
      return std::unexpected(*failure);
    return std::get<kernel::Compiled>(found->second);
  }

 private:
  static std::string key_of(const kernel::CompileRequest& request) {
    return kernel::cache_key(request, "");
  }

  std::mutex mutex_;
  std::map<std::string, std::variant<kernel::Compiled, kernel::CompileFailure>> outcomes_;
};

// The kernel of one trial, loaded where it is needed.
class TrialHost::SentKernel {
 public:
  SentKernel(const OffloadedTrial& trial, device::Device& device)
      : trial_(trial), device_(device), loaded_(trial.images.size()) {}
  ~SentKernel() {
    for (const auto& each : loaded_)
      if (each) device_.unload(*each);
  }
  SentKernel(const SentKernel&) = delete;
  SentKernel& operator=(const SentKernel&) = delete;

  std::expected<gate::BoundKernel, std::string> bind(const Constants& shape) {
    const auto found = std::ranges::find(trial_.launches, shape, &OffloadedLaunch::shape);
    if (found == trial_.launches.end())
      throw std::runtime_error("a trial came without its launch at " + fa_tune::to_json(shape));
    if (!found->why_not.empty()) return std::unexpected(found->why_not);
    auto& kernel = loaded_.at(found->image);
    if (!kernel) {
      const auto loaded = device_.load(trial_.images[found->image]);
      if (!loaded)
        return std::unexpected(to_text(loaded.error().kind) + ": " + loaded.error().message);
      kernel = *loaded;
    }
    return gate::BoundKernel::of(*kernel, found->launch);
  }

 private:
  const OffloadedTrial& trial_;
  device::Device& device_;
  std::vector<std::optional<device::KernelHandle>> loaded_;  // by image
};

// What all devices know of one run.
class TrialHost::Run {
 public:
  Run(TrialRun told, const std::function<ProblemMaker>& make, const gate::DeviceMaker& open_beside)
      : told_(std::move(told)),
        problem_(make(told_.problem_kind, told_.problem_settings, told_.problem_place)),
        truth_(*problem_) {
    if (problem_->wants_reference())
      problem_->use_reference(gate::make_reference_runner(
          open_beside,
          [this](const kernel::CompileRequest& request) { return references_.compile(request); }));
  }

  bool is(const TrialRun& told) const { return told_ == told; }
  References& references() { return references_; }
  std::unique_ptr<GateAndScreen> stages_on(device::Device& device) {
    return std::make_unique<GateAndScreen>(*problem_, told_.roofline, device, truth_, told_.seeds);
  }

 private:
  TrialRun told_;
  References references_;
  std::unique_ptr<problem::Problem> problem_;
  gate::TruthCache truth_;
};

class TrialHost::Service final : public device::OffloadService {
 public:
  Service(TrialHost& host, device::Device& device, std::string name)
      : host_(host), device_(device), name_(std::move(name)) {}

  std::string answer(const std::string& work) override {
    auto trial = decode_trial(work);
    if (!trial) throw std::runtime_error(trial.error());
    if (trial->run) begin(*trial->run);
    if (run_ == nullptr) throw std::runtime_error("a trial of no run");
    for (CompiledReference& each : trial->references) run_->references().add(std::move(each));
    try {
      return encode(TrialAnswer(findings(*trial)));
    } catch (const NotCompiled& missing) {
      return encode(TrialAnswer(ReferenceWanted{missing.request}));
    }
  }

 private:
  void begin(const TrialRun& told) {
    stages_.reset();
    run_ = host_.run_of(told, name_);
  }

  TrialFindings findings(const OffloadedTrial& trial) {
    // It computes what is right for the timed inputs.
    if (stages_ == nullptr) stages_ = run_->stages_on(device_);
    SentKernel kernel(trial, device_);
    FinishedTrial finished;
    stages_->run([&](const Constants& shape) { return kernel.bind(shape); }, trial.images.front(),
                 finished);
    return findings_of(finished);
  }

  TrialHost& host_;
  device::Device& device_;
  std::string name_;
  std::shared_ptr<Run> run_;
  std::unique_ptr<GateAndScreen> stages_;  // of that run
};

std::unique_ptr<device::OffloadService> TrialHost::serve(device::Device& device,
                                                         const std::string& name) {
  return std::make_unique<Service>(*this, device, name);
}

std::shared_ptr<TrialHost::Run> TrialHost::run_of(const TrialRun& told, const std::string& device) {
  const std::lock_guard lock(mutex_);
  if (auto last = last_.lock(); last != nullptr && last->is(told)) return last;
  auto run =
      std::make_shared<Run>(told, make_problem_, [this, device] { return open_beside_(device); });
  last_ = run;
  return run;
}

}  // namespace fa_tune::tuner
