#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/gate/timed_launch.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"

// Parts of bench_clock: a list of random variants, their measured times, their predicted ones, and
// how well the two agree. They meet in JSON files only, so that each can run on another machine.

namespace fa_tune::bench {

using Json = nlohmann::ordered_json;

// Of attention B, H, Lq = Lk, D: "1,8,512,64" or "1,8,512,64,bf16,causal". Of any problem what
// `evolve --set` takes: "sizes.m=512,sizes.n=512", also behind a shape of attention.
struct ShapeName {
  std::string text;
  // The space's task at this shape. Throws UserError.
  tuner::TuningTask open(const std::string& space) const;
};

// A device with one problem's data on it, ready to launch any variant.
class Workplace {
 public:
  Workplace(const tuner::TuningTask& task, device::Device& device);

  // The launch of a loaded kernel. Valid while this object lives.
  device::Launch launch(const Config& config, device::KernelHandle kernel);

 private:
  const tuner::TuningTask& task_;
  device::Device& device_;
  problem::Instance instance_;
  std::unique_ptr<gate::TimedLaunch>
      data_;  // made for the first variant; all take the same arguments
  std::vector<std::string> names_;
  std::vector<MappedTensor> maps_;
};

struct MeasureOptions {
  std::string space;
  std::string device;
  int count = 0;
  std::uint64_t seed = 0;
  ShapeName shape;
  std::string template_name;       // only variants of it; empty: of any
  std::vector<std::string> genes;  // only variants with these: "TENSOR_COPY=true"
  int sms = 0;                     // how many SMs of a GPU to use; 0: all
  int threads = 2;                 // that compile
  std::string cache;               // a folder of compiled variants; empty: none
  double limit_ms = 20;            // a variant that needs longer for one launch is skipped
};

struct LaunchOptions {
  std::string device;
  std::size_t every = 1;  // each such row, from the fastest on
  int threads = 2;        // that compile
};

// Screened times that attention/grid.py has left behind.
struct RecordedOptions {
  std::string folder;
  std::string space = "h100.yaml";
  std::string template_name = "wgmma";
  std::size_t per_cell = 0;  // of a file's cell, spread from the fastest to the slowest; 0: all
};

struct PredictOptions {
  std::string device;
  int threads = 2;
  std::string cache;
};

Json measure_variants(const MeasureOptions& options);
// Launches rows of a measured file for a profiler to look at, each once; no times are taken.
void launch_variants(const Json& measured, const LaunchOptions& options);
// When, and on which SM, the CTAs of such rows' kernels began and ended. What a kernel notes of that
// makes it slower, so median_us is that of the measured file. Prints a line a kernel.
Json ctas_of_variants(const Json& measured, const LaunchOptions& options);
// A kernel's row of that, from four words of each CTA: its SM's clock when it began and when it
// ended, the SM, and the GPU's time when it ended. "ctas_per_sm": SMs by the number of CTAs they ran;
// "last_sm": of the one that ended last, its clocks from its first CTA's begin to its last one's
// end, also as a multiple of the mean of all SMs that ran any; "ctas_of_the_last": begin and end of
// its CTAs, in clocks since the first.
Json cta_row(std::span<const std::uint64_t> words);
// The same list from files of attention/grid.py. Each row has its own shape, its flop, and the half
// that it belongs to: constants may be set on "set" (L 512, 2048, 8192), and never on "others".
Json recorded_variants(const RecordedOptions& options);
// The rows of `measured`, each with predicted_us and the model's detail, or not_modelled: why not.
// Rows of older kernels that the templates no longer have are left out and counted.
Json predict_variants(const Json& measured, const PredictOptions& options);
// Figures that say how well predicted_us ranks median_us, and a line for a person. Of rows with a
// shape of their own, by half, and times are taken a flop.
Json score_variants(const Json& predicted);
std::string describe_score(const Json& score);

// From files of predict_variants: for each kind of kernel the errors that predictions are shown
// with (engine/device/emulator/prediction/recorded_errors.hpp), and how well these hold for kernels of
// a shape, or with a gene's value, that they were computed without.
// `held_out`: files of kernels that it is computed without, to see how many of them lie inside.
Json interval_table(const std::vector<std::string>& files,
                    const std::vector<std::string>& held_out);
// The same as recorded_errors.inc has it, and as a table for a person in Markdown.
std::string interval_code(const Json& table);
std::string describe_interval(const Json& table);

// Each `every`th row, from the fastest on.
std::vector<Json> chosen_rows(const Json& measured, std::size_t every);
// NVRTC, through a cache in `folder` if one is named.
std::unique_ptr<kernel::Compiler> compiler_with(const std::string& folder);
kernel::CompileRequest request_of(const tuner::TuningTask& task, const Config& config,
                                  const device::DeviceInfo& device);

}  // namespace fa_tune::bench
