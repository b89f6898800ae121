#include "engine/tuner/trial/memory_proof.hpp"

#include <algorithm>
#include <cmath>
#include <expected>

#include <fmt/core.h>

#include "engine/measure/timing.hpp"

namespace fa_tune::tuner {
namespace {

constexpr double kFreeShare = 0.05;  // of a launch's time
constexpr double kFreeUs = 0.2;
// Of a single launch between two events, which tell no less.
constexpr double kFreeUsOfOne = 0.5;
// A prediction has no noise.
constexpr double kPredictedShare = 0.01;
// The clock of a GPU may fall by as much between two timings, where nobody tells it.
constexpr double kDrift = 0.1;

// Samples are shorter than those of a time that is to be compared with others: 5% are to be seen,
// and every trial pays for two of these looks.
constexpr double kSampleUs = 50;
constexpr int kMostLaunches = 25;
// A sample of this many launches evens out what disturbs one of them.
constexpr int kManyLaunches = 8;
constexpr int kLooks = 3;
// Of single launches the least of many says what a few long samples say.
constexpr int kSingleLaunches = 25;
// What happens beside a launch moves one of so long by less than the margin.
constexpr double kSteadyUs = 1000;

// What disturbs a sample makes it longer, and a kernel that works takes its time in each.
double least(const device::Timing& timing) { return *std::ranges::min_element(timing.samples_us); }

class Proof {
 public:
  Proof(device::Device& device, const MemoryProof& proof) : device_(device), proof_(proof) {
    const double us = usual_us();
    const bool thorough = proof.effort == measure::Effort::final_;
    const bool shakes = us < kSteadyUs;
    plan_.launches_per_sample = static_cast<int>(
        std::clamp(std::ceil(kSampleUs / us), shakes ? 2.0 : 1.0, double{kMostLaunches}));
    // A graph is made ready when it is first launched; a single launch is in the stream as it is.
    plan_.warm_up_samples = shakes ? 1 : 0;
    const bool averages = plan_.launches_per_sample >= kManyLaunches;
    plan_.samples = thorough ? 9 : averages ? 2 : shakes ? 3 : 1;
    plan_.restore = proof.restore;
    if (restores()) {
      plan_.launches_per_sample = 1;
      plan_.samples = shakes ? kSingleLaunches : plan_.samples;
    }
    if (proof.slow && !thorough) plan_.samples = 1;
  }

  std::expected<std::optional<Rejection>, device::Fault> find() {
    const bool predicts = device_.info().times == device::TimeKind::predicted;
    std::optional<Rejection> found;
    for (int look = 0; look < (predicts ? 1 : kLooks); ++look) {
      const bool as_usual = !predicts && (proof_.effort == measure::Effort::final_ || look > 0);
      auto seen = look_once(as_usual, predicts ? kPredictedShare : kFreeShare);
      if (!seen || !*seen) return seen;
      if (!found) found = std::move(*seen);
    }
    return found;
  }

 private:
  double usual_us() const { return proof_.measured.time_us.value; }
  bool restores() const { return !proof_.restore.empty(); }
  double free_us() const { return restores() ? kFreeUsOfOne : kFreeUs; }

  std::expected<device::Timing, device::Fault> take(const device::BufferChanges& before_each) {
    device::TimingPlan plan = plan_;
    plan.before_each = before_each;
    return device_.time(proof_.launch, plan);
  }

  std::expected<std::optional<Rejection>, device::Fault> look_once(bool as_usual, double share) {
    // First what finds memory as the launches before have left it.
    if (as_usual) {
      const auto again = take({});
      if (!again) return std::unexpected(again.error());
      if (auto rejection = compare_with_before(*again)) return rejection;
    }
    const auto decoy = take(proof_.refresh.decoy);
    if (!decoy) return std::unexpected(decoy.error());
    const auto own = take(proof_.refresh.own);
    if (!own) return std::unexpected(own.error());
    const double more = least(*own) - least(*decoy);
    const double us = usual_us();
    const double free = share * us + (decoy->kind == device::TimeKind::measured ? free_us() : 0);
    if (!(more > free)) return std::nullopt;
    return Rejection{
        gate::Finding::kLivesOnMemory,
        fmt::format("it takes {:.4g} us after a launch on the same inputs and {:.4g} us where its "
                    "outputs and workspaces were filled before: it finds there what it should do",
                    us, us + more)};
  }

  // A timing of now beside that which is to count.
  std::optional<Rejection> compare_with_before(const device::Timing& again) const {
    const auto then_cycles = measure::kilocycles_of(proof_.measured.timing);
    const auto now_cycles = measure::kilocycles_of(again);
    const double us = usual_us();
    const double ratio = then_cycles && now_cycles ? *now_cycles / *then_cycles
                                                   : measure::median(again.samples_us) / us;
    if (!((ratio - 1) * us > kDrift * us + free_us())) return std::nullopt;
    return Rejection{
        gate::Finding::kLivesOnMemory,
        fmt::format("it took {:.4g} us while it was timed and {:.4g} us later on, after launches "
                    "whose outputs and workspaces were filled before",
                    us, us * ratio)};
  }

  device::Device& device_;
  const MemoryProof& proof_;
  device::TimingPlan plan_;
};

}  // namespace

std::optional<Rejection> find_life_on_memory(device::Device& device, const MemoryProof& proof) {
  if (proof.refresh.own.empty()) return std::nullopt;
  const auto found = Proof(device, proof).find();
  if (!found) return Rejection{to_text(found.error().kind), found.error().message};
  return *found;
}

}  // namespace fa_tune::tuner
