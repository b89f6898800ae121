#include "engine/util/fault_point.hpp"

#include <charconv>
#include <csignal>

#include <unistd.h>

#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

std::atomic<long> passages_left = 0;

}  // namespace

void fault_point_detail::pass() {
  if (--passages_left != 0) return;
  kill(getpid(), SIGKILL);
  // The signal may reach another thread first; this one must not get on meanwhile.
  for (;;) pause();
}

void arm_fault_point(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const std::size_t place = FaultPointName::find(name);
  if (place == kFaultPoints.size())
    throw UserError("fault point '" + name +
                    "': there is none of that name; 'fa-tune doctor --fault-points' lists them");
  long passage = 1;
  if (colon != std::string::npos) {
    const char* const end = spec.data() + spec.size();
    const auto read = std::from_chars(spec.data() + colon + 1, end, passage);
    if (read.ec != std::errc() || read.ptr != end || passage < 1)
      throw UserError("fault point '" + spec + "': expected NAME or NAME:N, N from 1");
  }
  passages_left = passage;
  fault_point_detail::armed = place;
}

void arm_fault_point_of_environment() {
  if (const std::string spec = environment("FA_TUNE_FAULT"); !spec.empty()) arm_fault_point(spec);
}

}  // namespace fa_tune
