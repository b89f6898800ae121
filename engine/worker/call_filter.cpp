#include "engine/worker/call_filter.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::worker {
namespace {

// The lists name calls of all machines: libseccomp leaves out those that this one has not.

// Memory, time, the threads' own affairs, and files that are open already.
constexpr int kComputing[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(lseek),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(membarrier),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getcpu),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(times),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(arch_prctl),
};

// Files by their names, to be looked at and read.
constexpr int kLookingAtFiles[] = {
    SCMP_SYS(newfstatat), SCMP_SYS(stat),       SCMP_SYS(lstat),      SCMP_SYS(statx),
    SCMP_SYS(access),     SCMP_SYS(faccessat),  SCMP_SYS(faccessat2), SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
};

// What NVIDIA's driver does besides, once its context stands. Learnt from a search with its finals
// (driver 580, H100), of which dup, eventfd2, pipe2, sendmsg and recvmsg were seen only before.
constexpr int kDriving[] = {
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(dup),
    SCMP_SYS(eventfd2),
    SCMP_SYS(pipe2),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
};

constexpr scmp_datum_t kWriting =
    O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
constexpr scmp_datum_t kMaking = kWriting & ~scmp_datum_t{O_WRONLY | O_RDWR};
// A thread of this process: it shares all, and comes with no namespace of its own.
constexpr scmp_datum_t kApart = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
// What a process sends itself to end: abort(), and a fault that is raised anew.
constexpr int kOwnSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

class Filter {
 public:
  explicit Filter(std::uint32_t otherwise) : filter_(seccomp_init(otherwise)) {
    if (filter_ == nullptr) throw MachineError("a worker cannot be limited: no filter of calls");
    // Calls in the ways of other machines: 32-bit ones, x32.
    need(seccomp_attr_set(filter_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)));
    need(seccomp_attr_set(filter_, SCMP_FLTATR_CTL_TSYNC, 1));
    need(seccomp_attr_set(filter_, SCMP_FLTATR_CTL_OPTIMIZE, 2));
  }
  ~Filter() { seccomp_release(filter_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  template <std::size_t count>
  void allow(const int (&calls)[count]) {
    for (const int call : calls) allow(call);
  }
  // With all of these conditions met. Several rules for a call: one of them.
  void allow(int call, const std::vector<scmp_arg_cmp>& conditions = {}) {
    need(seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, call,
                                static_cast<unsigned>(conditions.size()), conditions.data()));
  }
  void answer(int call, int error) {
    need(seccomp_rule_add_array(filter_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), call, 0,
                                nullptr));
  }
  void install() { need(seccomp_load(filter_)); }

 private:
  static void need(int result) {
    if (result != 0)
      throw MachineError(std::string("a worker cannot be limited: a filter of system calls: ") +
                         std::strerror(-result));
  }

  scmp_filter_ctx filter_;
};

// An int: the kernel looks at the lower half of what is passed, and so does a mask.
scmp_arg_cmp has_none_of(unsigned argument, scmp_datum_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, 0};
}
// All 64 bits, so that an int with anything in its upper half is refused.
scmp_arg_cmp is(unsigned argument, scmp_datum_t value) { return {argument, SCMP_CMP_EQ, value, 0}; }

void allow_common(Filter& filter) {
  filter.allow(kComputing);
  // clone3 hides its flags in memory, where a filter cannot see them. This is what a C library
  // takes for an older kernel, and uses clone.
  filter.answer(SCMP_SYS(clone3), ENOSYS);
  filter.allow(SCMP_SYS(clone), {{0, SCMP_CMP_MASKED_EQ, kApart | CLONE_THREAD, CLONE_THREAD}});
  for (const int signal : kOwnSignals)
    filter.allow(SCMP_SYS(tgkill), {is(0, static_cast<scmp_datum_t>(getpid())),
                                    is(2, static_cast<scmp_datum_t>(signal))});
  // To ask for a limit of its own, not to set one: with no new limits given.
  filter.allow(SCMP_SYS(prlimit64), {is(0, 0), is(2, 0)});
  filter.allow(SCMP_SYS(getrlimit));
  filter.allow(SCMP_SYS(prctl), {is(0, PR_SET_NAME)});
}

void allow_computing(Filter& filter) {
  // Memory that is shared counts for no limit of this process.
  filter.allow(SCMP_SYS(mmap), {has_none_of(3, MAP_SHARED)});
}

void allow_compiling(Filter& filter) {
  allow_computing(filter);
  filter.allow(kLookingAtFiles);
  filter.allow(SCMP_SYS(openat), {has_none_of(2, kWriting)});
  filter.allow(SCMP_SYS(open), {has_none_of(1, kWriting)});
}

void allow_driving(Filter& filter) {
  filter.allow(SCMP_SYS(mmap));
  filter.allow(kLookingAtFiles);
  filter.allow(kDriving);
  // Where it may write, paths say (path_limits.hpp).
  filter.allow(SCMP_SYS(openat), {has_none_of(2, kMaking)});
  filter.allow(SCMP_SYS(open), {has_none_of(1, kMaking)});
  // Commands for NVIDIA's devices, for its unified memory (plain numbers, and two to begin and end
  // with), and for how a file is read. Not who is to get a file's signals.
  filter.allow(SCMP_SYS(ioctl), {{1, SCMP_CMP_MASKED_EQ, 0xff00, 'F' << 8}});
  filter.allow(SCMP_SYS(ioctl), {{1, SCMP_CMP_LE, 0xfff, 0}});
  for (const unsigned command : {0x3000'0001U, 0x3000'0002U, unsigned{FIOCLEX}, unsigned{FIONBIO}})
    filter.allow(SCMP_SYS(ioctl), {is(1, command)});
  for (const int command :
       {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_ADD_SEALS, F_GET_SEALS})
    filter.allow(SCMP_SYS(fcntl), {is(1, static_cast<scmp_datum_t>(command))});
}

// --- the log ------------------------------------------------------------------------------------

constexpr int kNames = 512;
std::array<std::string, kNames>& names() {
  static std::array<std::string, kNames> all;
  return all;
}

void add_text(char*& to, const char* end, const char* text) {
  while (*text != 0 && to < end) *to++ = *text++;
}

void add_number(char*& to, const char* end, std::uint64_t number) {
  constexpr const char* kDigits = "0123456789abcdef";
  constexpr unsigned kHex = 16;
  std::array<char, 2 * sizeof number> digits{};
  std::size_t count = 0;
  do {
    digits[count++] = kDigits[number % kHex];
    number /= kHex;
  } while (number != 0);
  add_text(to, end, "0x");
  while (count > 0 && to < end) *to++ = digits[--count];
}

// The kernel asks here, in the thread that made the call, in place of doing it. Only what a signal
// handler may do: the names are there already.
void tell_refused(int, siginfo_t* info, void* context) {
  auto* const thread = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  greg_t* const registers = thread->uc_mcontext.gregs;
  const std::uint64_t arguments[] = {static_cast<std::uint64_t>(registers[REG_RDI]),
                                     static_cast<std::uint64_t>(registers[REG_RSI]),
                                     static_cast<std::uint64_t>(registers[REG_RDX]),
                                     static_cast<std::uint64_t>(registers[REG_R10])};
  registers[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
  auto* const registers = thread->uc_mcontext.regs;
  const std::uint64_t arguments[] = {registers[0], registers[1], registers[2], registers[3]};
  registers[0] = static_cast<std::uint64_t>(-EPERM);
#else
  const std::uint64_t arguments[] = {0};
  (void)thread;
#endif
  std::array<char, 256> line{};
  char* to = line.data();
  const char* const end = line.data() + line.size() - 1;
  add_text(to, end, kSandboxLog);
  add_text(to, end, "refused ");
  const int number = info->si_syscall;
  if (number >= 0 && number < kNames && !names()[static_cast<std::size_t>(number)].empty())
    add_text(to, end, names()[static_cast<std::size_t>(number)].c_str());
  else
    add_number(to, end, static_cast<std::uint64_t>(number));
  const char* before = "(";
  for (const std::uint64_t argument : arguments) {
    add_text(to, end, before);
    add_number(to, end, argument);
    before = ", ";
  }
  add_text(to, end, ")");
  *to++ = '\n';
  [[maybe_unused]] const ssize_t wrote =
      write(STDERR_FILENO, line.data(), static_cast<std::size_t>(to - line.data()));
}

void prepare_log() {
  for (int number = 0; number < kNames; ++number)
    if (char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number)) {
      names()[static_cast<std::size_t>(number)] = name;
      std::free(name);  // NOLINT(cppcoreguidelines-no-malloc): libseccomp's
    }
  struct sigaction action {};
  action.sa_sigaction = tell_refused;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSYS, &action, nullptr);
}

}  // namespace

bool has_call_filter() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool logs_refused_calls() { return environment("FA_TUNE_SANDBOX") == "log"; }

void filter_calls(SandboxKind kind) {
  if (!has_call_filter()) return;
  const bool logs = logs_refused_calls();
  if (logs) prepare_log();
  Filter filter(logs ? SCMP_ACT_TRAP : SCMP_ACT_ERRNO(EPERM));
  allow_common(filter);
  if (kind == SandboxKind::interpreter) allow_computing(filter);
  if (kind == SandboxKind::compiler) allow_compiling(filter);
  if (kind == SandboxKind::driver) allow_driving(filter);
  filter.install();
}

}  // namespace fa_tune::worker
