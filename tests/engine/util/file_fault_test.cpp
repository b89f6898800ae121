// Each call with which a file is written fails in turn; the linker puts ours before the C library's
// (-Wl,--wrap).

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/types.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

using namespace fa_tune;
using namespace fa_tune::test;

namespace {

enum class Step { make, write, permit, sync, name };
constexpr std::array kSteps = {Step::make, Step::write, Step::permit, Step::sync, Step::name};

// The step whose next call fails, with what; nothing for 0.
struct Plan {
  Step step = Step::make;
  int reason = 0;
  std::size_t most = SIZE_MAX;  // bytes that one write takes
} plan;

bool fails(Step step) {
  if (plan.reason == 0 || plan.step != step) return false;
  errno = plan.reason;
  // A signal comes once.
  if (plan.reason == EINTR) plan.reason = 0;
  return true;
}

std::string name_of(Step step) {
  return std::array<std::string, 5>{"make", "write", "permit", "sync",
                                    "name"}[static_cast<std::size_t>(step)];
}

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names that the linker gives
extern "C" {
int __real_mkstemp(char* name);
ssize_t __real_write(int descriptor, const void* bytes, std::size_t count);
int __real_fchmod(int descriptor, mode_t mode);
int __real_fsync(int descriptor);
int __real_rename(const char* from, const char* to);

int __wrap_mkstemp(char* name) { return fails(Step::make) ? -1 : __real_mkstemp(name); }
ssize_t __wrap_write(int descriptor, const void* bytes, std::size_t count) {
  return fails(Step::write) ? -1 : __real_write(descriptor, bytes, std::min(count, plan.most));
}
int __wrap_fchmod(int descriptor, mode_t mode) {
  return fails(Step::permit) ? -1 : __real_fchmod(descriptor, mode);
}
int __wrap_fsync(int descriptor) { return fails(Step::sync) ? -1 : __real_fsync(descriptor); }
int __wrap_rename(const char* from, const char* to) {
  return fails(Step::name) ? -1 : __real_rename(from, to);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

TEST_CASE(
    "whichever call fails, the old file stays whole, nothing is left, and the class is right") {
  const ScratchFolder folder;
  const auto path = folder / "kernel.cu";
  write_file(path, "old");
  int failed = 0;
  for (const Step step : kSteps)
    for (const int reason : {ENOSPC, EDQUOT, EIO, EMFILE, EACCES, EROFS}) {
      const std::string what = name_of(step) + ", " + std::to_string(reason);
      CAPTURE(what);
      plan = {step, reason, SIZE_MAX};
      std::string user, machine;
      try {
        write_file(path, "new");
      } catch (const UserError& error) {
        user = error.what();
      } catch (const MachineError& error) {
        machine = error.what();
      }
      plan = {};
      const bool users = reason == EACCES || reason == EROFS;
      CHECK(has(users ? user : machine, path.string() + ": cannot be written: "));
      CHECK((users ? machine : user).empty());
      CHECK(read_file(path) == "old");
      CHECK(files_in(folder.path()) == 1);
      ++failed;
    }
  write_file(path, "new");
  CHECK(read_file(path) == "new");
  MESSAGE(failed << " calls failed, one at a time");
}

TEST_CASE("a write that is interrupted, or takes a byte at a time, writes all") {
  const ScratchFolder folder;
  plan = {Step::write, EINTR, 1};
  write_file(folder / "a", "every byte");
  CHECK(plan.reason == 0);
  plan = {};
  CHECK(read_file(folder / "a") == "every byte");
}
