#include "engine/device/device.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace fa_tune::device {

std::string to_text(FaultKind kind) {
  switch (kind) {
    case FaultKind::load_failed:
      return "load_failed";
    case FaultKind::unknown_instruction:
      return "unknown_instruction";
    case FaultKind::resources:
      return "resources";
    case FaultKind::out_of_bounds:
      return "out_of_bounds";
    case FaultKind::misaligned:
      return "misaligned";
    case FaultKind::freed:
      return "freed";
    case FaultKind::uninitialized:
      return "uninitialized";
    case FaultKind::race:
      return "race";
    case FaultKind::barrier:
      return "barrier";
    case FaultKind::sync:
      return "sync";
    case FaultKind::deadlock:
      return "deadlock";
    case FaultKind::timeout:
      return "timeout";
    case FaultKind::trap:
      return "trap";
    case FaultKind::read_only:
      return "input_changed";
    case FaultKind::not_modelled:
      return "not_modelled";
    case FaultKind::unfinished:
      return "unfinished";
    case FaultKind::died:
      return "died";
    case FaultKind::killed:
      return "killed";
    case FaultKind::gone:
      return "gone";
    case FaultKind::device_lost:
      return "device_lost";
  }
  return "device_lost";
}

std::vector<LaunchStep> steps_of(const Launch& launch) {
  if (launch.steps.empty()) return {KernelStep{0, launch.config, launch.arguments}};
  return launch.steps;
}

std::expected<Argument, Fault> Device::tensor_map(const TensorMap&) {
  return std::unexpected(
      Fault{FaultKind::resources, info().name + " has no bulk tensor copies, so no tensor maps"});
}

std::expected<void, Fault> Device::offload(const std::string& /*work*/,
                                           const TakeAnswer& /*take*/) {
  throw std::logic_error(info().id + " does no offloaded work");
}

std::expected<void, Fault> Device::launch_between(std::span<const BufferWrite> writes,
                                                  const Launch& launch,
                                                  std::span<const BufferRead> reads) {
  for (const BufferWrite& each : writes)
    if (auto done = write(each.buffer, each.offset, each.bytes); !done) return done;
  if (auto done = this->launch(launch); !done) return done;
  for (const BufferRead& each : reads)
    if (auto done = read(each.buffer, each.offset, each.bytes); !done) return done;
  return {};
}

std::expected<void, Fault> Device::launch_exchanging(const Launch& launch, int ahead,
                                                     const BufferChanges& restore,
                                                     std::span<const BufferCopy> copies) {
  for (int i = 0; i < ahead; ++i) {
    if (auto done = make_changes(restore); !done) return done;
    if (auto done = this->launch(launch); !done) return done;
  }
  if (auto done = make_changes({{}, {copies.begin(), copies.end()}}); !done) return done;
  return this->launch(launch);
}

std::expected<void, Fault> Device::fill(const std::vector<BufferFill>& fills) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (const BufferFill& fill : fills) {
    const std::vector<std::byte> contents(std::min(kPiece, fill.bytes), std::byte{fill.value});
    for (std::size_t at = 0; at < fill.bytes; at += contents.size()) {
      const std::size_t bytes = std::min(contents.size(), fill.bytes - at);
      const auto done = write(fill.buffer, fill.offset + at, std::span(contents).first(bytes));
      if (!done) return done;
    }
  }
  return {};
}

std::expected<void, Fault> Device::make_changes(const BufferChanges& changes) {
  if (auto done = fill(changes.fills); !done) return done;
  for (const BufferCopy& copy : changes.copies) {
    std::vector<std::byte> bytes(copy.bytes);
    if (auto done = read(copy.from, copy.from_offset, bytes); !done) return done;
    if (auto done = write(copy.to, copy.to_offset, bytes); !done) return done;
  }
  return {};
}

std::string to_text(L2 l2) { return l2 == L2::warm ? "warm" : "cold"; }

std::string to_text(TimeKind kind) { return kind == TimeKind::measured ? "measured" : "predicted"; }

std::string too_large_to_cooperate(const std::string& kernel, std::uint64_t blocks,
                                   std::uint64_t most) {
  return fmt::format(
      "{}: a cooperative grid of {} blocks; the device holds {} of them at once, and blocks that "
      "wait for each other must all be there",
      kernel, blocks, most);
}

Fault too_small(const ConstantData& data, std::size_t room) {
  return {FaultKind::resources, "the variable " + data.name + " has " + std::to_string(room) +
                                    " bytes, " + std::to_string(data.bytes) + " are for it"};
}

std::string_view modelled_gpu(std::string_view device_name) {
  if (device_name.starts_with(kEmulated)) device_name.remove_prefix(kEmulated.size());
  return device_name;
}

std::string_view id_on_node(std::string_view id) { return id.substr(id.rfind('/') + 1); }

}  // namespace fa_tune::device
