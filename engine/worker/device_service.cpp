#include "engine/worker/device_service.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/worker/worker_main.hpp"

namespace fa_tune::worker {

std::optional<message::Answer> DeviceService::answer(const message::Request& request) {
  Answer answer = answer_to([&] { return visit(request); });
  if (message::is_answered(request))
    return unsaid_ ? std::move(*std::exchange(unsaid_, std::nullopt)) : std::move(answer);
  if (!unsaid_ && !std::holds_alternative<message::Done>(answer)) unsaid_ = std::move(answer);
  return std::nullopt;
}

void DeviceService::release_all() {
  for (const device::KernelHandle kernel : std::exchange(kernels_, {})) device_.unload(kernel);
  for (const device::BufferHandle buffer : std::exchange(buffers_, {})) device_.release(buffer);
  unsaid_.reset();
}

DeviceService::Answer DeviceService::visit(const message::Request& request) {
  return std::visit([this](const auto& one) { return on(one); }, request);
}

DeviceService::Answer DeviceService::faulted(device::Fault fault) const {
  return message::Faulted{std::move(fault), device_.lost()};
}

DeviceService::Answer DeviceService::done_or(std::expected<void, device::Fault> outcome) const {
  if (outcome) return message::Done{device_.take_notes()};
  return faulted(std::move(outcome.error()));
}

std::span<std::byte> DeviceService::piece(std::uint64_t at, std::uint64_t bytes) const {
  if (at > window_.size() || bytes > window_.size() - at)
    throw std::out_of_range("a piece that is not inside the window");
  return window_.subspan(at, bytes);
}

DeviceService::Answer DeviceService::on(const message::Load& load) {
  auto kernel = device_.load(load.image);
  if (!kernel) return faulted(std::move(kernel.error()));
  kernels_.insert(*kernel);
  return message::Loaded{*kernel};
}

DeviceService::Answer DeviceService::on(const message::Unload& unload) {
  kernels_.erase(unload.kernel);
  device_.unload(unload.kernel);
  return message::Done{};
}

DeviceService::Answer DeviceService::on(const message::Allocate& allocate) {
  message::Allocated allocated{device_.allocate(allocate.bytes), 0};
  buffers_.insert(allocated.buffer);
  const device::Argument address = device_.address(allocated.buffer, 0);
  const auto& bytes = std::get<std::vector<std::byte>>(address);
  std::memcpy(&allocated.address, bytes.data(), sizeof allocated.address);
  return allocated;
}

DeviceService::Answer DeviceService::on(const message::Release& release) {
  buffers_.erase(release.buffer);
  device_.release(release.buffer);
  return message::Done{};
}

DeviceService::Answer DeviceService::on(const message::Write& write) {
  return done_or(device_.write(write.buffer, write.offset, piece(0, write.bytes)));
}

DeviceService::Answer DeviceService::on(const message::Read& read) {
  return done_or(device_.read(read.buffer, read.offset, piece(0, read.bytes)));
}

DeviceService::Answer DeviceService::on(const message::Step& step) {
  std::vector<device::BufferWrite> writes;
  for (std::uint64_t at = 0; const message::Write& write : step.writes) {
    writes.push_back({write.buffer, write.offset, piece(at, write.bytes)});
    at += write.bytes;
  }
  std::vector<device::BufferRead> reads;
  for (std::uint64_t at = 0; const message::Read& read : step.reads) {
    reads.push_back({read.buffer, read.offset, piece(at, read.bytes)});
    at += read.bytes;
  }
  return done_or(device_.launch_between(writes, step.launch, reads));
}

DeviceService::Answer DeviceService::on(const message::Map& map) {
  auto mapped = device_.tensor_map(map.map);
  if (!mapped) return faulted(std::move(mapped.error()));
  return message::Mapped{std::get<std::vector<std::byte>>(*mapped)};
}

DeviceService::Answer DeviceService::on(const message::Run& run) {
  return done_or(device_.launch(run.launch));
}
DeviceService::Answer DeviceService::on(const message::Exchange& exchange) {
  return done_or(device_.launch_exchanging(exchange.launch, exchange.ahead, exchange.restore,
                                           exchange.copies));
}

DeviceService::Answer DeviceService::on(const message::Time& time) {
  auto timing = device_.time(time.launch, time.plan);
  if (!timing) return faulted(std::move(timing.error()));
  return std::move(*timing);
}

DeviceService::Answer DeviceService::on(const message::Fill& fill) {
  return done_or(device_.fill(fill.fills));
}
DeviceService::Answer DeviceService::on(const message::Energy&) {
  const auto joules = device_.joules();
  return message::Joules{joules.has_value(), joules.value_or(0)};
}

DeviceService::Answer DeviceService::on(const message::Incumbent& incumbent) {
  device_.note_incumbent(incumbent.us);
  return message::Done{};
}

DeviceService::Answer DeviceService::on(const message::Compile&) {
  throw std::logic_error("a device compiles nothing");
}

DeviceService::Answer DeviceService::on(const message::Offload&) {
  throw std::logic_error("a worker does no offloaded work");
}

}  // namespace fa_tune::worker
