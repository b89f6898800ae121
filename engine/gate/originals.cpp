#include "engine/gate/originals.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "engine/base/parallel_bytes.hpp"
#include "engine/gate/host_memory.hpp"

namespace fa_tune {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kBlocksPerSm = 8;
constexpr std::size_t kWord = 16;  // bytes that a thread moves at a time

// All three go over `bytes` in words of 16, every thread taking each so many-th, and then over what
// is left, a byte a thread. `word` and `byte` are what is done at offset %d4 from the places %d0
// and %d1. For any GPU that tensor-core templates run on; the driver makes machine code of it.
std::string over_bytes(const char* name, const char* word, const char* byte) {
  return fmt::format(R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry {}(.param .u64 first, .param .u64 second, .param .u64 bytes, .param .u64 found)
{{
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %d<20>;
  ld.param.u64 %d0, [first];
  ld.param.u64 %d1, [second];
  ld.param.u64 %d2, [bytes];
  ld.param.u64 %d3, [found];
  cvta.to.global.u64 %d0, %d0;
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d3, %d3;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  mul.lo.u32 %r3, %r3, %r1;
  cvt.u64.u32 %d5, %r0;
  cvt.u64.u32 %d6, %r3;
  shr.u64 %d7, %d2, 4;
  mov.u64 %d8, %d5;
NEXT:
  setp.ge.u64 %p0, %d8, %d7;
  @%p0 bra REST;
  shl.b64 %d4, %d8, 4;
  add.u64 %d10, %d0, %d4;
  add.u64 %d11, %d1, %d4;
{}
  add.u64 %d8, %d8, %d6;
  bra NEXT;
REST:
  shl.b64 %d4, %d7, 4;
  add.u64 %d4, %d4, %d5;
  setp.ge.u64 %p0, %d4, %d2;
  @%p0 bra DONE;
  add.u64 %d10, %d0, %d4;
  add.u64 %d11, %d1, %d4;
{}
DONE:
  ret;
}}
)",
                     name, word, byte);
}

constexpr const char* kCopyWord = R"(  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d10];
  st.global.v4.u32 [%d11], {%r4, %r5, %r6, %r7};)";
constexpr const char* kCopyByte = R"(  ld.global.u8 %r4, [%d10];
  st.global.u8 [%d11], %r4;)";

constexpr const char* kFillWord = R"(  mov.u32 %r4, 0xffffffff;
  st.global.v4.u32 [%d11], {%r4, %r4, %r4, %r4};)";
constexpr const char* kFillByte = R"(  mov.u32 %r4, 0xff;
  st.global.u8 [%d11], %r4;)";

constexpr const char* kDifferWord = R"(  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d10];
  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%d11];
  xor.b32 %r4, %r4, %r8;
  xor.b32 %r5, %r5, %r9;
  xor.b32 %r6, %r6, %r10;
  xor.b32 %r7, %r7, %r11;
  or.b32 %r4, %r4, %r5;
  or.b32 %r6, %r6, %r7;
  or.b32 %r4, %r4, %r6;
  setp.ne.u32 %p1, %r4, 0;
  @%p1 red.global.min.u64 [%d3], %d4;)";
constexpr const char* kDifferByte = R"(  ld.global.u8 %r4, [%d10];
  ld.global.u8 %r5, [%d11];
  setp.ne.u32 %p1, %r4, %r5;
  @%p1 red.global.min.u64 [%d3], %d4;)";

std::expected<KernelHandle, Fault> load(Device& device, const char* name, const char* word,
                                        const char* byte) {
  return device.load({BinaryKind::ptx, "sm_70", name, over_bytes(name, word, byte), {}});
}

Argument argument_of(std::size_t value) {
  const std::uint64_t number = value;
  std::vector<std::byte> bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

}  // namespace

Originals::Originals(Device& device) : device_(device) {
  // Where times are predicted long shapes are not run whole.
  if (device.info().times == TimeKind::predicted) return;
  const auto copy = load(device, "fa_tune_copy", kCopyWord, kCopyByte);
  const auto fill = load(device, "fa_tune_fill", kFillWord, kFillByte);
  const auto differ = load(device, "fa_tune_differ", kDifferWord, kDifferByte);
  if (copy) copy_ = *copy;
  if (fill) fill_ = *fill;
  if (differ) differ_ = *differ;
  usable_ = copy && fill && differ;
}

Originals::~Originals() {
  drop();
  if (found_) device_.release(*found_);
  for (const KernelHandle kernel : {copy_, fill_, differ_})
    if (kernel != KernelHandle{}) device_.unload(kernel);
}

void Originals::drop() {
  while (!kept_.empty()) release(kept_.begin());
}

bool Originals::intact() {
  if (std::ranges::all_of(kept_, [this](const Kept& kept) { return is_as_written(kept); }))
    return true;
  drop();
  return false;
}

bool Originals::is_as_written(const Kept& kept) {
  // Gone with its process: it is written anew when it is next used.
  if (kept.life != device_.life()) return true;
  HostMemory memory(kept.bytes);
  return device_.read(kept.buffer, 0, memory.bytes()) &&
         !first_difference_of_large(memory.bytes(), kept.instance->tensors[kept.tensor].bytes);
}

void Originals::release(std::list<Kept>::iterator kept) {
  device_.release(kept->buffer);
  bytes_ -= kept->bytes;
  kept_.erase(kept);
}

std::expected<BufferHandle, Fault> Originals::of(const std::shared_ptr<const Instance>& instance,
                                                 std::size_t tensor) {
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& each) { return each.instance == instance && each.tensor == tensor; });
  if (found != kept_.end() && found->life == device_.life()) {
    kept_.splice(kept_.begin(), kept_, found);
    return found->buffer;
  }
  if (found != kept_.end()) release(found);
  const std::vector<std::byte>& bytes = instance->tensors[tensor].bytes;
  while (!kept_.empty() && bytes_ + bytes.size() > kMost) release(std::prev(kept_.end()));
  const BufferHandle buffer = device_.allocate(bytes.size());
  const std::uint64_t life = device_.life();
  if (const auto written = device_.write(buffer, 0, bytes); !written) {
    device_.release(buffer);
    return std::unexpected(written.error());
  }
  kept_.push_front({instance, tensor, bytes.size(), buffer, life});
  bytes_ += bytes.size();
  return buffer;
}

Launch Originals::launch_of(KernelHandle kernel, std::vector<Argument> arguments,
                            std::size_t bytes) const {
  const std::size_t words = bytes / kWord / kThreads + 1;
  const std::size_t most = static_cast<std::size_t>(std::max(1, device_.info().sms)) * kBlocksPerSm;
  Launch launch{.kernel = kernel, .config = {}, .arguments = std::move(arguments)};
  launch.config.grid.x = static_cast<std::uint32_t>(std::min(words, most));
  launch.config.block.x = kThreads;
  return launch;
}

std::expected<void, Fault> Originals::copy(const Place& from, const Place& to, std::size_t bytes) {
  const Argument first = device_.address(from.buffer, from.offset);
  const Argument second = device_.address(to.buffer, to.offset);
  return device_.launch(
      launch_of(copy_, {first, second, argument_of(bytes), argument_of(0)}, bytes));
}

std::expected<void, Fault> Originals::fill_with_ones(const Place& to, std::size_t bytes) {
  const Argument place = device_.address(to.buffer, to.offset);
  return device_.launch(
      launch_of(fill_, {place, place, argument_of(bytes), argument_of(0)}, bytes));
}

std::expected<std::optional<std::size_t>, Fault> Originals::first_difference(const Place& a,
                                                                             const Place& b,
                                                                             std::size_t bytes) {
  constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  if (found_ && found_life_ != device_.life()) {
    device_.release(*found_);
    found_.reset();
  }
  if (!found_) {
    found_ = device_.allocate(sizeof kNowhere);
    found_life_ = device_.life();
  }
  const Launch launch =
      launch_of(differ_,
                {device_.address(a.buffer, a.offset), device_.address(b.buffer, b.offset),
                 argument_of(bytes), device_.address(*found_, 0)},
                bytes);
  std::uint64_t where = kNowhere;
  const std::array writes{BufferWrite{*found_, 0, std::as_bytes(std::span(&kNowhere, 1))}};
  const std::array reads{BufferRead{*found_, 0, std::as_writable_bytes(std::span(&where, 1))}};
  if (const auto done = device_.launch_between(writes, launch, reads); !done)
    return std::unexpected(done.error());
  if (where == kNowhere) return std::nullopt;
  return exactly(static_cast<std::size_t>(where), a, b, bytes);
}

// A word is known in which they differ.
std::expected<std::size_t, Fault> Originals::exactly(std::size_t word, const Place& a,
                                                     const Place& b, std::size_t bytes) {
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

}  // namespace fa_tune
