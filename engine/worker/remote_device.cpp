#include "engine/worker/remote_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/core.h>

#include "engine/base/error.hpp"
#include "engine/base/log.hpp"
#include "engine/base/parallel_bytes.hpp"
#include "engine/worker/failed.hpp"
#include "engine/worker/session.hpp"
#include "engine/worker/window.hpp"

namespace fa_tune {
namespace {

using Milliseconds = Deadlines::Milliseconds;

class RemoteDevice final : public Device {
 public:
  explicit RemoteDevice(RemoteOptions options) : options_(std::move(options)) {
    if (auto trouble = start()) throw MachineError("the worker: " + *trouble);
  }

  const DeviceInfo& info() const override { return info_; }
  bool lost() const override { return !lost_because_.empty(); }
  bool apart() const override { return true; }
  std::span<const Fault> deaths() const override { return deaths_; }
  void note_incumbent(double us) override { incumbent_us_ = us; }

  bool ready() override {
    if (session_ && session_->ended()) ended(session_->settle(), "between calls");
    if (!session_ && !lost()) restart();
    return !lost();
  }

  bool renew() override {
    if (lost()) return false;
    session_.reset();
    return ready();
  }

  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    Kernel kernel{image, {}, 0};
    if (auto loaded = bring_up(kernel); !loaded) return std::unexpected(loaded.error());
    const KernelHandle handle{++last_handle_};
    kernels_.emplace(handle, std::move(kernel));
    return handle;
  }

  void unload(KernelHandle kernel) override {
    const auto found = kernels_.find(kernel);
    if (found == kernels_.end()) return;
    const Kernel gone = std::move(found->second);
    kernels_.erase(found);
    if (is_here(gone.generation)) tell(message::Unload{gone.handle});
  }

  BufferHandle allocate(std::size_t bytes) override {
    const BufferHandle handle{++last_handle_};
    Buffer buffer;
    buffer.bytes = bytes;
    // A device that is lost, or a worker that ends over it: the handle is one of nothing, and the
    // next call says so.
    if (const auto allocated = ask<message::Allocated>(message::Allocate{bytes},
                                                       options_.deadlines.copy, "allocation")) {
      buffer.handle = allocated->buffer;
      buffer.address = allocated->address;
      buffer.generation = generation_;
    }
    buffers_.emplace(handle, buffer);
    return handle;
  }

  void release(BufferHandle buffer) override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    const Buffer gone = found->second;
    buffers_.erase(found);
    if (is_here(gone.generation)) tell(message::Release{gone.handle});
  }

  std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                   std::span<const std::byte> bytes) override {
    const auto held = find(buffer);
    if (!held) return std::unexpected(held.error());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - at, Window::kBytes);
      copy_large(bytes.subspan(at, piece), window_.bytes());
      if (auto done = ask<message::Done>(message::Write{held->handle, offset + at, piece},
                                         options_.deadlines.copy, "write");
          !done)
        return std::unexpected(done.error());
      at += piece;
    }
    return {};
  }

  std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                  std::span<std::byte> bytes) override {
    const auto held = find(buffer);
    if (!held) return std::unexpected(held.error());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - at, Window::kBytes);
      if (auto done = ask<message::Done>(message::Read{held->handle, offset + at, piece},
                                         options_.deadlines.copy, "read");
          !done)
        return std::unexpected(done.error());
      copy_large(window_.bytes().first(piece), bytes.subspan(at));
      at += piece;
    }
    return {};
  }

  Argument address(BufferHandle buffer, std::size_t offset) override {
    const std::uint64_t address = buffers_.at(buffer).address + offset;
    std::vector<std::byte> bytes(sizeof address);
    std::memcpy(bytes.data(), &address, sizeof address);
    return bytes;
  }

  std::expected<Argument, Fault> tensor_map(const TensorMap& map) override {
    const auto held = find(map.buffer);
    if (!held) return std::unexpected(held.error());
    message::Map request{map};
    request.map.buffer = held->handle;
    auto mapped = ask<message::Mapped>(request, options_.deadlines.copy, "tensor map");
    if (!mapped) return std::unexpected(mapped.error());
    return Argument(std::move(mapped->bytes));
  }

  std::expected<void, Fault> launch(const Launch& launch) override {
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    auto done =
        ask<message::Done>(message::Run{*there}, allowed(options_.deadlines.launch, 1), "launch");
    if (!done) return std::unexpected(done.error());
    return {};
  }

  std::expected<void, Fault> launch_between(std::span<const BufferWrite> writes,
                                            const Launch& launch,
                                            std::span<const BufferRead> reads) override {
    if (std::max(total_bytes(writes), total_bytes(reads)) > Window::kBytes)
      return Device::launch_between(writes, launch, reads);
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    message::Step step{{}, *there, {}};
    std::size_t at = 0;
    for (const BufferWrite& write : writes) {
      const auto held = find(write.buffer);
      if (!held) return std::unexpected(held.error());
      step.writes.push_back({held->handle, write.offset, write.bytes.size()});
      copy_bytes(write.bytes, window_.bytes().subspan(at));
      at += write.bytes.size();
    }
    for (const BufferRead& read : reads) {
      const auto held = find(read.buffer);
      if (!held) return std::unexpected(held.error());
      step.reads.push_back({held->handle, read.offset, read.bytes.size()});
    }
    // The copies, of no more than the window holds, are a hundredth of that.
    auto done =
        ask<message::Done>(std::move(step), allowed(options_.deadlines.launch, 1), "launch");
    if (!done) return std::unexpected(done.error());
    at = 0;
    for (const BufferRead& read : reads) {
      copy_bytes(window_.bytes().subspan(at, read.bytes.size()), read.bytes);
      at += read.bytes.size();
    }
    return {};
  }

  // One request, so that nothing but the device comes between the launches.
  std::expected<void, Fault> launch_exchanging(const Launch& launch, int ahead,
                                               std::span<const BufferCopy> copies) override {
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    message::Exchange exchange{*there, ahead, {}};
    for (const BufferCopy& copy : copies) {
      const auto from = find(copy.from);
      if (!from) return std::unexpected(from.error());
      const auto to = find(copy.to);
      if (!to) return std::unexpected(to.error());
      exchange.copies.push_back({from->handle, to->handle, copy.bytes});
    }
    auto done = ask<message::Done>(std::move(exchange),
                                   allowed(options_.deadlines.launch, ahead + 1), "launch");
    if (!done) return std::unexpected(done.error());
    return {};
  }

  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    const double launches =
        double{1.0} * plan.launches_per_sample * (plan.samples + plan.warm_up_samples);
    return ask<Timing>(message::Time{*there, plan}, allowed(options_.deadlines.time, launches),
                       "timing");
  }

 private:
  struct Kernel {
    KernelImage image;
    KernelHandle handle{};  // the worker's
    int generation = 0;     // the worker that has it
  };
  struct Buffer {
    BufferHandle handle{};
    int generation = 0;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
  };

  bool is_here(int generation) const { return session_ != nullptr && generation == generation_; }

  // A new worker. What is wrong, in one line, if there is none; what it threw is thrown the first
  // time, when there has been none before.
  std::optional<std::string> start() {
    auto words = options_.words;
    if (generation_ > 0) words.emplace_back("--health");
    auto session = std::make_unique<WorkerSession>(words, std::vector<int>{window_.file()});
    auto answer = session->greet(options_.deadlines.start);
    if (!answer) return answer.error().text;
    if (const auto* failed = std::get_if<message::Failed>(&*answer)) {
      if (generation_ == 0) throw_failed(*failed);
      return failed->text;
    }
    auto* opened = std::get_if<message::DeviceOpened>(&*answer);
    if (opened == nullptr || opened->version != message::kVersion)
      return "it is not a worker of this fa-tune";
    if (generation_ > 0 && (opened->info.id != info_.id || opened->info.name != info_.name))
      return fmt::format("it now has {} ({})", opened->info.id, opened->info.name);
    if (generation_ == 0) info_ = std::move(opened->info);
    session_ = std::move(session);
    ++generation_;
    return std::nullopt;
  }

  void restart() {
    std::string trouble;
    for (const Milliseconds pause : options_.pauses) {
      std::this_thread::sleep_for(pause);
      try {
        const auto failed = start();
        if (!failed) return;
        trouble = *failed;
      } catch (const std::runtime_error& error) {
        trouble = error.what();  // no process could be started
      }
      log_debug("{}: a new worker does not start: {}", info_.id, trouble);
    }
    lost_because_ = fmt::format("{} is set aside: {} workers in a row did not start: {}", info_.id,
                                options_.pauses.size(), trouble);
    log_warning("{}", lost_because_);
  }

  Fault lost_fault() const { return {FaultKind::device_lost, lost_because_}; }

  // What the worker was about when it ended makes the Fault.
  Fault ended(const WorkerTrouble& trouble, const char* doing) {
    session_.reset();
    if (trouble.kind == WorkerTrouble::Kind::stuck) {
      lost_because_ = fmt::format("{} is set aside: {}", info_.id, trouble.text);
      log_warning("{}", lost_because_);
    }
    const bool late =
        trouble.kind == WorkerTrouble::Kind::hung || trouble.kind == WorkerTrouble::Kind::stuck;
    deaths_.push_back(
        {late ? FaultKind::timeout : FaultKind::died, fmt::format("{}: {}", doing, trouble.text)});
    log_debug("{}: the worker is over: {}", info_.id, deaths_.back().message);
    return deaths_.back();
  }

  // A request, and the answer it must have.
  template <typename Wanted>
  std::expected<Wanted, Fault> ask(const message::Request& request, Milliseconds deadline,
                                   const char* doing) {
    if (!ready()) return std::unexpected(lost_fault());
    auto answer = session_->ask(request, deadline);
    if (!answer) return std::unexpected(ended(answer.error(), doing));
    if (auto* wanted = std::get_if<Wanted>(&*answer)) return std::move(*wanted);
    if (auto* faulted = std::get_if<message::Faulted>(&*answer)) {
      if (faulted->ends) {
        session_.reset();
        deaths_.push_back(faulted->fault);
      }
      return std::unexpected(std::move(faulted->fault));
    }
    if (const auto* failed = std::get_if<message::Failed>(&*answer)) {
      if (failed->whose != message::Failed::Whose::own) throw_failed(*failed);
      // A mistake of the worker's own, over a stranger's kernel: as good as a crash.
      return std::unexpected(
          ended({WorkerTrouble::Kind::babbled, "it failed: " + failed->text}, doing));
    }
    return std::unexpected(
        ended({WorkerTrouble::Kind::babbled, "it answered another question"}, doing));
  }

  // For what is called by destructors: nothing is heard of it, and nothing thrown.
  void tell(const message::Request& request) noexcept {
    try {
      (void)ask<message::Done>(request, options_.deadlines.copy, "release");
    } catch (const std::exception& error) {
      log_debug("{}: release: {}", info_.id, error.what());
    }
  }

  // Loads a kernel into the worker there is.
  std::expected<void, Fault> bring_up(Kernel& kernel) {
    auto loaded =
        ask<message::Loaded>(message::Load{kernel.image}, options_.deadlines.load, "load");
    if (!loaded) return std::unexpected(loaded.error());
    kernel.handle = loaded->kernel;
    kernel.generation = generation_;
    return {};
  }

  // The launch in the worker's own handles.
  std::expected<Launch, Fault> translate(const Launch& launch) {
    const auto kernel = kernels_.find(launch.kernel);
    if (kernel == kernels_.end())
      return std::unexpected(
          Fault{FaultKind::load_failed, "a launch of a kernel that is not loaded"});
    if (!is_here(kernel->second.generation))
      if (auto loaded = bring_up(kernel->second); !loaded) return std::unexpected(loaded.error());
    Launch there = launch;
    there.kernel = kernel->second.handle;
    for (Argument& argument : there.arguments) {
      auto* buffer = std::get_if<BufferHandle>(&argument);
      if (buffer == nullptr) continue;
      const auto held = find(*buffer);
      if (!held) return std::unexpected(held.error());
      *buffer = held->handle;
    }
    for (ConstantData& data : there.constants) {
      const auto held = find(data.from);
      if (!held) return std::unexpected(held.error());
      data.from = held->handle;
    }
    return there;
  }

  std::expected<Buffer, Fault> find(BufferHandle buffer) const {
    if (lost()) return std::unexpected(lost_fault());
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end())
      return std::unexpected(Fault{FaultKind::out_of_bounds, "a buffer that was released"});
    if (!is_here(found->second.generation))
      return std::unexpected(
          Fault{FaultKind::gone, "a buffer that went with the process it was in"});
    return found->second;
  }

  Milliseconds allowed(Milliseconds without_incumbent, double launches) const {
    const Deadlines& deadlines = options_.deadlines;
    if (incumbent_us_ <= 0 || deadlines.incumbents <= 0) return without_incumbent;
    const double longest = deadlines.incumbents * incumbent_us_ * launches / 1000;
    return std::max(deadlines.least, Milliseconds(std::lround(longest)));
  }

  RemoteOptions options_;
  Window window_;
  DeviceInfo info_;
  std::unique_ptr<WorkerSession> session_;
  int generation_ = 0;
  std::vector<Fault> deaths_;
  double incumbent_us_ = 0;
  std::string lost_because_;
  std::uint64_t last_handle_ = 0;
  std::map<KernelHandle, Kernel> kernels_;
  std::map<BufferHandle, Buffer> buffers_;
};

}  // namespace

std::unique_ptr<Device> open_remote(RemoteOptions options) {
  return std::make_unique<RemoteDevice>(std::move(options));
}

}  // namespace fa_tune
