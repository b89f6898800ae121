// Races beside others, as the scripts write them.

#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/report/page/page.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::report;

namespace {

const std::string kRace = R"({
 "device": "NVIDIA X", "software": "PyTorch 2", "date": "2026-01-02", "method": "graphs",
 "configs": {"fa-tune": {"template": "mma", "BLOCK_M": 64, "FAST": true}},
 "rows": [
  {"name": "fa-tune", "us": 4.5, "times_fa_tune": 1, "times_fa_tune_interval": [1, 1]},
  {"name": "sdpa", "us": 9.25, "times_fa_tune": 2.06, "times_fa_tune_interval": [2.05, 2.07]}]
})";

std::string refusal(const std::string& what, const std::string& with) {
  std::string text = kRace;
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), with);
  try {
    read_rival_race(text, "race.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a race is read") {
  const RivalRace race = read_rival_race(kRace, "race.json");
  CHECK(race.config ==
        Config({{"template", std::string("mma")}, {"BLOCK_M", std::int64_t{64}}, {"FAST", true}}));
  CHECK(race.us == 4.5);
  REQUIRE(race.rivals.size() == 1);
  CHECK(race.rivals[0].name == "sdpa");
  CHECK(race.rivals[0].us == 9.25);
  CHECK(race.rivals[0].factor == 2.06);
  CHECK(race.rivals[0].low == 2.05);
  CHECK(race.rivals[0].high == 2.07);
  CHECK(race.device == "NVIDIA X");
  CHECK(race.method == "graphs");
}

TEST_CASE("what is no race is refused, and the file named") {
  const std::string begin =
      "race.json: is not what tools/bench/attention/sdpa.py or examples write: ";
  for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
           {"{", "["},
           {R"("fa-tune": {)", R"("other": {)"},
           {R"("name": "fa-tune")", R"("name": "other")"},
           {R"("name": "sdpa")", R"("name": "fa-tune")"},
           {"9.25", R"("9.25")"},
           {"9.25", "0"},
           {"9.25", "1e999"},
           {"2.06", "-1"},
           {"[2.05, 2.07]", "[2.05]"},
           {"[2.05, 2.07]", "{}"},
           {R"("graphs")", "1"}}) {
    CAPTURE(with);
    CHECK(refusal(what, with).starts_with(begin));
  }
  CHECK(refusal("NVIDIA X", "NVIDIA Y") == "accepted");
}

}  // namespace fa_tune::test
