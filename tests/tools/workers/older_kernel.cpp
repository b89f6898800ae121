// Runs a program as on a kernel that lacks some system calls: they fail with ENOSYS.
//
//   older_kernel CALL... -- PROGRAM ARGUMENT...

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <seccomp.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at)
    if (seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS),
                               seccomp_syscall_resolve_name(argv[at]), 0, nullptr) != 0)
      return 2;
  if (at + 1 >= argc || seccomp_load(filter) != 0) return 2;
  execvp(argv[at + 1], argv + at + 1);
  std::perror(argv[at + 1]);
  return 2;
}
