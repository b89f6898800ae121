#include "engine/gate/device_input_cache.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/gate/device_input_cache_ptx.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::gate {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kBlocksPerSm = 8;
constexpr std::size_t kWord = 16;  // bytes that a thread moves at a time

device::Argument argument_of(std::size_t value) {
  const std::uint64_t number = value;
  std::vector<std::byte> bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

}  // namespace

DeviceInputCache::DeviceInputCache(device::Device& device, std::size_t most)
    : device_(device), most_(most) {
  // Where times are predicted long shapes are not run whole.
  if (device.info().times == device::TimeKind::predicted) return;
  usable_ = load(copy_, "fa_tune_copy", originals_ptx::copy()) &&
            load(differ_, "fa_tune_differ", originals_ptx::differ()) &&
            load(limits_, "fa_tune_limits", originals_ptx::limits()) &&
            load(rows_, "fa_tune_rows", originals_ptx::rows());
}

DeviceInputCache::~DeviceInputCache() {
  drop();
  for (const device::KernelHandle kernel : {copy_, differ_, limits_, rows_})
    if (kernel != device::KernelHandle{}) device_.unload(kernel);
}

bool DeviceInputCache::load(device::KernelHandle& kernel, const char* name,
                            const std::string& ptx) {
  const auto loaded = device_.load({BinaryKind::ptx, "sm_70", name, ptx, {}});
  if (loaded) kernel = *loaded;
  return loaded.has_value();
}

void DeviceInputCache::drop() {
  kept_.clear();
  bytes_ = 0;
}

void DeviceInputCache::make_room() {
  // What did not fit beside as much as this may fit beside half of it.
  if (!kept_.empty()) most_ = bytes_ / 2;
  drop();
}

bool DeviceInputCache::intact() {
  if (std::ranges::all_of(kept_, [this](const Kept& kept) { return is_as_written(kept); }))
    return true;
  drop();
  return false;
}

bool DeviceInputCache::is_as_written(const Kept& kept) {
  // Gone with its process: it is written anew when it is next used.
  if (kept.life != device_.life()) return true;
  HostMemory memory(kept.contents.size());
  return device_.read(kept.buffer->handle(), 0, memory.bytes()) &&
         !first_difference_of_large(memory.bytes(), kept.contents);
}

void DeviceInputCache::forget(std::list<Kept>::iterator kept) {
  bytes_ -= kept->contents.size();
  kept_.erase(kept);
}

std::expected<SharedBuffer, device::Fault> DeviceInputCache::of(
    const std::shared_ptr<const problem::Instance>& instance, std::size_t tensor) {
  return keep(instance, tensor, [&] { return std::span(instance->tensors[tensor].bytes); });
}

// `contents` is called if they are not there yet. They must live as long as the owner.
std::expected<SharedBuffer, device::Fault> DeviceInputCache::keep(
    std::shared_ptr<const void> owner, std::size_t which,
    const std::function<std::span<const std::byte>()>& contents) {
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& each) { return each.owner == owner && each.which == which; });
  if (found != kept_.end() && found->life == device_.life()) {
    kept_.splice(kept_.begin(), kept_, found);
    return found->buffer;
  }
  if (found != kept_.end()) forget(found);
  const std::span<const std::byte> bytes = contents();
  while (!kept_.empty() && bytes_ + bytes.size() > most_) forget(std::prev(kept_.end()));
  auto buffer = [&] {
    try {
      return std::make_shared<const DeviceBuffer>(device_, bytes.size());
    } catch (const OutOfMemory&) {
      if (kept_.empty()) throw;
      make_room();
      return std::make_shared<const DeviceBuffer>(device_, bytes.size());
    }
  }();
  const std::uint64_t life = device_.life();
  if (const auto written = device_.write(buffer->handle(), 0, bytes); !written)
    return std::unexpected(written.error());
  kept_.push_front({std::move(owner), which, bytes, buffer, life});
  bytes_ += bytes.size();
  return buffer;
}

device::Launch DeviceInputCache::launch_of(device::KernelHandle kernel,
                                           std::vector<device::Argument> arguments,
                                           std::size_t bytes) const {
  const std::size_t words = bytes / kWord / kThreads + 1;
  const std::size_t most = static_cast<std::size_t>(std::max(1, device_.info().sms)) * kBlocksPerSm;
  device::Launch launch{.kernel = kernel, .config = {}, .arguments = std::move(arguments)};
  launch.config.grid.x = static_cast<std::uint32_t>(std::min(words, most));
  launch.config.block.x = kThreads;
  return launch;
}

std::expected<void, device::Fault> DeviceInputCache::copy(const Place& from, const Place& to,
                                                          std::size_t bytes) {
  const device::Argument first = device_.address(from.buffer, from.offset);
  const device::Argument second = device_.address(to.buffer, to.offset);
  return device_.launch(
      launch_of(copy_, {first, second, argument_of(bytes), argument_of(0)}, bytes));
}

std::expected<std::optional<std::size_t>, device::Fault> DeviceInputCache::first_difference(
    const Place& a, const Place& b, std::size_t bytes) {
  const auto found = ask(differ_,
                         {device_.address(a.buffer, a.offset), device_.address(b.buffer, b.offset),
                          argument_of(bytes)},
                         {}, bytes);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  return exactly(**found, a, b, bytes);
}

// Runs a kernel that leaves the least of what it finds where the argument between these points.
std::expected<std::optional<std::size_t>, device::Fault> DeviceInputCache::ask(
    device::KernelHandle kernel, std::vector<device::Argument> before,
    const std::vector<device::Argument>& after, std::size_t bytes) {
  constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  if (!found_ || found_life_ != device_.life()) {
    found_ = std::make_shared<const DeviceBuffer>(device_, sizeof kNowhere);
    found_life_ = device_.life();
  }
  before.push_back(device_.address(found_->handle(), 0));
  before.insert(before.end(), after.begin(), after.end());
  std::uint64_t where = kNowhere;
  const std::array writes{
      device::BufferWrite{found_->handle(), 0, std::as_bytes(std::span(&kNowhere, 1))}};
  const std::array reads{
      device::BufferRead{found_->handle(), 0, std::as_writable_bytes(std::span(&where, 1))}};
  const device::Launch launch = launch_of(kernel, std::move(before), bytes);
  if (const auto done = device_.launch_between(writes, launch, reads); !done)
    return std::unexpected(done.error());
  if (where == kNowhere) return std::nullopt;
  return static_cast<std::size_t>(where);
}

// A word is known in which they differ.
std::expected<std::size_t, device::Fault> DeviceInputCache::exactly(std::size_t word,
                                                                    const Place& a, const Place& b,
                                                                    std::size_t bytes) {
  std::array<std::byte, kWord> in_a{}, in_b{};
  const std::size_t count = std::min(kWord, bytes - std::min(word, bytes));
  if (const auto read = device_.read(a.buffer, a.offset + word, std::span(in_a).first(count));
      !read)
    return std::unexpected(read.error());
  if (const auto read = device_.read(b.buffer, b.offset + word, std::span(in_b).first(count));
      !read)
    return std::unexpected(read.error());
  const auto differs = std::ranges::mismatch(in_a, in_b);
  return word + static_cast<std::size_t>(differs.in1 - in_a.begin());
}

bool DeviceInputCache::can_sample(const problem::Tensor& output,
                                  const problem::Expectation& expectation) const {
  return worth(static_cast<std::size_t>(output.elements()) * size_of(output.type)) &&
         expectation.sampled() && (output.type == DType::f16 || output.type == DType::bf16);
}

std::shared_ptr<const DeviceInputCache::RanksOf> DeviceInputCache::ranks_of(
    const std::shared_ptr<const problem::Expectation>& expectation, DType type) {
  std::erase_if(ranks_, [](const auto& each) { return each.second.expired(); });
  auto& known = ranks_[expectation.get()];
  auto ranks = known.lock();
  if (ranks == nullptr) {
    ranks = std::make_shared<const RanksOf>(
        RanksOf{expectation, BoundRanks(expectation->limits, type)});
    known = ranks;
  }
  return ranks;
}

std::expected<bool, device::Fault> DeviceInputCache::within_limits(
    const Place& place, const problem::Tensor& output,
    const std::shared_ptr<const problem::Expectation>& expectation) {
  const problem::ValueBounds& limits = expectation->limits;
  const auto ranks = ranks_of(expectation, output.type);
  const auto range_of_row =
      keep(expectation, 0, [&] { return std::as_bytes(std::span(limits.range_of_row)); });
  const auto least = keep(ranks, 1, [&] { return std::as_bytes(std::span(ranks->ranks.least)); });
  const auto most = keep(ranks, 2, [&] { return std::as_bytes(std::span(ranks->ranks.most)); });
  for (const auto* each : {&range_of_row, &least, &most})
    if (!*each) return std::unexpected(each->error());
  const auto elements = static_cast<std::size_t>(output.elements());
  const auto outside = ask(
      limits_,
      {device_.address(place.buffer, place.offset), device_.address((*range_of_row)->handle(), 0),
       device_.address((*least)->handle(), 0), device_.address((*most)->handle(), 0)},
      {argument_of(elements), argument_of(limits.row_elements)}, elements * size_of(output.type));
  if (!outside) return std::unexpected(outside.error());
  return !outside->has_value();
}

std::expected<HostMemory, device::Fault> DeviceInputCache::sampled_rows(
    const Place& place, const problem::Tensor& output,
    const std::shared_ptr<const problem::Expectation>& expectation) {
  const auto rows = std::as_bytes(std::span(expectation->rows));
  const std::size_t length = expectation->limits.row_elements;
  const std::size_t elements = expectation->rows.size() * length;
  HostMemory memory(elements * size_of(output.type));
  const DeviceBuffer list(device_, rows.size()), to(device_, memory.bytes().size());
  const device::Launch launch =
      launch_of(rows_,
                {device_.address(place.buffer, place.offset), device_.address(list.handle(), 0),
                 device_.address(to.handle(), 0), argument_of(elements), argument_of(length)},
                memory.bytes().size());
  const std::array writes{device::BufferWrite{list.handle(), 0, rows}};
  const std::array reads{device::BufferRead{to.handle(), 0, memory.bytes()}};
  if (const auto done = device_.launch_between(writes, launch, reads); !done)
    return std::unexpected(done.error());
  return memory;
}

}  // namespace fa_tune::gate
