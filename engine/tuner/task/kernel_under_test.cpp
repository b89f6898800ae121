#include "engine/tuner/task/kernel_under_test.hpp"

#include <charconv>

#include <fmt/core.h>

#include "db/store.hpp"
#include "engine/report/export.hpp"
#include "engine/tuner/task/exported_kernel.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"

namespace fa_tune::tuner {
namespace {

class FileUnderTest final : public KernelUnderTest {
 public:
  FileUnderTest(const std::string& file, report::Exported exported,
                const std::filesystem::path& root)
      : KernelUnderTest(file),
        exported_(std::move(exported)),
        problem_(make_problem(exported_.problem, exported_.settings, file + ": ")),
        target_(device::load_profile(exported_.target, root)) {}

  const problem::Problem& problem() const override { return *problem_; }
  void use_reference(const std::shared_ptr<problem::ReferenceRunner>& runner) override {
    problem_->use_reference(runner);
  }
  const device::DeviceProfile& target() const override { return target_; }
  gate::Binder on(device::Device& device, kernel::Compiler& compiler,
                  kernel::CompilePool&) override {
    kernel_.emplace(exported_, *problem_, target_, compiler, device);
    return [this](const Constants& shape) { return kernel_->bind(shape); };
  }
  bool fits(const Constants& shape) const override { return kernel_->fits(shape); }
  KernelResources resources() override {
    return kernel_ ? kernel_->resources() : KernelResources();
  }

 private:
  report::Exported exported_;
  std::unique_ptr<problem::Problem> problem_;
  device::DeviceProfile target_;
  std::optional<ExportedKernel> kernel_;
};

class ConfigUnderTest final : public KernelUnderTest {
 public:
  ConfigUnderTest(const std::string& name, TuningTask task, Config config)
      : KernelUnderTest(name), task_(std::move(task)), config_(std::move(config)) {}

  const problem::Problem& problem() const override { return *task_.problem; }
  void use_reference(const std::shared_ptr<problem::ReferenceRunner>& runner) override {
    task_.problem->use_reference(runner);
  }
  const device::DeviceProfile& target() const override { return task_.target; }
  gate::Binder on(device::Device& device, kernel::Compiler&, kernel::CompilePool& pool) override {
    variant_ = make_variant(task_, config_, pool, device);
    variant_->begin();
    return variant_->binder();
  }
  bool fits(const Constants&) const override { return true; }
  KernelResources resources() override {
    if (!variant_) return {};
    const kernel::CompileOutcome& compiled = variant_->compiled();
    return compiled ? most_of(compiled->image) : KernelResources();
  }

 private:
  TuningTask task_;
  Config config_;
  std::unique_ptr<Variant> variant_;
};

// All of `text` as a number from 1.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::unique_ptr<KernelUnderTest> of_trial(const std::string& text, const KernelPlaces& places) {
  const db::Store store(places.db, db::Store::Mode::read);
  const std::size_t colon = text.find(':');
  const auto trial = colon == std::string::npos
                         ? store.trial(*number(text))
                         : store.trial(*number(std::string_view(text).substr(0, colon)),
                                       *number(std::string_view(text).substr(colon + 1)));
  if (!trial) throw UserError(fmt::format("{}: there is no trial {}", places.db.string(), text));
  const auto run = store.run(trial->run);
  return std::make_unique<ConfigUnderTest>("trial " + text, open_stored_task(*run, places.root),
                                           Config::from_json(trial->config_json));
}

bool names_trial(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return number(text).has_value();
  return number(std::string_view(text).substr(0, colon)).has_value() &&
         number(std::string_view(text).substr(colon + 1)).has_value();
}

}  // namespace

std::unique_ptr<KernelUnderTest> open_kernel(const std::string& text, const KernelPlaces& places) {
  if (text.ends_with(".cu"))
    return kernel_of_export(text, read_file(text, kExportedFile), places.root);
  if (names_trial(text)) return of_trial(text, places);
  std::string known;
  if (places.space) {
    TuningTask task = open_task(space::load_space_file(*places.space, places.root), places.root);
    if (const space::Preset* preset = task.space.preset(text)) {
      const Config config = preset->config;
      return std::make_unique<ConfigUnderTest>("preset " + text, std::move(task), config);
    }
    for (const auto* presets : {&task.space.presets(), &task.space.known_best()})
      for (const space::Preset& preset : *presets)
        known += (known.empty() ? "" : ", ") + preset.name;
  }
  throw UserError(fmt::format(
      "'{}' names no kernel: write an exported .cu file, a trial's ID, RUN:NUMBER{}", text,
      places.space ? ", or a preset of the space: " + known
                   : ", or with --space one of its presets"));
}

std::unique_ptr<KernelUnderTest> kernel_of_export(const std::string& name, const std::string& text,
                                                  const std::filesystem::path& root) {
  return std::make_unique<FileUnderTest>(name, report::parse_exported(text, name), root);
}

}  // namespace fa_tune::tuner
