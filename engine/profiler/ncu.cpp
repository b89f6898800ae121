#include "engine/profiler/ncu.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/util/child_process.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::profiler {
namespace {

namespace fs = std::filesystem;
using Clock = ChildProcess::Clock;

constexpr std::size_t kMostOutput = std::size_t{8} << 20;
constexpr std::size_t kMessage = 300;  // characters of another program's that are told
constexpr std::chrono::seconds kVersionDeadline{60};
// For its end once its output is closed.
constexpr std::chrono::seconds kGoodbye{20};

bool may_be_run(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

// Where installers put the program, the likeliest first.
std::vector<fs::path> usual_places() {
  std::vector<fs::path> found;
  if (const std::string home = environment("CUDA_HOME"); !home.empty())
    found.push_back(fs::path(home) / "bin" / "ncu");
  found.emplace_back("/usr/local/cuda/bin/ncu");
  const auto add_versions = [&](const fs::path& folder, std::string_view prefix,
                                const fs::path& file) {
    std::vector<fs::path> versions;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with(prefix))
        versions.push_back(entry.path() / file);
    std::ranges::sort(versions, std::ranges::greater{});
    found.insert(found.end(), versions.begin(), versions.end());
  };
  add_versions("/usr/local", "cuda-", "bin/ncu");
  add_versions("/opt/nvidia/nsight-compute", "20", "ncu");
  return found;
}

std::string in_path(const std::string& name) {
  const std::string path = environment("PATH");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path file = fs::path(path.substr(at, end - at)) / name;
    if (end > at && may_be_run(file)) return file.string();
    at = end + 1;
  }
  return "";
}

struct Heard {
  std::string out;
  std::string errors;
  std::string ending;  // "exit code 0", "was killed"
  bool in_time = true;

  std::string all() const { return out + errors; }
};

// Runs a program to its end or the deadline, when it and its group are killed.
Heard run_to_end(const std::vector<std::string>& words, std::chrono::seconds limit) {
  Heard heard;
  const auto deadline = Clock::now() + limit;
  const auto keep = [](std::string& to, std::string_view line) {
    if (to.size() + line.size() < kMostOutput) to.append(line).push_back('\n');
  };
  try {
    ChildProcess program(words, [&](std::string_view line) { keep(heard.errors, line); });
    std::string line;
    for (;;) {
      const auto what = program.receive(line, deadline, nullptr);
      if (what == ChildProcess::Heard::line) keep(heard.out, line);
      if (what == ChildProcess::Heard::line || what == ChildProcess::Heard::too_long) continue;
      heard.in_time = what == ChildProcess::Heard::ended;
      break;
    }
    heard.ending =
        program.end(heard.in_time ? std::min(deadline, Clock::now() + kGoodbye) : Clock::now());
  } catch (const UserError& error) {
    throw MachineError(error.what());
  }
  return heard;
}

std::vector<std::string> lines_with(const std::string& text, std::string_view part) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.find(part) != std::string::npos) lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

// What comes behind a mark in the first line that has it; empty if none does.
std::string first_behind(const std::string& text, std::string_view mark) {
  const auto lines = lines_with(text, mark);
  if (lines.empty()) return "";
  return printable(lines.front().substr(lines.front().find(mark) + mark.size()), kMessage);
}

// What went wrong, in words: the program's under it, Nsight Compute's, or whatever came last.
std::string complaint_in(const std::string& text) {
  for (const char* const mark : {"fa-tune: ", "==ERROR== "})
    if (std::string complaint = first_behind(text, mark); !complaint.empty()) return complaint;
  const auto lines = lines_with(text, "");
  return lines.empty() ? "it says nothing" : printable(lines.back(), kMessage);
}

// Whether `name` stands in a complaint as a whole: another name may begin alike, or go on behind
// a point if that is one of `ends`.
bool stands_in(const std::string& complaint, const std::string& name, std::string_view ends) {
  for (std::size_t at = complaint.find(name); at != std::string::npos;
       at = complaint.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const char next = end < complaint.size() ? complaint[end] : ' ';
    const bool goes_on = std::isalnum(static_cast<unsigned char>(next)) != 0 || next == '_' ||
                         (next == '.' && ends.find('.') == std::string_view::npos);
    if (!goes_on) return true;
  }
  return false;
}

// Takes out what Nsight Compute says it does not know; how many those are. It tells them as regular
// expressions, by their whole names or by what stands before the first point.
std::size_t drop_unknown(const std::string& text, std::vector<std::string>& metrics) {
  auto complaints = lines_with(text, "Failed to find metric");
  for (std::string& complaint : complaints) std::erase(complaint, '\\');
  const auto complained = [&](const std::string& name, std::string_view ends) {
    return std::ranges::any_of(
        complaints, [&](const std::string& each) { return stands_in(each, name, ends); });
  };
  if (const std::size_t dropped =
          std::erase_if(metrics, [&](const std::string& metric) { return complained(metric, ""); }))
    return dropped;
  return std::erase_if(metrics, [&](const std::string& metric) {
    return complained(metric.substr(0, metric.find('.')), ".");
  });
}

std::vector<std::string> words_of(const NcuRun& run, const std::vector<std::string>& metrics) {
  std::vector<std::string> words = {
      run.ncu,
      "--config-file",
      "off",
      "--target-processes",
      "application-only",
      // Caches and clocks as they are while kernels are timed.
      "--cache-control",
      "none",
      "--clock-control",
      "none",
      "--launch-skip",
      std::to_string(run.skipped),
      "--launch-count",
      "1",
      "--metrics",
      fmt::format("{}", fmt::join(metrics, ",")),
      "--csv",
      "--page",
      "raw",
      "--print-units",
      "base",
  };
  words.insert(words.end(), run.program.begin(), run.program.end());
  return words;
}

// Throws for what no other try would mend.
void require_profiled(const NcuRun& run, const Heard& heard) {
  const std::string text = heard.all();
  if (text.find("ERR_NVGPUCTRPERM") != std::string::npos)
    throw MachineError(
        "the driver lets this user read no performance counters (ERR_NVGPUCTRPERM): run as root, "
        "give a container the capability SYS_ADMIN, or load the kernel module nvidia with "
        "NVreg_RestrictProfilingToAdminUsers=0; --with emulator needs no counters");
  if (!heard.in_time)
    throw MachineError(
        fmt::format("{} did not end within {} s and was killed; its last words: {}; is the GPU "
                    "idle? --with emulator needs none",
                    run.ncu, run.deadline.count(), complaint_in(text)));
  if (!first_behind(text, "==ERROR== ").empty() || lines_with(heard.out, "\"ID\",").empty())
    throw MachineError(
        fmt::format("{} profiled nothing ({}): {}", run.ncu, heard.ending, complaint_in(text)));
  if (heard.ending != "exit code 0")
    log_warning("{} ended with {} though it has profiled", run.ncu, heard.ending);
}

}  // namespace

std::string find_ncu(const std::string& given) {
  const std::string named = given.empty() ? environment("FA_TUNE_NCU") : given;
  if (!named.empty()) {
    const std::string found =
        named.find('/') == std::string::npos ? in_path(named) : (may_be_run(named) ? named : "");
    if (!found.empty()) return found;
    throw MachineError(
        fmt::format("{}: there is no such program; expected Nsight Compute's ncu", named));
  }
  if (std::string found = in_path("ncu"); !found.empty()) return found;
  for (const fs::path& file : usual_places())
    if (may_be_run(file)) return file.string();
  throw MachineError(
      "there is no Nsight Compute: no program ncu in PATH, CUDA_HOME/bin, /usr/local/cuda*/bin or "
      "/opt/nvidia/nsight-compute; install it (it comes with the CUDA toolkit), name it with --ncu "
      "or FA_TUNE_NCU, or use --with emulator");
}

std::string ncu_version(const std::string& ncu) {
  const Heard heard = run_to_end({ncu, "--version"}, kVersionDeadline);
  constexpr std::string_view kMark = "Version ";
  for (const std::string& line : lines_with(heard.all(), kMark)) {
    const std::size_t begin = line.find(kMark) + kMark.size();
    const std::string version = line.substr(
        begin, std::min(line.find_first_not_of("0123456789.", begin), line.size()) - begin);
    if (!version.empty()) return version;
  }
  throw MachineError(fmt::format(
      "{} --version {}: expected Nsight Compute's ncu", ncu,
      heard.in_time ? "names no version (" + heard.ending + ")" : std::string("does not end")));
}

report::Profile profile_with_ncu(const NcuRun& run) {
  // Numbers are written as the locale has them.
  setenv("LC_ALL", "C", /*overwrite=*/1);
  const std::string version = ncu_version(run.ncu);
  std::vector<std::string> metrics = ncu_metrics();
  // It may name one unknown metric at a time.
  while (!metrics.empty()) {
    const Heard heard = run_to_end(words_of(run, metrics), run.deadline);
    if (!run.keep.empty()) write_file(run.keep, heard.all());
    if (heard.in_time && drop_unknown(heard.all(), metrics) > 0) continue;
    require_profiled(run, heard);
    report::Profile profile = profile_of(parse_ncu_csv(heard.out, metrics));
    profile.version = version;
    return profile;
  }
  throw MachineError(run.ncu + " knows none of the metrics that are asked for");
}

}  // namespace fa_tune::profiler
