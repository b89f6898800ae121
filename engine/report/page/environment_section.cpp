#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/report/cost.hpp"
#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

// A list of terms; those without a text are left out.
class FactList {
 public:
  void add(const std::string& term, const std::string& text) {
    if (!text.empty()) items_ += text_element("dt", term) + text_element("dd", text);
  }
  std::string markup() const { return element("dl", items_, "facts"); }

 private:
  std::string items_;
};

Json read_json(const std::string& text) { return Json::parse(text, nullptr, false); }

double number(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_number()) return 0;
  return object[name].get<double>();
}

// How the GPU was while figures were taken.
struct Conditions {
  double low_mhz = 0, high_mhz = 0, watts = 0, celsius = 0;
  int throttled = 0;  // samples that count although a slowed GPU gave them
  int again = 0;      // taken again for that
  std::set<std::string> reasons;

  void add(const Json& detail) {
    if (!detail.is_object()) return;
    if (detail.contains("sm_mhz") && detail["sm_mhz"].is_object()) {
      const double low = number(detail["sm_mhz"], "low");
      low_mhz = low_mhz == 0 ? low : std::min(low_mhz, low);
      high_mhz = std::max(high_mhz, number(detail["sm_mhz"], "high"));
    }
    throttled += static_cast<int>(number(detail, "throttled_samples"));
    again += static_cast<int>(number(detail, "taken_again"));
    watts = std::max(watts, number(detail, "watts"));
    celsius = std::max(celsius, number(detail, "celsius"));
    if (detail.contains("held_down_by") && detail["held_down_by"].is_array())
      for (const Json& reason : detail["held_down_by"])
        if (reason.is_string()) reasons.insert(reason.get<std::string>());
  }
};

std::string machine_facts(const RunFacts& facts) {
  const db::RunRow& run = facts.run;
  FactList list;
  list.add("device", run.device_name + " (" + run.device + ")");
  list.add("driver", run.driver);
  list.add("compiler", run.compiler + ", for " + run.arch);
  list.add("limits of", run.target);
  list.add("space", run.space + ", hash " + run.space_hash.substr(0, 12));
  list.add("problem", run.problem + " " + settings_text(run.shape_json));
  list.add("strategy", fmt::format("{}, seed {}", run.strategy, run.seed));
  list.add("options", settings_text(run.options_json));
  if (!facts.measured()) return list.markup();
  Conditions screens;
  Conditions finals;
  for (const db::TrialRow& trial : facts.trials) screens.add(read_json(trial.detail_json));
  for (const auto& [id, raced] : facts.raced) finals.add(read_json(raced.row.detail_json));
  for (const auto& [name, each] : {std::pair("screens", &screens), {"finals", &finals}}) {
    const std::string when = name;
    if (each->high_mhz > 0)
      list.add("SM clock, " + when,
               fmt::format("{:.0f} to {:.0f} MHz", each->low_mhz, each->high_mhz));
    if (each->watts > 0)
      list.add("most, " + when, fmt::format("{:.0f} W, {:.0f} °C", each->watts, each->celsius));
    if (each->high_mhz > 0 || each->throttled > 0)
      list.add("throttled, " + when,
               fmt::format("{} samples{}{}", each->throttled,
                           each->again > 0 ? fmt::format(", {} taken again", each->again) : "",
                           each->reasons.empty()
                               ? ""
                               : fmt::format("; held down by {}", fmt::join(each->reasons, ", "))));
  }
  return list.markup();
}

std::string how_measured(const RunFacts& facts) {
  if (!facts.measured())
    return "No GPU ran. Each kernel's PTX was run on the CPU by the emulator, which decides "
           "whether it is correct "
           "and counts what it does; a model of " +
           facts.run.target +
           " makes a time of these counts. A prediction ranks kernels; how long they take only a "
           "GPU can say.";
  const std::string screened =
      "Each correct kernel was screened: warm cache, launches back to back, the median of its "
      "samples.";
  if (facts.raced.empty()) return screened + " No finals were held.";
  return screened +
         " The best came to the finals: gated anew on all suites with new inputs, then raced in "
         "several new processes, in interleaved blocks. Figures are means over the processes, with "
         "Student's 95% interval; what these do not tell apart by more than 0.25% is a tie.";
}

std::string cost(const RunFacts& facts) {
  double wall = 0, compile = 0, gate = 0, time = 0, busy = 0, idle = 0, search = 0, store = 0;
  std::set<std::string> devices;
  for (const db::SessionRow& session : facts.sessions) {
    const Json breakdown = read_json(session.breakdown_json);
    wall += number(breakdown, "wall_s");
    compile += number(breakdown, "compile_s");
    gate += number(breakdown, "gate_s");
    time += number(breakdown, "time_s");
    busy += number(breakdown, "busy_s");
    idle += number(breakdown, "idle_s");
    search += number(breakdown, "search_s");
    store += number(breakdown, "store_s");
    const Json names = read_json(session.devices_json);
    if (names.is_array())
      for (const Json& name : names)
        if (name.is_string()) devices.insert(name.get<std::string>());
  }
  if (wall <= 0) return "";
  const auto bar = [](const std::string& label, double seconds, bool strong) {
    return Bar{label, seconds, fmt::format("{:.1f} s", seconds), "", strong};
  };
  const std::vector<Bar> bars = {
      bar("the search, by the clock on the wall", wall, true),
      bar("compilers, side by side", compile, false),
      bar("gate, on devices", gate, false),
      bar("clock, on devices", time, false),
      bar("devices with nothing to do", idle, false),
      bar("strategy", search, false),
      bar("database", store, false),
  };
  const std::string caption = fmt::format(
      "Seconds of {} session{}, without the finals; what runs side by side adds up to more than "
      "the wall's. {} "
      "{} busy for {:.1f} s.",
      facts.sessions.size(), facts.sessions.size() == 1 ? "" : "s", fmt::join(devices, ", "),
      devices.size() == 1 ? "was" : "were", busy);
  std::string said;
  const RunCost spent = cost_of(facts.sessions, facts.measured());
  for (const std::string& line : cost_words(spent, facts.gained, facts.extras.price))
    said += text_element("p", line + ".");
  if (!said.empty()) said = text_element("h3", "What the search cost") + said;
  return text_element("h3", "Where the time went") + bars_figure(bars, caption) + said;
}

}  // namespace

std::string environment_section(const RunFacts& facts) {
  return section("machine", "What ran, and how it was timed",
                 machine_facts(facts) + text_element("p", how_measured(facts)) + cost(facts));
}

}  // namespace fa_tune::report
