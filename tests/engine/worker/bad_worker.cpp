// A worker for tests. Most of it is the real one over the emulator; what its kernels are called
// decides what becomes of the process, as a kernel's faults would: `crash`, `hang`, ...
//
//   bad_worker --device PROFILE|cuda:N [--health] [--driver]   bad_worker --compile
//   bad_worker --start segfault|hang|exit|garbage|huge|lie|other|refuse
//
// FA_TUNE_BAD_WORKER_FOLDER names a folder for what it remembers from one process to the next. A file
// `plan` in it gives accidents to kernels by their code: lines of a code hash and what becomes of
// it.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/code_hash.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/worker/sandbox.hpp"
#include "engine/worker/worker_main.hpp"
#include "tests/engine/worker/hostile_actions.hpp"
#include "tests/forwarding_device.hpp"

using namespace fa_tune;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::worker;

namespace {

constexpr std::uint64_t kMemory = std::uint64_t{8} << 30;

void write_raw(const std::string& bytes) {
  // Frames go to the first file that was free when the worker began: 4 for a device, whose 3 is the
  // window, else 3.
  for (const int file : {4, 3})
    if (write(file, bytes.data(), bytes.size()) > 0) return;
}

[[noreturn]] void hang() {
  std::signal(SIGTERM, SIG_IGN);
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// What the workers of a test remember from one process to the next, in a file that is mapped before
// the worker is limited.
struct Memory {
  bool hung;
  bool died;
  bool wedged;
};

Memory* memory() {
  static Memory* const mapped = [] {
    const std::string folder = environment("FA_TUNE_BAD_WORKER_FOLDER");
    if (folder.empty()) return static_cast<Memory*>(nullptr);
    const int file = open((folder + "/memory").c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(Memory)) != 0) std::abort();
    void* begin = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return begin == MAP_FAILED ? nullptr : static_cast<Memory*>(begin);
  }();
  return mapped;
}

void misbehave(const std::string& how) {
  if (how == "segfault") raise(SIGSEGV);
  if (how == "abort") std::abort();
  if (how == "exit") _exit(7);
  if (how == "hang") hang();
  if (how == "hang_once" && !std::exchange(memory()->hung, true)) hang();
  if (how == "segfault_once" && !std::exchange(memory()->died, true)) raise(SIGSEGV);
  // Its deed is done, and from now on no worker starts.
  if (how == "wedge") {
    memory()->wedged = true;
    hang();
  }
  if (how == "mid_frame") {
    write_raw(encode_frame(0x103, "done").substr(0, 13));
    _exit(0);
  }
  if (how == "throw") throw std::runtime_error("thrown over it");
  if (how == "garbage") write_raw("what is this?");
  if (how == "huge") write_raw(std::string("fatw\x03\x01\x00\x00\xff\xff\xff\xff", 12));
  if (how == "other") write_raw(message::encode(message::Loaded{}));
  if (how == "flood") {
    std::string lines;  // as much as a pipe holds: 100 MB are few calls
    for (int i = 0; i < 64; ++i) lines += std::string(1023, 'x') + "\n";
    for (int i = 0; i < 1600; ++i)
      if (write(STDERR_FILENO, lines.data(), lines.size()) < 0) break;
  }
}

// What becomes of kernels, by their code. Read before the worker is limited.
const std::map<std::string, std::string>& plan() {
  static const std::map<std::string, std::string> read = [] {
    std::ifstream file(std::filesystem::path(environment("FA_TUNE_BAD_WORKER_FOLDER")) / "plan");
    std::map<std::string, std::string> all;
    for (std::string hash, accident; file >> hash >> accident;) all.emplace(hash, accident);
    return all;
  }();
  return read;
}

// The emulator, with accidents.
class Accidents final : public test::ForwardingDevice {
 public:
  Accidents(std::unique_ptr<Device> inner, const std::string& uuid)
      : ForwardingDevice(std::move(inner)), info_(ForwardingDevice::info()) {
    info_.uuid = uuid;
  }

  const DeviceInfo& info() const override { return info_; }
  bool lost() const override { return lost_; }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    if (image.kernel == "load_segfault") raise(SIGSEGV);
    KernelImage there = image;
    // The name after the accident is the one in the PTX.
    if (const auto mark = image.kernel.find(':'); mark != std::string::npos)
      there.kernel = image.kernel.substr(mark + 1);
    auto handle = inner().load(there);
    if (handle) names_[*handle] = planned(image);
    return handle;
  }
  std::expected<void, Fault> fill(const std::vector<BufferFill>& fills) override {
    filled_ += " " + std::to_string(fills.size());
    return Device::fill(fills);
  }
  std::expected<void, Fault> launch(const Launch& launch) override {
    const std::string& name = names_[launch.kernel];
    if (name == "tell_fills") return std::unexpected(Fault{FaultKind::trap, filled_});
    misbehave(name);
    if (name.starts_with("try_"))
      return std::unexpected(Fault{FaultKind::trap, test::try_action(name.substr(4))});
    // As a GPU does it: what went wrong is known, and the context is dead.
    if (name == "sticky") {
      lost_ = true;
      return std::unexpected(Fault{FaultKind::out_of_bounds, "ILLEGAL_ADDRESS (700)"});
    }
    return inner().launch(launch);
  }
  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    misbehave(names_[launch.kernel]);
    return inner().time(launch, plan);
  }

 private:
  DeviceInfo info_;
  static std::string planned(const KernelImage& image) {
    const auto accident = plan().find(ptx_code_hash(image.bytes));
    if (accident != plan().end()) return accident->second;
    return image.kernel.substr(0, image.kernel.find(':'));
  }

  std::map<KernelHandle, std::string> names_;
  bool lost_ = false;
  std::string filled_ = "fills:";
};

// Makes nothing; what it is to do stands in the source.
class BadCompiler final : public Compiler {
 public:
  CompileOutcome compile(const CompileRequest& request) override {
    misbehave(request.source.text);
    if (request.source.text.starts_with("try_"))
      return std::unexpected(
          CompileFailure{test::try_action(request.source.text.substr(4)), "", true});
    if (request.source.text == "long_log")
      return std::unexpected(CompileFailure{"no", std::string(std::size_t{100} << 20, 'x'), true});
    Compiled compiled;
    compiled.image.kernel = request.source.kernel;
    compiled.image.bytes = request.source.text;
    compiled.code_hash = std::to_string(getpid());
    if (request.source.text == "one_more") compiled.image.more.emplace_back();
    return compiled;
  }
  std::string version() const override { return "bad 1"; }
};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i < argc; ++i) {
    const bool flag = i + 1 == argc || argv[i + 1][0] == '-';
    options[argv[i]] = flag ? "" : argv[i + 1];
    if (!flag) ++i;
  }
  WorkerEnd end(0);
  memory();
  plan();
  const std::string start = options["--start"];
  misbehave(start);
  if (options.contains("--compile"))
    _exit(serve_compiler(
        end,
        {{}, [] { return std::make_unique<BadCompiler>(); }, [] { return Folders{}; }, kMemory}));
  DeviceWork work;
  const std::string name = options["--device"];
  const bool cuda = name.starts_with("cuda");
  // The emulator's profile lies where a driver's worker reads nothing.
  std::unique_ptr<Device> emulated;
  if (!cuda && start != "refuse") emulated = open_device("emulator:" + name, {}, FA_TUNE_ROOT);
  work.open = [&]() -> std::unique_ptr<Device> {
    if (start == "refuse") throw UserError("this device is refused");
    if (memory() != nullptr && memory()->wedged) throw MachineError("the device is wedged");
    return std::make_unique<Accidents>(
        cuda ? open_device(name, {}, FA_TUNE_ROOT) : std::move(emulated), options["--uuid"]);
  };
  work.memory = kMemory;
  work.health = options.contains("--health");
  work.emulated = !cuda && !options.contains("--driver");
  _exit(serve_device(end, work));
}
