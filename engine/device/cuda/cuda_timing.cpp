#include "engine/device/cuda/cuda_timing.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace fa_tune::cuda {
namespace {

constexpr int kQueued = 2;  // samples in the stream at once: one runs, one waits

std::expected<OwnedEvent, device::Fault> make_event(CudaContext& context) {
  Event event = nullptr;
  auto made = context.check(context->cuEventCreate(&event, kEventDefault), "cuEventCreate");
  if (!made) return std::unexpected(made.error());
  return OwnedEvent(context, event);
}

// In a captured stream each launch follows the one before: the graph is a chain.
std::expected<OwnedGraphExec, device::Fault> capture(CudaContext& context,
                                                     const std::string& launch, const Enqueue& work,
                                                     int launches) {
  const std::string doing = launch + " in a graph";
  auto begun =
      context.check(context->cuStreamBeginCapture_v2(context.stream(), kCaptureThreadLocal), doing);
  if (!begun) return std::unexpected(begun.error());
  std::expected<void, device::Fault> enqueued;
  for (int i = 0; i < launches && enqueued; ++i) enqueued = work();
  // The capture must be ended even if a launch was refused, else the stream stays unusable.
  Graph raw_graph = nullptr;
  const Result end_code = context->cuStreamEndCapture(context.stream(), &raw_graph);
  const OwnedGraph graph(context, raw_graph);
  if (!enqueued) return std::unexpected(enqueued.error());
  if (auto ended = context.check(end_code, doing); !ended) return std::unexpected(ended.error());
  GraphExec exec = nullptr;
  auto instantiated =
      context.check(context->cuGraphInstantiateWithFlags(&exec, graph.get(), 0), doing);
  if (!instantiated) return std::unexpected(instantiated.error());
  return OwnedGraphExec(context, exec);
}

class Sampler {
 public:
  Sampler(CudaContext& context, std::string doing) : context_(context), doing_(std::move(doing)) {}

  std::expected<void, device::Fault> prepare() {
    for (auto& slot : slots_) {
      for (OwnedEvent* event : {&slot.start, &slot.end}) {
        auto made = make_event(context_);
        if (!made) return std::unexpected(made.error());
        *event = std::move(*made);
      }
    }
    return {};
  }

  std::expected<void, device::Fault> submit(int sample, const Enqueue& work) {
    const Slot& slot = slot_of(sample);
    auto done =
        context_.check(context_->cuEventRecord(slot.start.get(), context_.stream()), doing_);
    if (done) done = work();
    if (done) {
      done = context_.check(context_->cuEventRecord(slot.end.get(), context_.stream()), doing_);
    }
    return done;
  }

  // Microseconds between the sample's events, once both have happened.
  std::expected<double, device::Fault> collect(int sample) {
    const Slot& slot = slot_of(sample);
    if (auto done = context_.wait(slot.end.get(), doing_); !done) {
      return std::unexpected(done.error());
    }
    float milliseconds = 0;
    auto read = context_.check(
        context_->cuEventElapsedTime(&milliseconds, slot.start.get(), slot.end.get()), doing_);
    if (!read) return std::unexpected(read.error());
    return static_cast<double>(milliseconds) * 1e3;
  }

 private:
  struct Slot {
    OwnedEvent start;
    OwnedEvent end;
  };
  const Slot& slot_of(int sample) const {
    return slots_[static_cast<std::size_t>(sample % kQueued)];
  }

  CudaContext& context_;
  std::string doing_;
  std::array<Slot, kQueued> slots_;
};

// How long the host may take to submit a sample of one launch: some microseconds each for the
// launch, its events and what is changed ahead of it.
std::chrono::microseconds lead_of(const device::BufferChanges& changes) {
  const std::size_t nodes = changes.fills.size() + changes.copies.size();
  return std::chrono::microseconds(20 + 5 * nodes);
}

}  // namespace

std::expected<device::Timing, device::Fault> time_launch(CudaContext& context,
                                                         const TimedWork& timed,
                                                         const device::TimingPlan& plan,
                                                         GpuWatch& watch, L2Flush& flush,
                                                         Lead& lead) {
  const bool cold = plan.l2 == device::L2::cold;
  const bool restores = !plan.restore.empty();
  const int launches = cold || restores ? 1 : std::max(plan.launches_per_sample, 1);
  const int warm_up = std::max(plan.warm_up_samples, 0);
  const int total = warm_up + std::max(plan.samples, 0);

  OwnedGraphExec graph;
  Enqueue work = [&] {
    auto sent = timed.before_each();
    return sent ? timed.launch() : sent;
  };
  // Between the steps of a launch the host's time would be in the sample.
  if (launches > 1 || timed.steps > 1) {
    auto captured = capture(context, timed.doing, work, launches);
    if (!captured) return std::unexpected(captured.error());
    graph = std::move(*captured);
    work = [&] {
      return context.check(context->cuGraphLaunch(graph.get(), context.stream()), timed.doing);
    };
  }
  const auto flushes = flush.prepare(context);
  if (!flushes) return std::unexpected(flushes.error());
  if (cold && !*flushes)
    return std::unexpected(device::Fault{device::FaultKind::resources,
                                         "L2 flush: the driver does not tell the cache's size"});
  Enqueue before = [] { return std::expected<void, device::Fault>(); };
  if (cold && !restores) before = [&] { return flush.enqueue(context); };
  if (restores) {
    if (auto ready = lead.prepare(context); !ready) return std::unexpected(ready.error());
    const auto after = lead_of(plan.before_each);
    before = [&, after] {
      auto sent = timed.restore();
      if (sent && cold) sent = flush.enqueue(context);
      return sent ? lead.enqueue(context, after) : sent;
    };
  }

  Sampler sampler(context, timed.doing);
  if (auto made = sampler.prepare(); !made) return std::unexpected(made.error());
  device::Timing timing;
  timing.l2 = plan.l2;
  timing.launches_per_sample = launches;
  timing.restored = restores;
  timing.samples_us.reserve(static_cast<std::size_t>(total - warm_up));
  // Once, before the warm-up: what others left in L2, as in a program. A kernel that has its own
  // lines marked to go first loses them to those, not to its own; in a cache that holds nothing
  // else that would cost it nothing.
  if (!cold && *flushes)
    if (auto filled = flush.enqueue(context); !filled) return std::unexpected(filled.error());
  auto sent = watch.begin(context, total);
  if (sent) sent = watch.mark(context);
  for (int i = 0; i < total + kQueued && sent; ++i) {
    if (const int finished = i - kQueued; finished >= 0 && finished < total) {
      watch.look(finished);
      const auto elapsed = sampler.collect(finished);
      if (!elapsed) return std::unexpected(elapsed.error());
      if (finished >= warm_up) timing.samples_us.push_back(*elapsed / launches);
    }
    if (i < total) {
      sent = before();
      if (sent) sent = sampler.submit(i, work);
      if (sent) sent = watch.mark(context);
    }
  }
  if (!sent) return std::unexpected(sent.error());
  auto state = watch.end(context, warm_up);
  if (!state) return std::unexpected(state.error());
  timing.gpu = std::move(*state);
  return timing;
}

}  // namespace fa_tune::cuda
