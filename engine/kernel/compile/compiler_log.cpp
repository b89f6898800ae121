#include "engine/kernel/compile/compiler_log.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/core.h>

namespace fa_tune::kernel {
namespace {

constexpr std::size_t kMaxWarnings = 64;
constexpr std::size_t kMaxLine = 500;
constexpr int kMaxStaticShared = 48 * 1024;  // CUDA C++ guide: more must be asked for dynamically

bool contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

std::string one_line(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(line.substr(first, kMaxLine));
}

// The number before `unit`: 24 in "Used 24 registers" for " registers".
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  const auto result = std::from_chars(line.data() + begin, line.data() + end, value);
  if (result.ec != std::errc{} || begin == end) return std::nullopt;
  return value;
}

// The words between `before` and `after`, as in "Compiling entry function 'scale' for 'sm_89'".
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = line.substr(begin + before.size());
  return rest.substr(0, after.empty() ? rest.size() : rest.find(after));
}

// "(C7510) Potential Performance Loss: ..." wherever it stands in the line, as "C7510: Potential
// ...".
std::string numbered_remark(std::string_view line) {
  const std::size_t at = line.find("(C7");
  const std::size_t close = at == std::string_view::npos ? at : line.find(')', at);
  if (close == std::string_view::npos || close - at > 7) return {};
  return std::string(line.substr(at + 1, close - at - 1)) + ": " + one_line(line.substr(close + 1));
}

bool is_error(std::string_view line) {
  return contains(line, ": error") || contains(line, "catastrophic error:") ||
         contains(line, "; error ") || line.starts_with("ptxas error") ||
         line.starts_with("ptxas fatal") || line.starts_with("nvrtc: error") ||
         line.starts_with("error:");
}

class Reader {
 public:
  explicit Reader(std::string_view kernel) : kernel_(kernel) {}

  void take(std::string_view line) {
    if (line.starts_with("ptxas")) take_resources(line);
    if (is_error(line)) {
      if (facts_.first_error.empty()) facts_.first_error = one_line(line);
      return;
    }
    take_warning(line);
  }

  LogFacts finish() {
    // ptxas sends this error elsewhere than to the log. It is of any kernel of the text: where the
    // code is not made, nobody says what the one asked for is called in it.
    if (facts_.first_error.empty() && most_shared_ > kMaxStaticShared)
      facts_.first_error = fmt::format("{} bytes of static shared memory, more than {} a block",
                                       most_shared_, kMaxStaticShared);
    return std::move(facts_);
  }

 private:
  void take_resources(std::string_view line) {
    KernelResources& resources = facts_.resources;
    if (contains(line, "Compiling entry function '"))
      entry_ = between(line, "Compiling entry function '", "'");
    if (contains(line, "Function properties for "))
      function_ = between(line, "Function properties for ", "");
    if (function_ == kernel_ && contains(line, " bytes stack frame")) {
      resources.stack_bytes = number_before(line, " bytes stack frame").value_or(-1);
      resources.spill_store_bytes = number_before(line, " bytes spill stores").value_or(-1);
      resources.spill_load_bytes = number_before(line, " bytes spill loads").value_or(-1);
    }
    if (contains(line, ": Used "))
      most_shared_ = std::max(most_shared_, number_before(line, " bytes smem").value_or(0));
    if (entry_ == kernel_ && contains(line, ": Used ")) {
      resources.registers = number_before(line, " registers").value_or(-1);
      resources.static_shared_bytes = number_before(line, " bytes smem").value_or(0);
      // With calls the frames of the functions called count too.
      const int cumulative = number_before(line, " bytes cumulative stack size").value_or(-1);
      resources.stack_bytes = std::max(resources.stack_bytes, cumulative);
    }
  }

  void take_warning(std::string_view line) {
    if (facts_.warnings.size() >= kMaxWarnings) return;
    if (std::string remark = numbered_remark(line); !remark.empty())
      facts_.warnings.push_back(std::move(remark));
    else if (contains(line, ": warning") || line.starts_with("ptxas warning"))
      facts_.warnings.push_back(one_line(line));
  }

  std::string_view kernel_;
  std::string_view entry_;
  std::string_view function_;
  int most_shared_ = 0;
  LogFacts facts_;
};

}  // namespace

LogFacts read_compiler_log(std::string_view log, std::string_view kernel) {
  Reader reader(kernel);
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.take(line);
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return reader.finish();
}

std::string clip_log(std::string log) {
  if (log.size() <= kLogLimit) return log;
  constexpr std::size_t room_for_note = 64;
  const std::size_t kept = kLogLimit - room_for_note;
  const std::string note = fmt::format("\n... {} more bytes were cut\n", log.size() - kept);
  log.resize(kept);
  return log + note;
}

}  // namespace fa_tune::kernel
