#include "tools/lone/run.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "engine/util/error.hpp"

namespace fa_tune::lone {
namespace {

device::TensorMap::Element map_element(const ArgumentSpec& spec) {
  using Of = device::TensorMap::Element;
  switch (spec.element) {
    case Element::i8:
    case Element::u8:
    case Element::e4m3:
    case Element::e5m2:
      return Of::u8;
    case Element::i16:
    case Element::u16:
      return Of::u16;
    case Element::i32:
      return Of::s32;
    case Element::u32:
      return Of::u32;
    case Element::i64:
      return Of::s64;
    case Element::u64:
      return Of::u64;
    case Element::f16:
      return Of::f16;
    case Element::bf16:
      return Of::bf16;
    case Element::f32:
      return Of::f32;
    case Element::f64:
      return Of::f64;
  }
  return Of::u8;
}

}  // namespace

std::expected<LoneRun, device::Fault> LoneRun::prepare(device::Device& device,
                                                       const KernelImage& image,
                                                       const LoneLaunch& launch) {
  LoneRun run(device);
  const auto kernel = device.load(image);
  if (!kernel) return std::unexpected(kernel.error());
  run.launch_.kernel = *kernel;
  run.launch_.config = launch.config;
  run.launch_.checks = launch.checks;
  run.launch_.schedule = launch.schedule;
  run.launch_.only_clusters = launch.only_clusters;
  run.by_argument_.resize(launch.arguments.size());
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const ArgumentSpec& spec = launch.arguments[i];
    const auto placed = spec.place ? run.refer(spec) : run.place(spec, i);
    if (!placed) return std::unexpected(placed.error());
  }
  for (std::size_t i = 0; i < launch.arguments.size(); ++i)
    if (const auto stored = run.store_addresses(launch.arguments[i], i); !stored)
      return std::unexpected(stored.error());
  return run;
}

LoneRun::LoneRun(LoneRun&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      launch_(std::move(other.launch_)),
      buffers_(std::move(other.buffers_)),
      by_argument_(std::move(other.by_argument_)),
      outputs_(std::move(other.outputs_)) {}

LoneRun::~LoneRun() {
  if (device_ == nullptr) return;
  for (const device::BufferHandle buffer : buffers_) device_->release(buffer);
  if (launch_.kernel != device::KernelHandle{}) device_->unload(launch_.kernel);
}

std::expected<void, device::Fault> LoneRun::place(const ArgumentSpec& spec, std::size_t index) {
  if (spec.role == ArgumentSpec::Role::scalar) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size_of(spec.element)));
    std::memcpy(bytes.data(), &spec.scalar_bits, bytes.size());
    launch_.arguments.emplace_back(std::move(bytes));
    return {};
  }
  std::vector<std::byte> content = content_of(spec);
  if (spec.role == ArgumentSpec::Role::by_value) {
    launch_.arguments.emplace_back(std::move(content));
    return {};
  }
  const device::BufferHandle buffer = device_->allocate(spec.bytes());
  if (!content.empty()) {
    if (const auto written = device_->write(buffer, 0, content); !written) {
      device_->release(buffer);
      return written;
    }
  }
  if (spec.role == ArgumentSpec::Role::freed) {
    launch_.arguments.push_back(device_->address(buffer, 0));
    device_->release(buffer);
    return {};
  }
  buffers_.push_back(buffer);
  by_argument_[index] = buffer;
  if (spec.is_output()) outputs_.push_back({index, buffer, spec.bytes()});
  if (!spec.is_passed) return {};
  if (!spec.is_tensor_map) {
    launch_.arguments.emplace_back(buffer);
    return {};
  }
  auto map = tensor_map(spec, buffer);
  if (!map) return std::unexpected(map.error());
  launch_.arguments.push_back(std::move(*map));
  return {};
}

std::expected<void, device::Fault> LoneRun::refer(const ArgumentSpec& spec) {
  const device::BufferHandle buffer = by_argument_[spec.place->argument];
  if (!spec.is_tensor_map) {
    launch_.arguments.push_back(device_->address(buffer, spec.place->offset));
    return {};
  }
  auto map = tensor_map(spec, buffer);
  if (!map) return std::unexpected(map.error());
  launch_.arguments.push_back(std::move(*map));
  return {};
}

std::expected<void, device::Fault> LoneRun::store_addresses(const ArgumentSpec& spec,
                                                            std::size_t index) {
  for (const StoredAddress& stored : spec.addresses) {
    const device::Argument address =
        device_->address(by_argument_[stored.place.argument], stored.place.offset);
    const auto written = device_->write(by_argument_[index], stored.element * sizeof(std::uint64_t),
                                        std::get<std::vector<std::byte>>(address));
    if (!written) return written;
  }
  return {};
}

std::expected<device::Argument, device::Fault> LoneRun::tensor_map(const ArgumentSpec& spec,
                                                                   device::BufferHandle buffer) {
  device::TensorMap map;
  map.element = map_element(spec);
  map.buffer = buffer;
  map.dims.assign(spec.dims.rbegin(), spec.dims.rend());
  map.box.assign(spec.box.rbegin(), spec.box.rend());
  map.swizzle = spec.swizzle;
  map.nan_fill = spec.nan_fill;
  auto stride = static_cast<std::uint64_t>(size_of(spec.element));
  for (std::size_t i = 0; i + 1 < map.dims.size(); ++i) {
    stride *= map.dims[i];
    map.strides.push_back(stride);
  }
  return device_->tensor_map(map);
}

std::expected<std::vector<LoneOutput>, device::Fault> LoneRun::outputs() {
  std::vector<LoneOutput> result;
  for (const Output& each : outputs_) {
    LoneOutput output{each.argument, std::vector<std::byte>(each.bytes)};
    if (const auto got = device_->read(each.buffer, 0, output.bytes); !got)
      return std::unexpected(got.error());
    result.push_back(std::move(output));
  }
  return result;
}

std::expected<std::vector<LoneOutput>, device::Fault> run_lone(device::Device& device,
                                                               const KernelImage& image,
                                                               const LoneLaunch& launch) {
  auto run = LoneRun::prepare(device, image, launch);
  if (!run) return std::unexpected(run.error());
  if (const auto done = run->run(); !done) return std::unexpected(done.error());
  return run->outputs();
}

}  // namespace fa_tune::lone
