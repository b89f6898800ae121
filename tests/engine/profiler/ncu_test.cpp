// Nsight Compute's part is taken by scripts that print what it prints.

#include "engine/profiler/ncu.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::profiler;
using namespace fa_tune::report;
namespace fs = std::filesystem;

namespace {

const std::string kVersion =
    "if [ \"$1\" = --version ]; then echo 'NVIDIA (R) Nsight Compute Command Line Profiler'; "
    "echo 'Version 2025.3.1.0 (build 36398880) (public-release)'; exit 0; fi\n";

const std::string kTable =
    "cat <<'END'\n"
    "==PROF== Disconnected from process 1\n"
    "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\","
    "\"smsp__issue_active.avg.pct_of_peak_sustained_active\"\n"
    "\"\",\"\",\"ns\",\"%\"\n"
    "\"0\",\"f\",\"5,376\",\"31.5\"\n"
    "END\n";

// A program that says its version as ncu does, and does `body` otherwise.
std::string fake(const ScratchFolder& folder, const std::string& body,
                 const std::string& version = kVersion) {
  const fs::path file = folder / "ncu";
  write_file(file, "#!/bin/sh\n" + version + body);
  fs::permissions(file, fs::perms::owner_all);
  return file.string();
}

NcuRun run_of(const std::string& ncu) { return {.ncu = ncu, .program = {"/bin/true", "a b"}}; }

std::string ncu_refusal(const std::string& body) {
  const ScratchFolder folder;
  NcuRun run = run_of(fake(folder, body));
  run.deadline = std::chrono::seconds(2);
  const std::string message = message_of<MachineError>([&] { profile_with_ncu(run); });
  CHECK(!has(message, "\n"));
  return message;
}

// An environment variable as the test wants it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("a launch is profiled by words, without a shell") {
  const ScratchFolder folder;
  const Profile profile = profile_with_ncu(run_of(
      fake(folder, R"(printf '%s\n' "$@" >')" + (folder / "words").string() + "'\n" + kTable)));
  CHECK(profile.source == "ncu");
  CHECK(profile.version == "2025.3.1.0");
  CHECK(profile.time_us == doctest::Approx(5.376));
  CHECK(profile.limit == Bottleneck::latency);
  const std::string words = read_file(folder / "words");
  CHECK(words.starts_with("--config-file\noff\n"));
  CHECK(has(words, "--cache-control\nnone\n"));
  CHECK(has(words, "--clock-control\nnone\n"));
  CHECK(has(words, "--launch-skip\n3\n--launch-count\n1\n"));
  CHECK(words.ends_with("--print-units\nbase\n/bin/true\na b\n"));
}

TEST_CASE("metrics that it does not know are left out, one by one or several at a time") {
  const ScratchFolder folder;
  // As Nsight Compute says it: a regular expression, its points escaped or not.
  const std::string body =
      "case \"$*\" in\n"
      "*stalled_gmma*) echo '==ERROR== Failed to find metric "
      "regex:^smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio$'; exit 1;;\n"
      "*pipe_fp16*) echo '==ERROR== Failed to find metric "
      "regex:^sm__inst_executed_pipe_fp16\\.avg\\.pct_of_peak_sustained_active(\\.(sum|avg))?$' "
      ">&2; echo '==ERROR== Failed to find metric regex:^dram__bytes_read\\.sum$' >&2; exit 1;;\n"
      // By what stands before the point, as for a name that was given without more.
      "*l1tex__data_bank_reads*) echo '==ERROR== Failed to find metric "
      "regex:^l1tex__data_bank_reads\\.(sum|avg|min|max)$'; exit 1;;\n"
      "esac\nprintf '%s\\n' \"$@\" >'" +
      (folder / "words").string() + "'\n" + kTable;
  CHECK(profile_with_ncu(run_of(fake(folder, body))).time_us == doctest::Approx(5.376));
  const std::string words = read_file(folder / "words");
  CHECK(!has(words, "dram__bytes_read.sum"));
  CHECK(!has(words, "l1tex__data_bank_reads."));
  CHECK(has(words, "l1tex__data_bank_writes."));
  CHECK(has(words, "dram__bytes_write.sum"));
  CHECK(has(words, "sm__inst_executed_pipe_fma.avg"));
}

TEST_CASE("what goes wrong is said in a line, with what to do") {
  const std::string denied = ncu_refusal(
      "echo '==PROF== Connected to process 1'\n"
      "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
      "Performance Counters on the target device 0.'\nexit 1\n");
  CHECK_MESSAGE(has(denied, "run as root"), denied);
  CHECK(has(denied, "--with emulator"));
  const std::string hung = ncu_refusal("echo '==PROF== Connected to process 1'\nsleep 60\n");
  CHECK_MESSAGE(has(hung, "did not end within 2 s"), hung);
  CHECK(has(hung, "Connected to process"));
  const std::string failed = ncu_refusal(
      "echo 'fa-tune: the kernel to profile: an illegal address' >&2\n"
      "echo '==ERROR== The application returned an error code (3).'\nexit 3\n");
  CHECK_MESSAGE(has(failed, "the kernel to profile: an illegal address"), failed);
  CHECK(has(failed, "exit code 3"));
  const std::string none = ncu_refusal("echo '==WARNING== No kernels were profiled.'\n");
  CHECK_MESSAGE(has(none, "No kernels were profiled"), none);
  CHECK_MESSAGE(has(ncu_refusal("kill -9 $$\n"), "signal 9"), "");
  CHECK_MESSAGE(has(ncu_refusal("exit 1\n"), "it says nothing"), "");
  // An error is one though there is a table.
  CHECK(has(ncu_refusal("echo '==ERROR== UnknownError'\n" + kTable), "UnknownError"));
  // A complaint about a metric that was not asked for does not go round for ever.
  CHECK(has(ncu_refusal("echo '==ERROR== Failed to find metric regex:^foo$'; exit 1\n"),
            "regex:^foo$"));
}

TEST_CASE("a table stands though the program ended otherwise") {
  const ScratchFolder folder;
  CHECK(profile_with_ncu(run_of(fake(folder, kTable + "exit 7\n"))).time_us > 0);
}

TEST_CASE("the program is looked for, and must be what it is taken for") {
  const ScratchFolder folder;
  const std::string ncu = fake(folder, kTable);
  const Variable named("FA_TUNE_NCU", "");
  {
    const Variable path("PATH", folder.path().string() + ":/usr/bin:/bin");
    CHECK(find_ncu("") == ncu);
    CHECK(find_ncu("ncu") == ncu);
  }
  CHECK(find_ncu(ncu) == ncu);
  {
    const Variable other("FA_TUNE_NCU", ncu);
    const Variable path("PATH", "/nowhere");
    CHECK(find_ncu("") == ncu);
  }
  CHECK(has(message_of<MachineError>([&] { find_ncu("/nowhere/ncu"); }), "/nowhere/ncu"));
  {
    const Variable path("PATH", "/nowhere");
    const Variable home("CUDA_HOME", (folder / "cuda").string());
    fs::create_directories(folder / "cuda/bin");
    fs::copy_file(ncu, folder / "cuda/bin/ncu");
    CHECK(find_ncu("") == (folder / "cuda/bin/ncu").string());
  }
  CHECK(has(message_of<MachineError>([] { ncu_version("/bin/true"); }), "names no version"));
  CHECK(has(message_of<MachineError>([] { ncu_version("/nowhere/ncu"); }), "cannot be started"));
}

}  // namespace fa_tune::test
