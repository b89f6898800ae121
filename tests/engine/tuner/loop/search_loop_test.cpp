// A search whose strategy and device do what a test says.
#include "engine/tuner/loop/search_loop.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/util/stopwatch.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::tuner;

namespace {

// Until it is so, or too late.
template <typename Condition>
bool waited_for(const Condition& condition) {
  const Stopwatch watch;
  while (!condition() && watch.milliseconds() < 20'000)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

// The space's configs in their order. Notes what it is told and asked. Takes long to answer the
// second time: all that was asked for first is recorded by then.
class InOrder final : public search::Strategy {
 public:
  std::string name() const override { return "in order"; }
  std::vector<search::Proposal> ask(int n) override {
    heard += fmt::format("ask {}; ", n);
    if (++asked == 2) CHECK(waited_for([&] { return recorded >= n; }));
    std::vector<search::Proposal> proposals;
    for (int i = 0; i < n; ++i)
      proposals.push_back({toy().space.config(toy().space.genome_at(next_++)), "random", {}});
    return proposals;
  }
  void tell(const search::Evaluation& told) override {
    heard += fmt::format("{} ", told.number);
    twins[told.number] = told.twin;
  }
  void take(const Config&) override {}

  std::atomic<int> asked{0};
  std::atomic<int> recorded{0};
  std::string heard;
  std::map<std::uint64_t, std::uint64_t> twins;  // by number

 private:
  std::uint64_t next_ = 0;
};

// Proposals are prepared for a device, which is asked what it is. There the first ones wait until
// the strategy was asked for the next ones.
class WaitsForStrategy final : public ForwardingDevice {
 public:
  explicit WaitsForStrategy(const InOrder& strategy)
      : ForwardingDevice(toy_device()), strategy_(strategy) {}

  const device::DeviceInfo& info() const override {
    CHECK(waited_for([&] { return strategy_.asked != 1; }));
    return ForwardingDevice::info();
  }

 private:
  const InOrder& strategy_;
};

}  // namespace

TEST_CASE(
    "the strategy works on the next proposals while the last ones are prepared, and hears of "
    "twins") {
  constexpr int kAsks = 4;
  InOrder strategy;
  WaitsForStrategy device(strategy);
  std::vector<device::Device*> devices = {&device};
  ScratchStore kept;
  TaskQueue queue;
  const auto compiler = toy_compiler();
  kernel::CompilePool pool(*compiler, 2, [&queue] { queue.wake(); });
  gate::TruthCache truth(*toy().problem);
  DeviceRoster roster;
  WatchingListener listener;
  listener.each = [&](const db::TrialRow&) { ++strategy.recorded; };
  const std::atomic<bool> stop{false};
  const EvolveOptions options = toy_options(2 * kAsks);
  const std::int64_t run = kept.store.begin_run(toy_run());
  SearchLoop loop({.task = toy(),
                   .devices = devices,
                   .queue = queue,
                   .pool = pool,
                   .truth = truth,
                   .store = kept.store,
                   .options = options,
                   .listener = listener,
                   .stop = stop,
                   .strategy = strategy,
                   .proposer = nullptr,
                   .supply = nullptr,
                   .roster = roster},
                  run, {.generation = 2, .ahead = 2}, 1);
  loop.run();
  CHECK(loop.counts().trials == 2 * kAsks);
  // However early that is: what it knows as it is asked does not depend on it.
  CHECK(strategy.heard == "ask 2; ask 2; ask 2; 1 2 ask 2; 3 4 5 6 7 8 ");
  std::map<std::int64_t, std::uint64_t> numbers = {{0, 0}};
  std::map<std::uint64_t, std::uint64_t> twins;
  for (const db::TrialRow& trial : kept.store.trials(run)) {
    numbers[trial.id] = static_cast<std::uint64_t>(trial.number);
    twins[numbers[trial.id]] = numbers.at(trial.duplicate_of);
  }
  CHECK(loop.counts().duplicate > 0);
  CHECK(strategy.twins == twins);
}

}  // namespace fa_tune::test
