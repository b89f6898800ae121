#include "engine/worker/sandbox.hpp"

#include <algorithm>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/worker/call_filter.hpp"

namespace fa_tune {
namespace {

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

}  // namespace fa_tune
