#include "engine/worker/messages.hpp"

#include <stdexcept>
#include <utility>

#include "engine/kernel/compile/compile_cache.hpp"
#include "engine/util/error.hpp"
#include "engine/util/serializer.hpp"
#include "engine/worker/variant_frame.hpp"

// The serializer finds these in its own namespace.
namespace fa_tune::wire {

constexpr device::FaultKind last_of(const Getter&, device::FaultKind) {
  return device::kLastFaultKind;
}
constexpr device::TimeKind last_of(const Getter&, device::TimeKind) {
  return device::TimeKind::predicted;
}
constexpr device::L2 last_of(const Getter&, device::L2) { return device::L2::cold; }
constexpr device::TensorMap::Element last_of(const Getter&, device::TensorMap::Element) {
  return device::TensorMap::Element::bf16;
}
constexpr device::TensorMap::Swizzle last_of(const Getter&, device::TensorMap::Swizzle) {
  return device::TensorMap::Swizzle::bytes128;
}

void fields(auto& archive, device::Checks& checks) {
  archive(checks.initialized, checks.races, checks.sync, checks.unfenced_mbarriers);
}
void fields(auto& archive, device::ConstantData& data) {
  archive(data.name, data.from, data.offset, data.bytes);
}
void fields(auto& archive, device::BufferCopy& copy) {
  archive(copy.from, copy.to, copy.bytes, copy.from_offset, copy.to_offset);
}
void fields(auto& archive, device::BufferFill& fill) {
  archive(fill.buffer, fill.offset, fill.bytes, fill.value);
}
void fields(auto& archive, device::KernelStep& step) {
  archive(step.entry, step.config, step.arguments);
}
void fields(auto& archive, device::Launch& launch) {
  archive(launch.kernel, launch.config, launch.arguments, launch.checks, launch.schedule,
          launch.constants, launch.read_only, launch.steps, launch.only_clusters);
}
void fields(auto& archive, device::BufferChanges& changes) {
  archive(changes.fills, changes.copies);
}
void fields(auto& archive, device::TimingPlan& plan) {
  archive(plan.launches_per_sample, plan.samples, plan.warm_up_samples, plan.l2, plan.complete,
          plan.before_each, plan.restore);
}
void fields(auto& archive, device::GpuState& gpu) {
  archive(gpu.sm_mhz, gpu.throttled, gpu.held_down_by, gpu.watts, gpu.celsius, gpu.no_readings,
          gpu.taken_again);
}
void fields(auto& archive, device::Timing& timing) {
  archive(timing.kind, timing.samples_us, timing.model, timing.detail_json, timing.l2,
          timing.launches_per_sample, timing.gpu, timing.complete, timing.restored, timing.low_us,
          timing.high_us);
}
void fields(auto& archive, device::Fault& fault) { archive(fault.kind, fault.message); }
void fields(auto& archive, device::DeviceInfo& info) {
  archive(info.id, info.name, info.arch, info.driver, info.accepts, info.times, info.sms,
          info.shared_per_block, info.checks, info.uuid);
}
void fields(auto& archive, device::TensorMap& map) {
  archive(map.element, map.buffer, map.offset, map.dims, map.strides, map.box, map.element_steps,
          map.swizzle, map.nan_fill);
}

}  // namespace fa_tune::wire

namespace fa_tune::worker::message {
namespace {

// Tells answers from requests.
constexpr std::uint32_t kFirstAnswer = 0x100;

}  // namespace

constexpr Failed::Whose last_of(const wire::Getter&, Failed::Whose) {
  return Failed::Whose::memory;
}

void fields(auto& archive, Load& load) { archive(load.image); }
void fields(auto& archive, Unload& unload) { archive(unload.kernel); }
void fields(auto& archive, Allocate& allocate) { archive(allocate.bytes); }
void fields(auto& archive, Release& release) { archive(release.buffer); }
void fields(auto& archive, Write& write) { archive(write.buffer, write.offset, write.bytes); }
void fields(auto& archive, Read& read) { archive(read.buffer, read.offset, read.bytes); }
void fields(auto& archive, Map& map) { archive(map.map); }
void fields(auto& archive, Run& run) { archive(run.launch); }
void fields(auto& archive, Exchange& exchange) {
  archive(exchange.launch, exchange.ahead, exchange.restore, exchange.copies);
}
void fields(auto& archive, Time& time) { archive(time.launch, time.plan); }
void fields(auto& archive, Step& step) { archive(step.writes, step.launch, step.reads); }
void fields(auto&, Energy&) {}
void fields(auto& archive, Fill& fill) { archive(fill.fills); }
void fields(auto& archive, Incumbent& incumbent) { archive(incumbent.us); }
void fields(auto& archive, Compile& compile) { archive(compile.request); }
void fields(auto& archive, Offload& offload) { archive(offload.work); }

void fields(auto& archive, DeviceOpened& opened) { archive(opened.version, opened.info); }
void fields(auto& archive, CompilerOpened& opened) {
  archive(opened.version, opened.compiler, opened.headers);
}
void fields(auto& archive, GpusFound& found) { archive(found.version, found.gpus); }
void fields(auto& archive, Done& done) { archive(done.notes); }
void fields(auto& archive, Loaded& loaded) { archive(loaded.kernel); }
void fields(auto& archive, Allocated& allocated) { archive(allocated.buffer, allocated.address); }
void fields(auto& archive, Mapped& mapped) { archive(mapped.bytes); }
void fields(auto& archive, Joules& joules) { archive(joules.known, joules.joules); }
void fields(auto& archive, Offloaded& done) { archive(done.answer, done.deaths, done.broken_off); }
void fields(auto& archive, Faulted& faulted) { archive(faulted.fault, faulted.ends); }
void fields(auto& archive, Failed& failed) { archive(failed.whose, failed.text); }

bool is_answered(const Request& request) {
  return !std::holds_alternative<Unload>(request) && !std::holds_alternative<Release>(request) &&
         !std::holds_alternative<Fill>(request) && !std::holds_alternative<Incumbent>(request);
}

std::string encode(const Request& request) { return encode_variant(request, 0); }
std::string encode(const Answer& answer) { return encode_variant(answer, kFirstAnswer); }

std::expected<Request, std::string> decode_request(const Frame& frame) {
  return decode_variant<Request>(frame, 0, "request");
}
std::expected<Answer, std::string> decode_answer(const Frame& frame) {
  return decode_variant<Answer>(frame, kFirstAnswer, "answer");
}

void throw_failed(const Failed& failed) {
  switch (failed.whose) {
    case Failed::Whose::user:
      throw UserError(failed.text);
    case Failed::Whose::machine:
      throw MachineError(failed.text);
    case Failed::Whose::memory:
      throw OutOfMemory(failed.text);
    case Failed::Whose::own:
      break;
  }
  throw std::runtime_error(failed.text);
}

}  // namespace fa_tune::worker::message
