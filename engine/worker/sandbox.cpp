#include "engine/worker/sandbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune::worker {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kMachine = 0;
#endif

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
// What a C library answers with an older call of the same kind.
constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

// A filter in the making: instructions of the kernel's packet filter machine (linux/filter.h),
// which see a call's number and arguments.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    unless_equal(kMachine, kRefuse);
    load_number();
  }

  // `number` must have been loaded last for these.
  void answer(int number, std::uint32_t with) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(number), 0, 1);
    give(with);
  }
  // If any of `bits` is set in the low half of an argument, or all of them are not.
  void answer_bits(int number, unsigned argument, std::uint32_t bits, std::uint32_t if_any,
                   std::uint32_t if_none) {
    answer_test(number, argument, BPF_JSET, bits, if_any, if_none);
  }
  void answer_value(int number, unsigned argument, std::uint32_t value, std::uint32_t if_equal,
                    std::uint32_t else_) {
    answer_test(number, argument, BPF_JEQ, value, if_equal, else_);
  }
  // Numbers from here on belong to another way of calling (x32).
  void refuse_from(std::uint32_t number) {
    jump(BPF_JGE, number, 0, 1);
    give(kRefuse);
  }

  void install(std::uint32_t otherwise) {
    give(otherwise);
    if (kMachine == 0) return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs");
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    const long done =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    const bool has_none = errno == ENOSYS || errno == EINVAL;
    if (done != 0 && !(done < 0 && has_none)) fail("a filter of system calls");
  }

 private:
  void answer_test(int number, unsigned argument, unsigned test, std::uint32_t with,
                   std::uint32_t if_so, std::uint32_t if_not) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(number), 0, 4);
    load(low_half(argument));
    jump(test, with, 0, 1);
    give(if_so);
    give(if_not);
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw MachineError("a worker cannot be limited: " + what + ": " + std::strerror(errno));
  }
  static std::uint32_t low_half(unsigned argument) {
    // Little endian, as both machines are.
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * argument);
  }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  void load(std::size_t offset) {
    code_.push_back({BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)});
  }
  void jump(unsigned how, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | BPF_K | how), if_true, if_false, value});
  }
  void unless_equal(std::uint32_t value, std::uint32_t with) {
    jump(BPF_JEQ, value, 1, 0);
    give(with);
  }
  void give(std::uint32_t answer) { code_.push_back({BPF_RET | BPF_K, 0, 0, answer}); }

  std::vector<sock_filter> code_;
};

// Memory, time, the threads' own affairs, and files that are open already.
constexpr int kComputing[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_getdents64,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getcwd,
    SYS_ppoll,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_membarrier,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getcpu,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_getrusage,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_times,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
#if defined(__x86_64__)
    SYS_poll,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_arch_prctl,
    SYS_time,
#endif
};

constexpr std::uint32_t kWriting =
    O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);

// On x86-64, call numbers with this bit are those of the x32 interface.
constexpr std::uint32_t kOtherInterface = 0x4000'0000;

// What the kernel still does for this process: a seccomp filter (Linux, seccomp(2)), for all of its
// threads and for good. What is refused fails with EPERM. Nothing happens on machines other than
// x86-64 and arm64, and where the kernel has no such filters.
//
// Both set no_new_privs first and throw MachineError where a kernel that has filters refuses them.

// Only memory, threads of its own, time, and files that are open or are opened to be read.
void allow_computing_only() {
  Filter filter;
  filter.refuse_from(kOtherInterface);
  for (const int call : kComputing) filter.answer(call, kAllow);
  // clone3 hides its flags in memory, where a filter cannot see them.
  filter.answer(SYS_clone3, kUnknown);
  filter.answer_bits(SYS_clone, 0, CLONE_THREAD, kAllow, kRefuse);
  filter.answer_bits(SYS_openat, 2, kWriting, kRefuse, kAllow);
#if defined(__x86_64__)
  filter.answer_bits(SYS_open, 1, kWriting, kRefuse, kAllow);
#endif
  // abort() sends itself a signal.
  filter.answer_value(SYS_tgkill, 0, static_cast<std::uint32_t>(getpid()), kAllow, kRefuse);
  // To ask for a limit, not to set one: with no new limits given.
  filter.answer_value(SYS_prlimit64, 2, 0, kAllow, kRefuse);
  filter.answer_value(SYS_prctl, 0, PR_SET_NAME, kAllow, kRefuse);
  filter.install(kRefuse);
}

// All but these calls, and sockets beyond this machine.
void refuse_calls(std::span<const int> calls) {
  Filter filter;
  filter.refuse_from(kOtherInterface);
  for (const int call : calls) filter.answer(call, kRefuse);
  // A driver talks to its daemons on this machine.
  filter.answer_value(SYS_socket, 0, AF_UNIX, kAllow, kRefuse);
  filter.install(kAllow);
}

// Sanitizers map terabytes and make calls of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// What no driver needs once its context stands: other programs, other processes, the machine.
constexpr int kNotADriversBusiness[] = {
    SYS_execve,      SYS_execveat,     SYS_ptrace,        SYS_process_vm_writev,
    SYS_mount,       SYS_umount2,      SYS_pivot_root,    SYS_chroot,
    SYS_setns,       SYS_unshare,      SYS_kexec_load,    SYS_reboot,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_bpf,
    SYS_swapon,      SYS_swapoff,      SYS_setuid,        SYS_setgid,
    SYS_setreuid,    SYS_setregid,     SYS_setresuid,     SYS_setresgid,
    SYS_add_key,     SYS_request_key,  SYS_keyctl,        SYS_kill,
    SYS_unlinkat,    SYS_renameat2,    SYS_linkat,        SYS_symlinkat,
    SYS_fchmodat,    SYS_fchownat,     SYS_settimeofday,  SYS_clock_settime,
#if defined(__x86_64__)
    SYS_unlink,      SYS_rename,       SYS_link,          SYS_symlink,
    SYS_chmod,       SYS_chown,        SYS_rmdir,
#endif
};

// Never raises a limit.
void limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  const rlim_t lower = std::min(most, now.rlim_max);
  const rlimit wanted{lower, lower};
  setrlimit(resource, &wanted);
}

rlim_t physical_memory() {
  return static_cast<rlim_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

void limit_worker(SandboxKind kind) {
  constexpr rlim_t kFiles = 256;
  constexpr rlim_t kDriversFiles = 4096;
  // A core of a GPU's process may have many gigabytes.
  limit(RLIMIT_CORE, 0);
  if (kind == SandboxKind::driver) {
    limit(RLIMIT_NOFILE, kDriversFiles);
    if (!kSanitized) refuse_calls(kNotADriversBusiness);
    return;
  }
  limit(RLIMIT_NOFILE, kFiles);
  // No file can be made longer, whoever opened it.
  limit(RLIMIT_FSIZE, 0);
  if (kSanitized) return;
  limit(RLIMIT_AS, physical_memory());
  allow_computing_only();
}

}  // namespace fa_tune::worker
