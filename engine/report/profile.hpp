#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/model/bottleneck.hpp"

namespace fa_tune::report {

// How much of the time that a part of the GPU could have worked it did, in percent of its peak:
// parts of an SM while the SM had work, L2 and DRAM of the whole launch.
struct ResourceShare {
  Bottleneck resource = Bottleneck::issue;
  double percent = 0;
};

// What warps waited for, in percent of all the time that they stood waiting.
struct Stall {
  std::string reason;  // as the source calls it
  std::string meaning;
  double percent = 0;
};

void to_json(nlohmann::ordered_json& json, const Stall& stall);
void from_json(const nlohmann::ordered_json& json, Stall& stall);

struct ProfiledStep;

// What one launch of a kernel kept busy and what it waited for: measured by Nsight Compute on a
// GPU, or predicted by the emulator's model of one. What a source does not tell is missing.
struct Profile {
  std::string source;       // "ncu" or "emulator"
  std::string version;      // of ncu; the emulator's: the device profile's name
  std::string device;       // "cuda:0", "emulator:l4"
  std::string device_name;  // "NVIDIA H100 80GB HBM3"
  std::string driver;       // empty for the emulator
  std::string time_kind;    // "measured" or "predicted"
  double time_us = 0;       // of that launch
  // By fa-tune's own clock, which replays launches back to back; a profiler's is of a single one.
  std::optional<double> clock_us;

  std::vector<ResourceShare> shares;         // highest first
  std::optional<double> sms_active;          // percent of the time, mean over all SMs
  std::optional<double> launch;              // percent of the time that the launch itself takes
  std::optional<double> occupancy;           // warps at work, percent of what an SM can hold
  std::optional<double> occupancy_possible;  // what registers, shared memory and threads allow
  std::string occupancy_limited_by;          // "registers"; may be empty
  std::optional<int> registers;              // a thread
  std::optional<double> bank_conflicts;      // percent of the accesses to shared memory
  std::vector<Stall> stalls;                 // longest first
  std::vector<std::pair<std::string, double>> counters;  // as the source names them, base units

  std::vector<ProfiledStep> steps;  // of a launch of several, of which all else is the sum

  // What find_limit() finds.
  Bottleneck limit = Bottleneck::latency;
  std::string because;  // the rule with its figures, in words
};

// One of several that are launched as one.
struct ProfiledStep {
  std::string name;  // the kernel's, "set" or "copy"
  Profile profile;
};

// Sorts shares and stalls, and names the limit by this rule:
//   1. the launch takes half of the time or more: launch;
//   2. the part with the highest share of its peak, if that is 60% or more; parts of the SMs count
//      only where the SMs are at work half of the time or more;
//   3. SMs are at work less than half of the time: parallelism;
//   4. else latency, with what warps wait for most.
// 60% is where Nsight Compute's own rules begin to call a kernel bound by something other than
// latency (Kernel Profiling Guide, "GPU Speed Of Light Throughput").
void find_limit(Profile& profile);

// "ncu 2025.3.1.0 on NVIDIA H100 80GB HBM3 (cuda:0), measured".
std::string source_words(const Profile& profile);
// "special functions: at work 71% of the time": limit and reason.
std::string limit_words(const Profile& profile);

// For a person, within kPageWidth columns: shares, occupancy, stalls. No title.
std::string profile_text(const Profile& profile);

// {"source","version","device","device_name","driver","time_kind","time_us","clock_us","limit",
//  "because","shares":{resource: percent},"sms_active","launch","occupancy","occupancy_possible",
//  "occupancy_limited_by","registers","bank_conflicts","stalls":[{"reason","meaning","percent"}],
//  "counters":{name: number}}; what is missing is null, shares and counters are left out. Of several
// steps also "steps":[{"step":name, and all of this}].
nlohmann::ordered_json profile_json(const Profile& profile);
// The inverse. Throws UserError, which names `where`, for text of another form.
Profile read_profile(const std::string& text, const std::string& where);

}  // namespace fa_tune::report
