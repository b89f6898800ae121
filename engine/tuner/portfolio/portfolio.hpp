#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/portfolio/set_cover.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune {

// How fast a kernel is at a shape, and where that is known from. All are times of one kind: what
// screens say, at the clock of the target's profile where the GPU's is known (us_at_clock), so that
// a published figure never stands beside one that was only screened. Screens of different moments
// wander by a percent or two all the same: on a GPU they say who is raced, and races decide.
struct PortfolioTime {
  enum class From { nothing, recorded, now };
  From from = From::nothing;
  // Of several recorded screens the median, and the ends of all their intervals. None with a From:
  // it is refused there.
  std::optional<ScreenTime> time;
  // Of its shape's race, if it was in one: its time over that of the fastest there.
  std::optional<Interval> ratio;

  std::optional<double> us() const { return time ? std::optional(time->us.value) : std::nullopt; }
};

struct PortfolioShape {
  TuningTask task;
  std::string described;
};

// A config, by the fastest trial that has it.
struct PortfolioKernel {
  std::int64_t trial = 0;
  Config config;
};

// Kernels beside shapes, on one device. A kernel is a config of a space's templates: for shapes
// with other defines (another D, a mask) it is compiled anew.
class PortfolioField {
 public:
  struct Wishes {
    TrialFilter filter;               // what to choose from
    std::size_t candidates = 5;       // the fastest so many trials of each shape
    std::vector<std::string> shapes;  // more, each "shape.L=4096,causal=true" from the newest run
    bool all_anew = false;            // no recorded time counts
  };
  // Throws UserError where nothing answers to the wishes, or trials of several devices or problems.
  PortfolioField(const Store& store, const Wishes& wishes, const std::filesystem::path& root);

  const std::vector<PortfolioShape>& shapes() const { return shapes_; }
  const std::vector<PortfolioKernel>& kernels() const { return kernels_; }
  const PortfolioTime& time(std::size_t kernel, std::size_t shape) const {
    return times_[kernel][shape];
  }
  const RunRow& run() const { return run_; }  // the newest: its device, its kind of time

  // Pairs whose time is not known.
  std::size_t missing() const;
  // Takes all of these through a trial's stages: what is refused in one of them serves no such
  // shape. Returns how many were timed. The device must be of run()'s name.
  std::size_t measure(Device& device, CompilePool& pool, std::uint64_t seed);

  // What screens of one kernel may differ by: whoever is further behind the best of a shape than
  // `within` and this need not be raced there.
  static constexpr double kWander = 0.03;
  static constexpr std::size_t kMostInRace = 12;

  // On a device that measures, which must be of run()'s name: at each shape one race of the kernels
  // that may be `within` of the best, as finals hold it (race_finalists). Who is refused in it
  // serves no such shape. A shape whose race said nothing keeps its screens. `done` is told how
  // many shapes are over.
  void race(Device& device, CompilePool& pool, double within, std::uint64_t seed,
            const std::function<void(std::size_t done)>& done);
  bool raced(std::size_t shape) const { return raced_[shape]; }

  // The best time of a shape; nothing if no kernel is right there.
  std::optional<double> best_us(std::size_t shape) const;
  // Its time over that of the fastest: by the race where there was one. Nothing where it is not
  // right, or was not near enough to be raced.
  std::optional<double> over_best(std::size_t kernel, std::size_t shape) const;
  // Costs for fewest_cover: logarithms of times over the best, of those `within` (0.02) of it.
  // Throws UserError where a shape has no kernel at all.
  Costs costs(double within) const;

 private:
  void take_shape(TuningTask task);
  void take_recorded(const Store& store, const Wishes& wishes);
  void rule_out();

  RunRow run_;
  std::filesystem::path root_;
  std::vector<PortfolioShape> shapes_;
  std::vector<PortfolioKernel> kernels_;
  std::vector<std::vector<PortfolioTime>> times_;
  std::vector<bool> raced_;  // by shape
};

}  // namespace fa_tune
