#include "tools/terminal/status.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/core.h>

#include "engine/report/text_format.hpp"

namespace fa_tune::terminal {
namespace {

using report::format_seconds;
using report::rate_text;

// A part of the line in its forms, the longest first. The last may be nothing.
struct Part {
  std::vector<Line> forms;
  std::size_t form = 0;

  const Line& shown() const { return forms[form]; }
  void shorten() { form = std::min(form + 1, forms.size() - 1); }
};

namespace place {
enum Index : std::uint8_t { bar, count, outcomes, best, rate, left, devices, waits, places };
}

// Whose next form is taken, one after the other, until all fits.
constexpr std::array kShortened = {
    place::best, place::bar,      place::outcomes, place::waits,    place::devices,
    place::best, place::rate,     place::bar,      place::outcomes, place::devices,
    place::left, place::outcomes, place::devices,  place::waits,    place::best};

// Waits that are over at once are not worth a word.
constexpr double kShortWait = 2;

Line bar(double share, int cells) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * cells));
  return {{"[", Color::faint},
          {std::string(static_cast<std::size_t>(full), '#'), Color::good},
          {std::string(static_cast<std::size_t>(cells - full), '-'), Color::faint},
          {"]", Color::faint}};
}

// Of the budget; nothing where its end is not known.
std::optional<double> share_done(const RunStatus& status) {
  if (status.step)
    return status.step->of > 0 ? std::optional(double{1} * status.step->done / status.step->of)
                               : std::nullopt;
  std::optional<double> share;
  if (status.of) share = double{1} * status.trials / *status.of;
  if (status.left_s && status.seconds + *status.left_s > 0)
    share = std::max(share.value_or(0), status.seconds / (status.seconds + *status.left_s));
  return share;
}

Part bar_part(const RunStatus& status) {
  const auto share = share_done(status);
  if (!share) return {{{}}};
  return {{bar(*share, 20), bar(*share, 10), {}}};
}

Part count_part(const RunStatus& status) {
  if (status.step)
    return {{{{fmt::format("finals: {} {}/{}", status.step->name, status.step->done,
                           status.step->of)}}}};
  return {{{{status.of ? fmt::format("{}/{}", status.trials, *status.of)
                       : fmt::format("{}", status.trials)}}}};
}

// Those that there are none of are left out of the shorter forms.
Part outcomes_part(const RunStatus& status) {
  if (status.trials == 0) return {{{}}};
  const Color alarm = status.failed > 0 ? Color::bad : Color::none;
  const std::string failed = fmt::format("{} failed", status.failed);
  Line some;
  if (status.passed > 0) some.push_back({fmt::format("{} passed", status.passed)});
  if (status.failed > 0) {
    if (!some.empty()) some.push_back({" "});
    some.push_back({failed, alarm});
  }
  if (status.duplicate > 0) some.push_back({fmt::format(" {} duplicate", status.duplicate)});
  return {{{{fmt::format("{} passed  ", status.passed)},
            {failed, alarm},
            {fmt::format("  {} duplicate", status.duplicate)}},
           some,
           status.failed > 0 ? Line{{failed, alarm}} : Line{},
           {}}};
}

Part best_part(const RunStatus& status) {
  if (!status.best_us) return {{{}}};
  const std::string us = fmt::format("best {:.2f} us", *status.best_us);
  if (!status.beside_us) return {{{{us + " " + status.kind}}, {{us}}, {{us}}, {}}};
  const Piece times{fmt::format(" {:.1f}x", *status.beside_us / *status.best_us),
                    *status.best_us < *status.beside_us ? Color::good : Color::none};
  return {{{{us + " " + status.kind}, times, {" the " + status.beside}},
           {{us}, times, {" the " + status.beside}},
           {{us}, times},
           {}}};
}

Part devices_part(const RunStatus& status) {
  if (status.nodes == 0 && status.lost == 0) return {{{}}};
  const auto counted = [](int count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const std::string nodes = counted(status.nodes, "node");
  const std::string devices = counted(status.devices, "device");
  if (status.lost == 0) return {{{{nodes + " " + devices}}, {{devices}}, {}}};
  const Piece lost{fmt::format(" {} lost", status.lost), Color::bad};
  return {{{{nodes + " " + devices}, lost}, {{devices}, lost}, {lost}, {}}};
}

Part waits_part(const RunStatus& status) {
  if (status.waits_for.empty() && !status.step) return {{{}}};
  std::string since = status.waits_s >= kShortWait ? format_seconds(status.waits_s) : "";
  if (status.waits_for.empty()) return {{{{since, Color::faint}}, {}}};
  if (!since.empty()) since = " " + since;
  return {{{{"waits for " + status.waits_for + since, Color::faint}},
           {{status.waits_for + since, Color::faint}},
           {}}};
}

Line joined(const std::array<Part, place::places>& parts) {
  Line line;
  for (const Part& part : parts) {
    if (columns_of(part.shown()) == 0) continue;
    if (!line.empty()) line.push_back({"  "});
    line.insert(line.end(), part.shown().begin(), part.shown().end());
  }
  return line;
}

}  // namespace

Line status_line(const RunStatus& status, std::size_t columns) {
  std::array<Part, place::places> parts;
  parts[place::bar] = bar_part(status);
  parts[place::count] = count_part(status);
  parts[place::outcomes] = status.step ? Part{{{}}} : outcomes_part(status);
  parts[place::best] = best_part(status);
  const bool counts = !status.step && status.trials > 0 && status.seconds > 0;
  parts[place::rate] =
      counts ? Part{{{{rate_text(status.trials, status.seconds)}}, {}}} : Part{{{}}};
  parts[place::left] = !status.step && status.left_s
                           ? Part{{{{format_seconds(*status.left_s) + " left"}}, {}}}
                           : Part{{{}}};
  parts[place::devices] = devices_part(status);
  parts[place::waits] = waits_part(status);
  for (const place::Index each : kShortened) {
    if (columns_of(joined(parts)) <= columns) break;
    parts[each].shorten();
  }
  return cut(joined(parts), columns);
}

}  // namespace fa_tune::terminal
