#include "tests/engine/worker/hostile_actions.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine/util/environment.hpp"

namespace fa_tune::test {
namespace {

std::string own_folder() { return environment("FA_TUNE_BAD_WORKER_FOLDER"); }
// It is there: the test made it.
std::string victim() { return own_folder() + "/victim"; }
std::string other() { return own_folder() + "/other"; }

template <typename... Args>
long call(long number, Args... arguments) {
  return syscall(number, arguments...);
}

long open_as(const std::string& path, int flags) { return open(path.c_str(), flags, 0600); }

// Opens, and reads what is at the beginning.
long read_from(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return -1;
  char byte = 0;
  const ssize_t got = read(file, &byte, 1);
  close(file);
  return got;
}

long memory_of(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/mem";
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return -1;
  close(file);
  return 0;
}

// A process of its own ends at once: only that it could begin is asked.
long begin(long result) {
  if (result == 0) _exit(0);
  return result;
}

long clone_with(std::uint64_t flags) { return begin(call(SYS_clone, flags, 0L, 0L, 0L, 0L)); }

// A thread must share its memory, which this one does not: where the filter lets it pass, the kernel
// says EINVAL.
long thread_with(std::uint64_t flags) { return clone_with(flags | CLONE_THREAD); }

// What is asked of a limit lies at an address whose lower half is 0.
long limit_at_round_address(pid_t whose) {
  constexpr std::uintptr_t kRound = 0x1'0000'0000;
  constexpr std::size_t kPage = 4096;
  void* page = mmap(reinterpret_cast<void*>(kRound), kPage, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (page == MAP_FAILED) return -1;
  auto* const wanted = static_cast<rlimit*>(page);
  getrlimit(RLIMIT_NOFILE, wanted);
  return call(SYS_prlimit64, whose, RLIMIT_NOFILE, wanted, nullptr);
}

long same_limit(pid_t whose, bool set, bool get) {
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  rlimit old{};
  return call(SYS_prlimit64, whose, RLIMIT_NOFILE, set ? &now : nullptr, get ? &old : nullptr);
}

long across(long number) {
  std::array<char, 8> here{};
  const iovec local{here.data(), here.size()};
  const iovec remote{here.data(), here.size()};
  return call(number, getppid(), &local, 1UL, &remote, 1UL, 0UL);
}

long own_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> all{};
  for (auto& each : all) each.effective = each.permitted = ~0U;
  return call(SYS_capset, &header, all.data());
}

long map(std::size_t bytes, int flags, int protection) {
  void* room = mmap(nullptr, bytes, protection, flags | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? -1 : 0;
}

long connect_abstract() {
  const int file = socket(AF_UNIX, SOCK_STREAM, 0);
  if (file < 0) return -1;
  // An abstract name that the test listens to.
  struct {
    sa_family_t family;
    char name[16];
  } address{AF_UNIX, {}};
  std::memcpy(address.name + 1, "fa-tune-test", 12);
  return connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address.family + 13);
}

constexpr std::size_t kMuch = std::size_t{1} << 44;
constexpr int kAtFolder = AT_FDCWD;

using Actions = std::map<std::string, std::function<long()>>;

const Actions& all() {
  static const Actions actions = {
    // Files.
    {"read", [] { return read_from(victim()); }},
    {"read_system", [] { return read_from("/proc/version"); }},
    {"read_users", [] { return read_from("/etc/passwd"); }},
    {"list_shared_memory", [] { return open_as("/dev/shm", O_RDONLY | O_DIRECTORY); }},
    {"list", [] { return open_as(own_folder(), O_RDONLY | O_DIRECTORY); }},
    {"write", [] { return open_as(victim(), O_WRONLY); }},
    {"read_and_write", [] { return open_as(victim(), O_RDWR); }},
    {"create", [] { return open_as(own_folder() + "/new", O_WRONLY | O_CREAT); }},
    {"create_to_read", [] { return open_as(own_folder() + "/new", O_RDONLY | O_CREAT); }},
    {"empty", [] { return open_as(victim(), O_RDONLY | O_TRUNC); }},
    {"temporary", [] { return open_as(own_folder(), O_RDWR | O_TMPFILE); }},
    {"truncate", [] { return call(SYS_truncate, victim().c_str(), 0L); }},
    {"openat2",
     [] {
       std::array<std::uint64_t, 3> how{O_RDONLY, 0, 0};
       return call(SYS_openat2, kAtFolder, victim().c_str(), how.data(), sizeof how);
     }},
    {"renameat",
     [] {
       return call(SYS_renameat2, kAtFolder, victim().c_str(), kAtFolder, other().c_str(), 0U);
     }},
    {"unlinkat", [] { return call(SYS_unlinkat, kAtFolder, victim().c_str(), 0); }},
    {"mkdirat", [] { return call(SYS_mkdirat, kAtFolder, other().c_str(), 0700U); }},
    {"mknodat", [] { return call(SYS_mknodat, kAtFolder, other().c_str(), S_IFIFO | 0600U, 0U); }},
    {"linkat",
     [] { return call(SYS_linkat, kAtFolder, victim().c_str(), kAtFolder, other().c_str(), 0); }},
    {"symlinkat", [] { return call(SYS_symlinkat, "/", kAtFolder, other().c_str()); }},
    {"fchmodat", [] { return call(SYS_fchmodat, kAtFolder, victim().c_str(), 0777U); }},
    {"fchownat", [] { return call(SYS_fchownat, kAtFolder, victim().c_str(), 0U, 0U, 0); }},
    {"utimensat", [] { return call(SYS_utimensat, kAtFolder, victim().c_str(), nullptr, 0); }},
    {"setxattr", [] { return call(SYS_setxattr, victim().c_str(), "user.a", "b", 1UL, 0); }},
#if defined(__x86_64__)
    {"open_of_old", [] { return call(SYS_open, victim().c_str(), O_WRONLY, 0); }},
    {"creat", [] { return call(SYS_creat, other().c_str(), 0600U); }},
    {"rename", [] { return call(SYS_rename, victim().c_str(), other().c_str()); }},
    {"unlink", [] { return call(SYS_unlink, victim().c_str()); }},
    {"x32_call", [] { return call(SYS_getpid | 0x4000'0000); }},
#endif
    {"open_by_handle", [] { return call(SYS_open_by_handle_at, kAtFolder, nullptr, O_RDONLY); }},
    {"memfd", [] { return call(SYS_memfd_create, "x", 0U); }},
    {"mount", [] { return call(SYS_mount, "none", own_folder().c_str(), "tmpfs", 0UL, nullptr); }},
    {"fsopen", [] { return call(SYS_fsopen, "tmpfs", 0U); }},
    {"open_tree", [] { return call(SYS_open_tree, kAtFolder, "/", 1U); }},
    {"move_mount", [] { return call(SYS_move_mount, kAtFolder, "/", kAtFolder, "/", 0U); }},
    {"pivot_root", [] { return call(SYS_pivot_root, "/", "/"); }},
    {"chroot", [] { return call(SYS_chroot, own_folder().c_str()); }},
    // The network and other ways out.
    {"socket_internet", [] { return socket(AF_INET, SOCK_STREAM, 0); }},
    {"socket_internet6", [] { return socket(AF_INET6, SOCK_DGRAM, 0); }},
    {"socket_netlink", [] { return socket(AF_NETLINK, SOCK_RAW, 0); }},
    {"socket_packet", [] { return socket(AF_PACKET, SOCK_RAW, 0); }},
    {"socket_vsock", [] { return socket(AF_VSOCK, SOCK_STREAM, 0); }},
    {"socket_local", [] { return socket(AF_UNIX, SOCK_STREAM, 0); }},
    {"connect_local", connect_abstract},
    {"io_uring_setup",
     [] {
       std::array<char, 256> parameters{};
       return call(SYS_io_uring_setup, 4U, parameters.data());
     }},
    {"shmget", [] { return call(SYS_shmget, 0, 4096UL, 0600); }},
    {"mq_open", [] { return call(SYS_mq_open, "x", O_RDWR | O_CREAT, 0600U, nullptr); }},
    // Other processes.
    {"ptrace_me", [] { return call(SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"ptrace_engine", [] { return call(SYS_ptrace, PTRACE_SEIZE, getppid(), nullptr, nullptr); }},
    {"kill_engine", [] { return call(SYS_kill, getppid(), 0); }},
    {"kill_all", [] { return call(SYS_kill, -1, 0); }},
    {"kill_itself", [] { return call(SYS_kill, getpid(), SIGKILL); }},
    {"tkill_engine", [] { return call(SYS_tkill, getppid(), 0); }},
    {"tgkill_engine", [] { return call(SYS_tgkill, getppid(), getppid(), 0); }},
    {"tgkill_itself", [] { return call(SYS_tgkill, getpid(), gettid(), SIGKILL); }},
    {"tgkill_itself_wide",
     [] { return call(SYS_tgkill, getpid(), gettid(), std::uint64_t{1} << 32 | SIGKILL); }},
    {"sigqueue_engine",
     [] {
       siginfo_t info{};
       info.si_code = SI_QUEUE;
       return call(SYS_rt_sigqueueinfo, getppid(), 0, &info);
     }},
    {"pidfd_open", [] { return call(SYS_pidfd_open, getppid(), 0U); }},
    {"pidfd_send_signal", [] { return call(SYS_pidfd_send_signal, 0, 0, nullptr, 0U); }},
    {"pidfd_getfd", [] { return call(SYS_pidfd_getfd, 0, 0, 0U); }},
    {"process_vm_readv", [] { return across(SYS_process_vm_readv); }},
    {"process_vm_writev", [] { return across(SYS_process_vm_writev); }},
    {"kcmp", [] { return call(SYS_kcmp, getppid(), getpid(), 0, 0UL, 0UL); }},
    {"memory_of_engine", [] { return memory_of(getppid()); }},
    {"environment_of_engine",
     [] { return read_from("/proc/" + std::to_string(getppid()) + "/environ"); }},
    {"priority_of_engine", [] { return call(SYS_setpriority, PRIO_PROCESS, getppid(), 5); }},
    {"scheduling_of_engine",
     [] {
       const int lowest = 0;
       return call(SYS_sched_setscheduler, getppid(), SCHED_BATCH, &lowest);
     }},
    {"limit_of_engine_set", [] { return same_limit(getppid(), true, false); }},
    {"limit_of_engine_set_and_got", [] { return same_limit(getppid(), true, true); }},
    {"limit_of_engine_got", [] { return same_limit(getppid(), false, true); }},
    {"limit_of_engine_round", [] { return limit_at_round_address(getppid()); }},
    {"limit_set", [] { return same_limit(0, true, false); }},
    {"limit_round", [] { return limit_at_round_address(0); }},
    // Other programs and processes of its own.
    {"fork", [] { return clone_with(SIGCHLD); }},
    {"vfork", [] { return clone_with(CLONE_VFORK | SIGCHLD); }},
    {"clone_user_namespace", [] { return clone_with(CLONE_NEWUSER | SIGCHLD); }},
    {"clone_all_namespaces",
     [] { return clone_with(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD); }},
    {"thread_with_namespace", [] { return thread_with(CLONE_NEWNET); }},
    {"clone3",
     [] {
       std::array<std::uint64_t, 8> arguments{0, 0, 0, 0, SIGCHLD, 0, 0, 0};
       return begin(call(SYS_clone3, arguments.data(), sizeof arguments));
     }},
    {"unshare", [] { return call(SYS_unshare, CLONE_NEWUSER); }},
    {"setns", [] { return call(SYS_setns, 0, 0); }},
    {"execve",
     [] {
       std::array<const char*, 2> words{"true", nullptr};
       return call(SYS_execve, "/bin/true", words.data(), nullptr);
     }},
    {"execveat",
     [] {
       std::array<const char*, 2> words{"true", nullptr};
       return call(SYS_execveat, 0, "", words.data(), nullptr, AT_EMPTY_PATH);
     }},
    // Its own rights.
    {"capset", own_capabilities},
    {"setuid", [] { return call(SYS_setuid, 0U); }},
    {"setresgid", [] { return call(SYS_setresgid, 0U, 0U, 0U); }},
    {"prctl_dumpable", [] { return call(SYS_prctl, PR_SET_DUMPABLE, 1L, 0L, 0L, 0L); }},
    {"prctl_outlive_engine", [] { return call(SYS_prctl, PR_SET_PDEATHSIG, 0L, 0L, 0L, 0L); }},
    {"personality", [] { return call(SYS_personality, 0UL); }},
    {"seccomp", [] { return call(SYS_seccomp, 1U, 0U, nullptr); }},
    // The machine.
    {"bpf", [] { return call(SYS_bpf, 0, nullptr, 0U); }},
    {"perf_event_open", [] { return call(SYS_perf_event_open, nullptr, 0, -1, -1, 0UL); }},
    {"userfaultfd", [] { return call(SYS_userfaultfd, 0); }},
    {"add_key", [] { return call(SYS_add_key, "user", "x", "y", 1UL, -3); }},
    {"ioctl_owner",
     [] {
       const int owner = getppid();
       constexpr unsigned long kSetOwner = 0x8901;
       return call(SYS_ioctl, 0, kSetOwner, &owner);
     }},
    {"fcntl_owner", [] { return call(SYS_fcntl, 0, F_SETOWN, getppid()); }},
    {"keyctl", [] { return call(SYS_keyctl, 0, -3, 0); }},
    {"init_module", [] { return call(SYS_init_module, nullptr, 0UL, ""); }},
    {"kexec_load", [] { return call(SYS_kexec_load, 0UL, 0UL, nullptr, 0UL); }},
    {"reboot", [] { return call(SYS_reboot, 0, 0, 0, nullptr); }},
    {"swapon", [] { return call(SYS_swapon, "/none", 0); }},
    {"clock_settime",
     [] {
       timespec now{};
       clock_gettime(CLOCK_REALTIME, &now);
       return call(SYS_clock_settime, 99, &now);
     }},
    {"sethostname", [] { return call(SYS_sethostname, "", 0UL); }},
    {"fanotify_init", [] { return call(SYS_fanotify_init, 0U, 0U); }},
    {"inotify_init", [] { return call(SYS_inotify_init1, 0); }},
    // Memory.
    {"memory_promised", [] { return map(kMuch, MAP_PRIVATE | MAP_NORESERVE, PROT_NONE); }},
    {"memory_private",
     [] {
       return map(std::size_t{12} << 30, MAP_PRIVATE | MAP_NORESERVE, PROT_READ | PROT_WRITE);
     }},
    {"memory_shared", [] { return map(std::size_t{1} << 20, MAP_SHARED, PROT_READ | PROT_WRITE); }},
    // What honest work needs.
    {"thread",
     [] {
       std::thread([] {}).join();
       return 0L;
     }},
    {"limit_got", [] { return same_limit(0, false, true); }},
    {"memory", [] { return map(std::size_t{64} << 20, MAP_PRIVATE, PROT_READ | PROT_WRITE); }},
  };
  return actions;
}

}  // namespace

std::string try_action(const std::string& name) {
  const auto found = all().find(name);
  if (found == all().end()) return "no such action";
  const long outcome = found->second();
  return outcome < 0 ? std::strerror(errno) : "done";
}

std::vector<std::string> actions() {
  std::vector<std::string> names;
  for (const auto& [name, action] : all()) names.push_back(name);
  return names;
}

}  // namespace fa_tune::test
