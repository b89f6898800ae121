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

namespace fa_tune::tuner {

// The time of a kernel at a shape, and how it is known. All times are of screens, at the clock of
// the target's profile where the GPU's clock is known (us_at_clock), so that a published figure
// never stands beside one that was only screened. Screens of different moments still wander by a
// percent or two. So on a GPU they only choose which kernels race, and races decide.
struct PortfolioTime {
  enum class From { nothing, recorded, now };
  From from = From::nothing;
  // The median of several recorded screens, with the ends of all their intervals. If `from` is set
  // and there is no time, the kernel failed at this shape.
  std::optional<db::ScreenTime> time;
  // Its time over that of the fastest in its shape's race, if it was in one.
  std::optional<Interval> ratio;

  std::optional<double> us() const { return time ? std::optional(time->us.value) : std::nullopt; }
};

struct PortfolioShape {
  TuningTask task;
  std::string described;
  bool drawn = false;  // to learn from: the choice is not for it, and it is not raced
};

// A config, by the fastest trial that has it.
struct PortfolioKernel {
  std::int64_t trial = 0;
  Config config;
};

// The times of some kernels at some shapes, on one device. A kernel is a config of a space's
// templates: for shapes with other defines (another D, a mask) it is compiled anew.
class PortfolioField {
 public:
  static constexpr std::size_t kCandidates = 8;
  struct Wishes {
    db::TrialFilter filter = {};           // what to choose from
    std::size_t candidates = kCandidates;  // of each shape: the first of candidates_in_order
    std::vector<std::string> shapes = {};  // further ones, "shape.L=4096,causal=true"
    bool all_anew = false;                 // no recorded time counts
    // Drawn within the range of all others (drawn_shapes.hpp); nothing: 96 where times are measured,
    // since an emulator takes seconds for what a GPU does in milliseconds.
    std::optional<std::size_t> drawn = 0;
    std::uint64_t seed = 0;  // of these
  };
  // Throws UserError if no trial fits the wishes, or if they are of several devices or problems.
  PortfolioField(const db::Store& store, const Wishes& wishes, const std::filesystem::path& root);

  const std::vector<PortfolioShape>& shapes() const { return shapes_; }
  // One more, as Wishes::shapes says it, which does not become part of the field.
  TuningTask task_at(const std::string& changes) const;
  // The space for each of some shapes within the range of those that are not drawn
  // (drawn_shapes.hpp); one at which `take` throws UserError is left out.
  void each_drawn(std::size_t count, std::uint64_t seed,
                  const std::function<void(space::SpaceFile)>& take) const;
  const std::vector<PortfolioKernel>& kernels() const { return kernels_; }
  const PortfolioTime& time(std::size_t kernel, std::size_t shape) const {
    return times_[kernel][shape];
  }
  const db::RunRow& run() const { return run_; }  // the newest: its device, its kind of time

  // What is known of a pair from elsewhere: its time in microseconds, or nothing where the kernel
  // failed. Of pairs that are not in the field, or known already, nothing is taken.
  void take_known(const Config& config, const Constants& shape, std::optional<double> us);
  // Pairs whose time is not known.
  std::size_t missing() const;
  // Takes all missing pairs through a trial's stages; at drawn shapes, which are only to learn
  // from, through all but the gate. A kernel that fails in one of them does not serve that shape.
  // Returns how many were timed. All devices must be of run()'s name; each takes shape after shape,
  // so that what is compared was timed on one. `done` gets the number of shapes that are over, from
  // one thread at a time.
  std::size_t measure(
      const std::vector<device::Device*>& devices, kernel::CompilePool& pool, std::uint64_t seed,
      const std::function<void(std::size_t done)>& done = [](std::size_t) {});

  // How far screens of one kernel may differ. A kernel that is further behind the best of a shape
  // than `within` and this is not raced there.
  static constexpr double kWander = 0.03;
  static constexpr std::size_t kMostInRace = 12;

  // Races, at each shape that is not drawn, the kernels that may be `within` of the best, as finals do
  // (race_finalists). For a device that measures, which must be of run()'s name. A kernel that
  // fails in a race does not serve that shape. A shape whose race said nothing keeps its screens.
  // `done` gets the number of shapes that are over.
  void race(device::Device& device, kernel::CompilePool& pool, double within, std::uint64_t seed,
            const std::function<void(std::size_t done)>& done);
  bool raced(std::size_t shape) const { return raced_[shape]; }

  // The best time of a shape; nothing if no kernel passed there.
  std::optional<double> best_us(std::size_t shape) const;
  // A kernel's time over that of the fastest, by the race if there was one. Nothing if it failed,
  // or if it was too far behind to be raced.
  std::optional<double> over_best(std::size_t kernel, std::size_t shape) const;
  // From now on the kernel does not serve that shape, and the best is that of the others.
  void exclude(std::size_t kernel, std::size_t shape);
  // Costs for fewest_cover, of the shapes that are not drawn, which come first: logarithms of times
  // over the best, for kernels `within` (0.02) of it.
  // Throws UserError if a shape has no kernel at all.
  Costs costs(double within) const;

 private:
  // In shapes_ and in kernels_.
  std::optional<std::size_t> place_of(const Constants& shape) const;
  std::optional<std::size_t> place_of(const Config& config) const;
  void take_shape(TuningTask task, bool drawn = false);
  void take_recorded(const db::Store& store, const Wishes& wishes);
  void take_candidates(const TuningTask& task, const std::vector<const db::TrialRow*>& trials,
                       std::size_t count);
  void rule_out();
  // Of one shape.
  std::size_t measure_at(std::size_t shape, device::Device& device, kernel::CompilePool& pool,
                         std::uint64_t seed);

  db::RunRow run_;
  std::filesystem::path root_;
  std::vector<PortfolioShape> shapes_;
  std::vector<PortfolioKernel> kernels_;
  std::vector<std::vector<PortfolioTime>> times_;
  std::vector<bool> raced_;  // by shape
};

}  // namespace fa_tune::tuner
