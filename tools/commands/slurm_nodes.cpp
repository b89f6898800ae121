#include "tools/commands/slurm_nodes.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "engine/util/log.hpp"

namespace fa_tune::commands {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 200ms;
// A node that has lost its connection, and no more, is back within a second.
constexpr auto kReturn = 3s;
// A step that has not brought its node by then is ended: who was killed while it started may have
// left an srun that waits for ever.
constexpr auto kStart = 180s;
constexpr auto kLongestPause = 60s;
constexpr int kVainStarts = 3;
constexpr auto kFarewellOfSteps = 10s;

// What `fa-tune node` ends with where the engine refuses it or its user erred, and where it lacks
// something. Slurm's own errors have exit code 1.
constexpr int kRefused = 2;
constexpr int kLacking = 3;

}  // namespace

SlurmNodes::SlurmNodes(SlurmAllocation allocation, SlurmOptions options)
    : allocation_(std::move(allocation)), options_(std::move(options)) {
  const auto first = Clock::now() + (options_.resumed ? Clock::duration(kReturn) : 0s);
  for (const std::string& node : allocation_.nodes()) {
    Place& place = places_.emplace_back();
    place.node = node;
    place.due = first;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SlurmNodes::~SlurmNodes() { end(Clock::now() + kFarewellOfSteps); }

void SlurmNodes::end(Clock::time_point until) {
  stop();
  for (Place& place : places_)
    if (place.step) place.step->end(until);
}

void SlurmNodes::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void SlurmNodes::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  do {
    const std::set<std::string> connected = options_.connected();
    for (Place& place : places_) {
      if (stop.stop_requested()) return;
      try {
        look_at(place, connected.contains(place.node));
      } catch (const std::runtime_error& error) {  // this machine can start no process now
        log_warning("{}: {}", place.node, error.what());
        place.step.reset();
        wait_longer(place);
      }
    }
    failed_ = std::ranges::all_of(places_, [](const Place& place) {
      return place.state == State::given_up ||
             (place.state != State::here && place.failures >= kVainStarts);
    });
  } while (!never.wait_for(lock, stop, kLook, [&] { return stop.stop_requested(); }));
}

void SlurmNodes::look_at(Place& place, bool connected) {
  if (connected) {
    place.state = State::here;
    place.has_come = true;
    place.failures = 0;
    return;
  }
  const auto now = Clock::now();
  switch (place.state) {
    case State::here:
      place.state = State::waiting;
      place.due = now + kReturn;
      break;
    case State::starting:
      if (place.step->exit_code() || now >= place.due) wait_longer(place);
      break;
    case State::waiting:
      if (now >= place.due) start(place);
      break;
    case State::given_up:
      break;
  }
}

bool SlurmNodes::is_of_no_use(const Place& place) {
  const auto code = place.step ? place.step->exit_code() : std::nullopt;
  return code == kRefused || (code == kLacking && !place.has_come);
}

void SlurmNodes::wait_longer(Place& place) {
  if (is_of_no_use(place)) return give_up(place, "it is of no use for this search");
  ++place.failures;
  place.state = State::waiting;
  place.due = Clock::now() +
              std::min<Clock::duration>(1s * (1 << std::min(place.failures - 1, 6)), kLongestPause);
}

void SlurmNodes::start(Place& place) {
  if (is_of_no_use(place)) return give_up(place, "it is of no use for this search");
  const bool again = place.has_come || place.failures > 0;
  if (again && !allocation_.has(place.node))
    return give_up(place, "Slurm has taken it out of the allocation");
  if (place.step) place.step->end(Clock::now());
  if (again) log_info("{}: is started again", place.node);
  std::vector<std::string> words = {
      "srun",       "--jobid=" + allocation_.job(), "--overlap",         "--nodes=1",
      "--ntasks=1", "--nodelist=" + place.node,     "--job-name=fa-tune"};
  words.insert(words.end(), options_.srun.begin(), options_.srun.end());
  const auto command = options_.command(place.node);
  words.insert(words.end(), command.begin(), command.end());
  place.step = std::make_unique<NodeStarter>(place.node, words);
  place.state = State::starting;
  place.due = Clock::now() + kStart;
}

void SlurmNodes::give_up(Place& place, const std::string& why) {
  log_warning("{}: is given up: {}", place.node, why);
  place.state = State::given_up;
}

}  // namespace fa_tune::commands
