#include "engine/util/instant.hpp"

#include <array>
#include <charconv>
#include <cstddef>

#include <fmt/core.h>

namespace fa_tune {

using namespace std::chrono;

std::string instant_text(system_clock::time_point instant) {
  const auto whole = floor<milliseconds>(instant);
  const auto day = floor<days>(whole);
  const year_month_day date(day);
  const hh_mm_ss time(whole - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

std::optional<system_clock::time_point> instant_of(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kShape.size() + 1 || text.back() != 'Z') return std::nullopt;
  std::array<int, 6> parts{};  // year, month, day, hour, minute, second
  std::size_t part = 0;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return std::nullopt;
    if (digit)
      parts[part] = 10 * parts[part] + (text[i] - '0');
    else
      ++part;
  }
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  double seconds = 0;
  if (!fraction.empty()) {
    const auto [rest, error] =
        std::from_chars(fraction.data(), fraction.data() + fraction.size(), seconds);
    if (fraction.front() != '.' || error != std::errc() ||
        rest != fraction.data() + fraction.size())
      return std::nullopt;
  }
  const year_month_day date{year(parts[0]), month(static_cast<unsigned>(parts[1])),
                            day(static_cast<unsigned>(parts[2]))};
  if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60) return std::nullopt;
  return sys_days(date) + hours(parts[3]) + minutes(parts[4]) + std::chrono::seconds(parts[5]) +
         round<system_clock::duration>(duration<double>(seconds));
}

}  // namespace fa_tune
