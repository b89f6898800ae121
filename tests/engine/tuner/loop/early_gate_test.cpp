// A kernel that takes long to compile does not hold up those behind it, and changes nothing in what
// is found.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::tuner;

namespace {

// Holds one compile back until it is let go, or for so long.
class Holding : public kernel::Compiler {
 public:
  Holding(int held, std::chrono::milliseconds most) : held_(held), most_(most) {}

  kernel::CompileOutcome compile(const kernel::CompileRequest& request) override {
    if (asked_++ == held_) {
      std::unique_lock lock(mutex_);
      let_go_in_time = changed_.wait_for(lock, most_, [this] { return let_go_; });
      held_now = false;
    }
    return inner_->compile(request);
  }
  std::string version() const override { return inner_->version(); }
  void let_go() {
    const std::lock_guard lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }
  bool is_held() const { return asked_ > held_ && held_now; }

  std::atomic<bool> held_now{true};
  std::atomic<bool> let_go_in_time{false};

 private:
  std::unique_ptr<kernel::Compiler> inner_ = toy_compiler();
  int held_;
  std::chrono::milliseconds most_;
  std::atomic<int> asked_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool let_go_ = false;
};

// Lets the compile go once so many kernels have come here while it was held.
class Impatient : public ForwardingDevice {
 public:
  Impatient(Holding* compiler, std::size_t patience)
      : ForwardingDevice(device::open_device("emulator:l4", toy().target, root())),
        compiler_(compiler),
        patience_(patience) {}

  bool apart() const override { return true; }
  std::expected<device::KernelHandle, device::Fault> load(const KernelImage& image) override {
    ++loads;
    if (compiler_ != nullptr && compiler_->is_held()) {
      seen_while_held_.insert(image.bytes);
      if (seen_while_held_.size() == patience_) compiler_->let_go();
    }
    return inner().load(image);
  }

  int loads = 0;

 private:
  Holding* compiler_;
  std::size_t patience_;
  std::set<std::string> seen_while_held_;
};

std::vector<std::string> search(kernel::Compiler& compiler, device::Device& device) {
  const ScratchFolder folder(memory_folder());
  db::Store store(folder / "a.db", db::Store::Mode::write);
  EvolveOptions options;
  options.trials = 40;
  options.seed = 3;
  options.jobs = 2;
  // So far ahead that there are twins among what is under way.
  options.policy = {.generation = 4, .ahead = 9};
  QuietListener listener;
  const std::atomic<bool> stop{false};
  evolve(toy(), device, compiler, store, options, listener, stop);
  return report::run_fingerprint_lines(store, 1);
}

}  // namespace

TEST_CASE("kernels behind one that takes long to compile are gated meanwhile") {
  constexpr int kHeld = 6;
  Holding compiler(kHeld, std::chrono::minutes(1));
  // More than there are before it.
  Impatient device(&compiler, kHeld + 2);
  search(compiler, device);
  CHECK(compiler.let_go_in_time);
}

TEST_CASE("whichever takes long to compile, the trials are the same, also where it is a twin") {
  Impatient plain(nullptr, 0);
  const auto expected = search(*toy_compiler(), plain);
  for (int held = 0; held < 30; held += 3) {
    CAPTURE(held);
    Holding compiler(held, std::chrono::milliseconds(300));
    Impatient device(&compiler, 12);
    CHECK((search(compiler, device) == expected));
  }
}

}  // namespace fa_tune::test
