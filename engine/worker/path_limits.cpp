#include "engine/worker/path_limits.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/util/error.hpp"

namespace fa_tune::worker {
namespace {

// As in <linux/landlock.h>, which is older than the kernel in some distributions.
using Rights = std::uint64_t;
constexpr Rights kExecute = 1ULL << 0;
constexpr Rights kWriteFile = 1ULL << 1;
constexpr Rights kReadFile = 1ULL << 2;
constexpr Rights kReadFolder = 1ULL << 3;
constexpr Rights kLastOfFirst = 1ULL << 12;    // removing and making
constexpr Rights kRefer = 1ULL << 13;          // version 2: to move between folders
constexpr Rights kTruncate = 1ULL << 14;       // version 3
constexpr Rights kCommandDevice = 1ULL << 15;  // version 5: ioctl
constexpr std::uint64_t kNetwork = 3;          // version 4: bind and connect by TCP
constexpr std::uint64_t kScopes = 3;           // version 6: abstract sockets and signals

struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent;
};

constexpr int kPathBeneath = 1;
constexpr std::uint32_t kAskVersion = 1;

Rights rights_of(int version) {
  Rights rights = kLastOfFirst | (kLastOfFirst - 1);
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kCommandDevice;
  return rights;
}

[[noreturn]] void fail(const std::string& what) {
  throw MachineError("a worker cannot be limited: Landlock: " + what + ": " + std::strerror(errno));
}

class File {
 public:
  explicit File(long file) : file_(static_cast<int>(file)) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

void add(int ruleset, const PathRule& rule, std::uint64_t known) {
  const File path(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (path.get() < 0) return;
  struct stat facts {};
  if (fstat(path.get(), &facts) != 0) fail(rule.path.string());
  std::uint64_t rights = kReadFile;
  if (S_ISDIR(facts.st_mode)) rights |= kReadFolder;
  if (rule.may == PathRule::May::write) rights |= kWriteFile | kTruncate | kCommandDevice;
  const PathBeneath beneath{rights & known, path.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &beneath, 0) != 0)
    fail(rule.path.string());
}

bool has_other_threads() {
  struct stat facts {};
  // Itself, its parent, and one for each thread.
  constexpr nlink_t kOfOne = 3;
  return stat("/proc/self/task", &facts) == 0 && facts.st_nlink > kOfOne;
}

}  // namespace

int landlock_version() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

void limit_paths(std::span<const PathRule> rules, Threads threads) {
  const int version = landlock_version();
  if (version == 0) return;
  if (threads == Threads::one && has_other_threads()) {
    errno = EBUSY;
    fail("it binds one thread, and there are others already");
  }
  Ruleset wanted{rights_of(version), version >= 4 ? kNetwork : 0, version >= 6 ? kScopes : 0};
  const std::size_t size = version >= 6   ? sizeof wanted
                           : version >= 4 ? offsetof(Ruleset, scopes)
                                          : offsetof(Ruleset, network);
  const File ruleset(syscall(SYS_landlock_create_ruleset, &wanted, size, 0));
  if (ruleset.get() < 0) fail("a set of rules");
  for (const PathRule& rule : rules) add(ruleset.get(), rule, wanted.files);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs");
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) fail("its rules");
}

}  // namespace fa_tune::worker
