#include <doctest/doctest.h>

#include "engine/profiler/ncu.hpp"
#include "engine/util/error.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::profiler;

namespace {

const std::string kWide =
    "==PROF== Connected to process 4711 (/opt/fa-tune)\n"
    "==PROF== Profiling \"attention_mma\" - 0: 0%....50%....100% - 11 passes\n"
    "==PROF== Disconnected from process 4711\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"CC\",\"gpu__time_duration.sum\","
    "\"sm__warps_active.avg.pct_of_peak_sustained_active\",\"smsp__inst_executed.sum\",\"x__y\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"ns\",\"%\",\"inst\",\"\"\n"
    "\"0\",\"4711\",\"void f<(int)1, \"\"a\"\">(float*, int)\",\"(128, 1, 1)\",\"9.0\","
    "\"5,376\",\"24.51\",\"1,234,567\",\"n/a\"\n";

const std::string kLong =
    "\"ID\",\"Kernel Name\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
    "Value\"\r\n"
    "\"0\",\"f\",\"9.0\",\"Raw\",\"gpu__time_duration.sum\",\"nsecond\",\"5376\"\r\n"
    "\"0\",\"f\",\"9.0\",\"Raw\",\"x__y\",\"\",\"\"\r\n";

const std::vector<std::string> kWanted = {"gpu__time_duration.sum",
                                          "sm__warps_active.avg.pct_of_peak_sustained_active",
                                          "smsp__inst_executed.sum", "x__y"};

NcuReport parsed(const std::string& text) { return parse_ncu_csv(text, kWanted); }

std::string csv_with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a column a metric, with units beneath, among other lines") {
  const NcuReport report = parsed(kWide);
  REQUIRE(report.metrics.size() == 3);
  CHECK(report.find("gpu__time_duration.sum")->unit == "ns");
  CHECK(report.value("gpu__time_duration.sum") == 5376);
  CHECK(report.value("smsp__inst_executed.sum") == 1234567);
  CHECK(report.value("sm__warps_active.avg.pct_of_peak_sustained_active") == 24.51);
  CHECK(!report.value("x__y"));
  CHECK(!report.value("Block Size"));
}

TEST_CASE("a row a metric") {
  const NcuReport report = parsed(kLong);
  CHECK(report.value("gpu__time_duration.sum") == 5376);
  CHECK(report.metrics.size() == 1);
}

TEST_CASE("what there is no number for is missing") {
  for (const char* const none : {"n/a", "(!) n/a", "N/A", "", "nan", "inf", "no data"}) {
    CAPTURE(none);
    CHECK(!parsed(csv_with(kWide, "24.51", none))
               .value("sm__warps_active.avg.pct_of_peak_sustained_active"));
  }
}

TEST_CASE("what cannot be read is said in one line") {
  const std::pair<std::string, const char*> wrong[] = {
      {"==ERROR== nothing\n", "no table"},
      {"", "no table"},
      {csv_with(kWide, "24.51", "24.51%"), "expected a number"},
      {csv_with(kWide, "24.51", "2451,5"), "expected a number"},
      {csv_with(kWide, "24.51", "1,23"), "expected a number"},
      {csv_with(kWide, "5,376", ",376"), "expected a number"},
      {csv_with(kWide, "24.51", "0x18"), "expected a number"},
      {csv_with(kWide, ",\"24.51\"", ""), "has 8 fields, its heads have 9"},
      {csv_with(kWide, "\"24.51\"", "\"24.51"), "quote"},
      {csv_with(csv_with(kWide, "\"x__y\"", "\"gpu__time_duration.sum\""), "n/a", "1"),
       "there twice, with"},
      {kWide.substr(0, kWide.find("\"0\",")), "no kernel"},
      {kWide + kWide.substr(kWide.find("\"0\",")), "more than one kernel"},
      {csv_with(kLong, R"("0","f","9.0","Raw","x__y")", R"("1","f","9.0","Raw","x__y")"),
       "more than one kernel"},
      {csv_with(kLong, "Metric Unit", "Unit"), "no column 'Metric Unit'"},
  };
  for (const auto& [text, told] : wrong) {
    CAPTURE(text);
    const std::string message = message_of<MachineError>([&] { parsed(text); });
    CHECK_MESSAGE(has(message, told), message);
    CHECK(!has(message, "\n"));
  }
}

TEST_CASE("what was not asked for may be anything, and what is there twice may be the same") {
  const std::string named =
      csv_with(csv_with(kWide, "\"x__y\"", "\"device__name\""), "n/a", "H100");
  CHECK(parsed(named).metrics.size() == 3);
  const std::string twice =
      csv_with(csv_with(kWide, "\"x__y\"", "\"gpu__time_duration.sum\""), "n/a", "5,376");
  CHECK(parsed(twice).metrics.size() == 3);
}

}  // namespace fa_tune::test
