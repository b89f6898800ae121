// What an emulator sees in kernels that a GPU is to vouch for, and when it looks.

#include "engine/tuner/trial/sanitizer_check.hpp"

#include <atomic>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "engine/device/local/emulated.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/evolve.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

// No form of 4-bit elements is known to the emulator (HACKING has the list).
constexpr std::string_view kUnknown =
    "  mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};\n";

// The toy's, with an instruction that the emulator does not know.
class NewerCompiler final : public Compiler {
 public:
  std::string version() const override { return inner_->version(); }
  CompileOutcome compile(const CompileRequest& request) override {
    CompileOutcome outcome = inner_->compile(request);
    if (outcome) {
      std::string& ptx = outcome->image.bytes;
      ptx.insert(ptx.find("DONE:\n") + 6, kUnknown);
    }
    return outcome;
  }

 private:
  std::unique_ptr<Compiler> inner_ = test::toy_compiler();
};

// A GPU that knows it.
class NewerGpu final : public test::MeasuringEmulator {
 public:
  explicit NewerGpu(const TuningTask& task)
      : MeasuringEmulator(open_emulator(task.target, 1), [](const KernelImage& image) {
          return 60 + static_cast<double>(image.bytes.size()) / 10000;
        }) {
    see_nothing();
  }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    KernelImage known = image;
    if (const auto at = known.bytes.find(kUnknown); at != std::string::npos)
      known.bytes.erase(at, kUnknown.size());
    return MeasuringEmulator::load(known);
  }
};

// A template with a fault planted in its source.
Template with_change(const Template& sound, const std::string& from, const std::string& to) {
  return Template::parse(sound.name(), sound.manifest_text(),
                         test::replace(sound.cuda_text(), {{from, to}}), "planted.yaml");
}

// Counts who is at work.
class Counted final : public test::ForwardingDevice {
 public:
  Counted(std::unique_ptr<Device> inner, std::atomic<int>& at_work)
      : ForwardingDevice(std::move(inner)), at_work_(at_work) {
    ++at_work_;
  }
  ~Counted() override { --at_work_; }

 private:
  std::atomic<int>& at_work_;
};

// An emulator whose process ends with the first launch.
class Dying final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::span<const Fault> deaths() const override { return deaths_; }
  std::expected<void, Fault> launch(const Launch&) override {
    deaths_.push_back({FaultKind::died, "launch: the process is over"});
    return std::unexpected(deaths_.back());
  }

 private:
  std::vector<Fault> deaths_;
};

SanitizerResult sanitize(Compiler& compiler, const EmulatorOpener& open,
                         std::uint64_t instructions) {
  const TuningTask task = test::toy_project();
  const NewerGpu gpu(task);
  CompilePool pool(compiler, 1);
  SanitizerCheck check(task, gpu, pool, open, 1, instructions);
  return check.start(task.templates[0], task.space.presets()[0].config).get();
}

std::unique_ptr<Device> plain(const DeviceProfile& profile, std::uint64_t instructions) {
  return open_emulator(profile, 1, instructions);
}

}  // namespace

TEST_CASE("what the emulator does not know is nothing against a kernel that a GPU runs") {
  NewerCompiler newer;
  const SanitizerResult result = sanitize(newer, plain, SanitizerCheck::kInstructions);
  CHECK_FALSE(result.rejection);
  CHECK(result.cases == 0);
  CHECK_MESSAGE(test::has(result.text(), "not checked: unknown_instruction"), result.text());
  const auto known = test::toy_compiler();
  const SanitizerResult all = sanitize(*known, plain, SanitizerCheck::kInstructions);
  CHECK_FALSE(all.rejection);
  CHECK(all.text() == "all 6 cases");
}

TEST_CASE("how far a look goes depends on instructions, and it says how far") {
  const auto compiler = test::toy_compiler();
  const SanitizerResult none = sanitize(*compiler, plain, 10);
  CHECK_FALSE(none.rejection);
  CHECK_MESSAGE(test::has(none.text(), "not checked: unfinished"), none.text());
  // A launch of the first case, of 33 elements, takes some 2,700; there are three and one changed.
  const SanitizerResult some = sanitize(*compiler, plain, 20'000);
  CHECK_FALSE(some.rejection);
  CHECK(some.cases > 0);
  CHECK_MESSAGE(test::has(some.text(), " of 6 cases: unfinished"), some.text());
  CHECK(sanitize(*compiler, plain, 20'000).text() == some.text());
}

TEST_CASE("an emulator's process that dies says nothing of the kernel; it is asked once more") {
  const auto compiler = test::toy_compiler();
  int opened = 0;
  const EmulatorOpener dying = [&](const DeviceProfile& profile, std::uint64_t instructions) {
    ++opened;
    return std::make_unique<Dying>(open_emulator(profile, 1, instructions));
  };
  const SanitizerResult result = sanitize(*compiler, dying, SanitizerCheck::kInstructions);
  CHECK_FALSE(result.rejection);
  CHECK(result.text() == "not checked: the emulator's process died");
  CHECK(opened == 2);
  opened = 0;
  const EmulatorOpener once = [&](const DeviceProfile& profile, std::uint64_t instructions) {
    if (++opened > 1) return plain(profile, instructions);
    return std::unique_ptr<Device>(std::make_unique<Dying>(plain(profile, instructions)));
  };
  CHECK(sanitize(*compiler, once, SanitizerCheck::kInstructions).text() == "all 6 cases");
}

TEST_CASE("finals keep what was checked, and nothing is checked while a clock runs") {
  const test::ScratchFolder folder(test::memory_folder());
  for (const bool known : {true, false}) {
    Store store(folder / (known ? "known.db" : "newer.db"), Store::Mode::write);
    const TuningTask task = test::toy_project();
    NewerGpu gpu(task);
    NewerCompiler newer;
    const auto toys = test::toy_compiler();
    std::atomic<int> at_work{0};
    std::atomic<int> looks{0};
    EvolveOptions options;
    options.trials = 24;
    options.seed = 3;
    options.emulator = [&](const DeviceProfile& profile, std::uint64_t instructions) {
      ++looks;
      return std::make_unique<Counted>(plain(profile, instructions), at_work);
    };
    int beside = 0;
    gpu.dies = [&](double, const TimingPlan&) {
      beside += at_work;
      return false;
    };
    test::QuietListener listener;
    const std::atomic<bool> stop{false};
    const auto result = evolve(task, gpu, known ? *toys : newer, store, options, listener, stop);
    const auto rows = store.finals(result.run);
    REQUIRE(rows.size() >= 4);
    CHECK(looks >= static_cast<int>(rows.size()));
    CHECK(beside == 0);
    for (const FinalRow& row : rows) {
      const auto sanitizer = nlohmann::json::parse(row.detail_json).at("sanitizer");
      if (known)
        CHECK(sanitizer == "all 6 cases");
      else
        CHECK(test::has(sanitizer.get<std::string>(), "not checked: unknown_instruction"));
    }
  }
}

TEST_CASE("a race between the stages of a pipeline is seen in the shipped GEMM") {
  const TuningTask task =
      test::task("gemm.yaml", {{"{m: 4096, n: 4096, k: 4096}", "{m: 130, n: 72, k: 200}"}});
  const Config config = Config::from_json(
      R"({"template":"mma","BLOCK_M":64,"BLOCK_N":64,"DEPTH":32,"WARPS_M":2,"WARPS_N":2,"STAGES":3,"GROUP":2})");
  const Template& sound = task.template_of(config);
  const Template racy =
      with_change(sound, "    __syncthreads();\n    begin_step(step + STAGES - 1);",
                  "    begin_step(step + STAGES - 1);\n    __syncthreads();");
  NewerGpu gpu(task);
  CompilePool pool(test::cached_nvrtc(), 2);
  for (std::uint64_t seed = 1; seed <= (thorough() ? 8 : 3); ++seed) {
    SanitizerCheck check(task, gpu, pool, plain, seed);
    const SanitizerResult result = check.start(racy, config).get();
    CHECK_MESSAGE(result.rejection, result.text());
  }
}

TEST_CASE("a barrier that only a block with keys passes is seen") {
  const TuningTask task = open_task(
      with_settings(load_space_file("ladder", test::root()),
                    {"shape.H=2", "shape.L=96", "causal=true", "causal_alignment=bottom_right"}),
      test::root());
  const Config config = Config::from_json(
      R"({"template":"wmma","BLOCK_M":32,"BLOCK_N":32,"WARPS":4,"PV":"wmma","COPY":"producer",)"
      R"("STAGES":2,"LAYOUT":"fragments","EPILOGUE":"fused","PERSISTENT":false,"L2_HINT":"none"})");
  const Template& sound = task.template_of(config);
  const Template racy = with_change(sound, "    if (first_tile >= end_tile) __syncthreads();", "");
  NewerGpu gpu(task);
  CompilePool pool(test::cached_nvrtc(), 2);
  for (std::uint64_t seed = 1; seed <= (thorough() ? 4 : 2); ++seed) {
    SanitizerCheck check(task, gpu, pool, plain, seed);
    const SanitizerResult wrong = check.start(racy, config).get();
    CHECK_MESSAGE(wrong.rejection, wrong.text());
    const SanitizerResult right = check.start(sound, config).get();
    CHECK_MESSAGE((right.whole() && !right.rejection), right.text());
  }
}

}  // namespace fa_tune::test
