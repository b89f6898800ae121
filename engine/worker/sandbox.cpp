#include "engine/worker/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/memory.hpp"
#include "engine/worker/call_filter.hpp"
#include "engine/worker/path_limits.hpp"

namespace fa_tune::worker {
namespace {

namespace fs = std::filesystem;

// Sanitizers map terabytes and make calls of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Never raises a limit.
void limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  const rlim_t lower = std::min(most, now.rlim_max);
  const rlimit wanted{lower, lower};
  setrlimit(resource, &wanted);
}

// The first to be ended where memory is short: it can be started anew, the engine cannot.
void offer_to_end_first() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view kMost = "1000";
  [[maybe_unused]] const ssize_t wrote = write(file, kMost.data(), kMost.size());
  close(file);
}

// Root's too. Those of the one thread that there is; others inherit its.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (syscall(SYS_capset, &header, none.data()) != 0)
    throw MachineError(std::string("a worker cannot be limited: capabilities: ") +
                       std::strerror(errno));
}

// Where the system, a driver and NVRTC lie, and what they read of the machine; nobody's own files.
std::vector<PathRule> system_paths() {
  std::vector<PathRule> rules;
  for (const char* path : {"/usr", "/lib", "/lib64", "/opt", "/nix", "/etc/ld.so.cache",
                           "/etc/localtime", "/etc/nvidia", "/proc", "/sys", "/dev/null"})
    rules.push_back({path});
  const std::string folders = environment("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    if (end > begin) rules.push_back({folders.substr(begin, end - begin)});
    begin = end + 1;
  }
  return rules;
}

std::vector<PathRule> paths_to_open(SandboxKind kind, const Folders& places) {
  // Once it is open, an interpreter can open nothing more.
  if (kind == SandboxKind::interpreter) return {{"/"}};
  std::vector<PathRule> rules = system_paths();
  for (const fs::path& place : places) rules.push_back({place});
  if (kind == SandboxKind::compiler) return rules;
  for (const char* library : {"FA_TUNE_LIBCUDA", "FA_TUNE_LIBNVML"})
    if (const fs::path path = environment(library); path.has_parent_path())
      rules.push_back({path.parent_path()});
  // Drivers name their threads, and do not start where they may not. The folder stays open, or the
  // system would make another of this name some time, which no rule is for.
  [[maybe_unused]] static const int kept = open("/proc/self/task", O_PATH | O_CLOEXEC);
  rules.push_back({"/proc/self/task", PathRule::May::write});
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    // dxg: of Windows' subsystem for Linux.
    if (name.starts_with("nvidia") || name == "dxg")
      rules.push_back({entry.path(), PathRule::May::write});
  }
  return rules;
}

// What reads a file when it is first used, which is too late then.
void warm_up() {
  tzset();
  sha256("");
}

}  // namespace

void limit_privileges(SandboxKind kind, const Folders& places) {
  // A core of a GPU's process may have many gigabytes.
  limit(RLIMIT_CORE, 0);
  offer_to_end_first();
  if (kSanitized) return;
  close_memory();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    throw MachineError(std::string("a worker cannot be limited: no_new_privs: ") +
                       std::strerror(errno));
  drop_capabilities();
  warm_up();
  limit_paths(paths_to_open(kind, places), Threads::one);
}

void limit_worker(SandboxKind kind, std::uint64_t memory, const Folders& readable) {
  constexpr rlim_t kFiles = 256;
  constexpr rlim_t kDriversFiles = 4096;
  const bool drives = kind == SandboxKind::driver;
  limit(RLIMIT_NOFILE, drives ? kDriversFiles : kFiles);
  if (!drives) {
    // No file can be made longer, whoever opened it.
    limit(RLIMIT_FSIZE, 0);
    if (kSanitized) return;
    limit(RLIMIT_AS, usable_memory());
    if (memory != 0) limit(RLIMIT_DATA, memory);
    std::vector<PathRule> rules;
    for (const fs::path& path : readable) rules.push_back({path});
    // NVRTC begins threads on some machines. They keep to what there was to open it; what sources
    // name is opened in this one.
    limit_paths(rules, Threads::this_one);
  }
  if (!kSanitized) filter_calls(kind);
}

std::vector<std::string> worker_environment() {
  // Where libraries lie, which GPUs there are, and how this project's own settings begin.
  static constexpr std::array kVariables = {"LD_LIBRARY_PATH",
                                            "LANG",
                                            "LC_ALL",
                                            "TZ",
                                            "CUDA_VISIBLE_DEVICES",
                                            "CUDA_DEVICE_ORDER",
                                            "CUDA_MPS_PIPE_DIRECTORY",
                                            "NVIDIA_VISIBLE_DEVICES",
                                            "NVIDIA_DRIVER_CAPABILITIES",
                                            "ASAN_OPTIONS",
                                            "LSAN_OPTIONS",
                                            "TSAN_OPTIONS",
                                            "UBSAN_OPTIONS"};
  std::vector<std::string> kept;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name.starts_with("FA_TUNE_") || std::ranges::find(kVariables, name) != kVariables.end())
      kept.emplace_back(variable);
  }
  return kept;
}

std::uint64_t memory_of_compiler() {
  constexpr std::uint64_t kLeast = std::uint64_t{2} << 30;
  const std::uint64_t workers = std::max(1U, std::thread::hardware_concurrency());
  return std::max(kLeast, usable_memory() / 2 / workers);
}

std::uint64_t memory_of_emulator(std::size_t devices) {
  return usable_memory() / 4 * 3 / std::max<std::size_t>(1, devices);
}

std::vector<std::string> missing_limits() {
  std::vector<std::string> missing;
  if (kSanitized)
    missing.emplace_back("built with a sanitizer: workers make any system call and open any file");
  if (!has_call_filter())
    missing.emplace_back("no seccomp filters: workers can make any system call");
  if (landlock_version() == 0)
    missing.emplace_back(
        "no Landlock (Linux 5.13): a compiler's worker can read, and a GPU's worker write, any "
        "file that you can");
  else if (landlock_version() < 3)
    missing.emplace_back(
        "Landlock is older than Linux 6.2's: a GPU's worker can empty files that you can write");
  return missing;
}

void close_memory() {
  if (!kSanitized) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace fa_tune::worker
