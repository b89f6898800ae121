// A run's page: what it says, and that nobody's text becomes part of it.

#include "engine/report/page/page.hpp"

#include <doctest/doctest.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/util/error.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

constexpr const char* kEvil = "<script>alert('x')</script>";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// Two of each fate; 3 came from 1, 5 from 3 with 2 beside it and is the fastest.
std::int64_t fill(Store& store, const RunRow& run) {
  const std::int64_t id = store.begin_run(run);
  for (int number = 1; number <= 9; ++number) {
    TrialRow trial = a_trial(id, number, 100 - 10 * (number <= 5 ? number : 1));
    trial.at_ms = 1000.0 * number;
    if (number >= 6) {
      trial.outcome = Outcome::failed;
      trial.stage = number <= 7 ? "compile" : "gate";
      trial.finding = number <= 7 ? "compile_error" : kEvil;
      trial.message = kEvil;
      trial.screen_time.reset();
    }
    std::vector<ParentRow> parents;
    if (number == 3) parents = {{0, 1, 0, R"({"BLOCK_M":[64,32]})"}};
    if (number == 5)
      parents = {{0, 3, 0, R"({"STAGES":[null,2]})"}, {0, 2, 1, R"({"WARPS":[4,8]})"}};
    store.record_trial(trial, parents, {}, "kernel " + std::to_string(number));
  }
  store.record_session(id,
                       {R"(["emulator:l4"])", R"({"wall_s":9.5,"busy_s":7.25,"compile_s":20})"});
  store.set_run_state(id, "done");
  return id;
}

PageExtras extras() {
  PageExtras found;
  found.presets = {{std::string("base") + kEvil, R"({"template":"mma","BLOCK_M":1})"}};
  found.roof = RoofFacts{5e8, 2e6, 9e7, 6e6, 3e5, "profile l4, 58 SMs"};
  Ablation ablation;
  ablation.trial = 5;
  ablation.baseline = kEvil;
  ablation.time_kind = "predicted";
  ablation.device_name = "x";
  ablation.time_us = 50;
  AblationRow row;
  row.wanted = {{"BLOCK_M", Value(std::int64_t{5}), Value(std::int64_t{1})}};
  row.outcome = "passed";
  row.ratio = Interval{1.8};
  row.verdict = "slower";
  ablation.rows.push_back(row);
  row.ratio = {};
  row.outcome = "failed";
  row.rejection.message = kEvil;
  ablation.rows.push_back(row);
  found.ablation = ablation;
  found.beside = RivalRace{.config = Config::from_json(R"({"template":"mma","BLOCK_M":5})"),
                           .us = 51,
                           .rivals = {{std::string("torch") + kEvil, 102, 2.004, 1.996, 2.011}},
                           .device = "GPU",
                           .software = "PyTorch 0",
                           .date = "2026-01-02",
                           .method = "graphs"};
  return found;
}

std::string page_of(const RunRow& run, PageExtras more = extras()) {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  return run_page(store, fill(store, run), std::move(more));
}

}  // namespace

TEST_CASE("a page has every part and says what it is of") {
  const std::string page = page_of(a_run());
  for (const char* id :
       {"result", "funnel", "progress", "lineage", "effects", "ablation", "roofline", "machine"}) {
    CAPTURE(id);
    CHECK(count(page, "<section id=\"" + std::string(id) + "\">") == 1);
  }
  // The winner, beside the preset that took 90.
  CHECK(has(page, "<b>50.00 us</b>"));
  CHECK(has(page, "<b>1.80x</b>"));
  // A race beside others, of the winner's config.
  CHECK(has(page, "trial 5</text>"));
  CHECK(has(page, "2.004 [1.996, 2.011]"));
  CHECK(has(page, "GPU, PyTorch 0, 2026-01-02; graphs."));
  // The funnel.
  CHECK(has(page, "Of 9 configs that were tried, 5 passed"));
  CHECK(has(page, "2 ended here: 2 compile_error"));
  // The lineage: from 90 to 50 by way of 70.
  CHECK(has(page, "from trial 1 to 5 in 2 steps, gain +44.4%"));
  CHECK(has(page, "+22.2%"));
  CHECK(has(page, "STAGES none -&gt; 2"));
  CHECK(has(page, "other parent: trial 2"));
  CHECK(has(page, "All 3 ancestors"));
  // 5.56 us is what 5e8 operations take at 90 TFLOP/s.
  CHECK(has(page, "reaches 11% of what the tensor cores"));
  CHECK(has(page, "busy for 7.2 s."));
  CHECK(has(page, "best was there after 5 s of 5 s"));
}

TEST_CASE("the same rows give the same bytes") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = fill(store, a_run());
  const bool same = run_page(store, run, extras()) == run_page(store, run, extras());
  CHECK(same);
}

TEST_CASE("the two kinds of time are never taken for each other") {
  const std::string predicted = page_of(a_run());
  CHECK(has(predicted, "All times are predictions"));
  CHECK(has(predicted, "predicted time, us"));
  CHECK_FALSE(has(predicted, "measured time"));
  CHECK_FALSE(has(predicted, "GPU seconds"));
  RunRow run = a_run();
  run.time_kind = "measured";
  PageExtras more = extras();
  more.ablation.reset();
  const std::string measured = page_of(run, more);
  CHECK(has(measured, "All times are measured"));
  CHECK(has(measured, "GPU seconds"));
  CHECK_FALSE(has(measured.substr(measured.find("</style>")), "redict"));
}

TEST_CASE("finals, and how the GPU was meanwhile, are told") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  RunRow run = a_run();
  run.time_kind = "measured";
  const std::int64_t id = fill(store, run);
  std::vector<FinalRow> rows(2);
  for (std::size_t i = 0; i < 2; ++i) {
    rows[i].trial = 5 - static_cast<std::int64_t>(i);
    rows[i].place = static_cast<int>(i) + 1;
    rows[i].tied_first = i == 0;
    rows[i].rank_us = 51 + 10.0 * static_cast<double>(i);
    rows[i].time = {rows[i].rank_us, rows[i].rank_us - 1, rows[i].rank_us + 1};
    rows[i].blocks = 16;
    const double ratio = rows[i].rank_us / 51;
    rows[i].ratio = {ratio, ratio - 0.01, ratio + 0.01};
    rows[i].samples_us = {51};
    rows[i].detail_json =
        R"({"sm_mhz":{"low":1700,"median":1755,"high":1980},"throttled_samples":3,"taken_again":1,)"
        R"("held_down_by":["heat"],"watts":412.5,"celsius":64})";
  }
  store.record_race(rows);
  const std::string page = run_page(store, id, extras());
  CHECK(has(page, "<b>51.00 us</b><span>measured, final, [50.00, 52.00]</span>"));
  CHECK(has(page, "In the finals: faster than the 1 other."));
  CHECK(has(page, "1700 to 1980 MHz"));
  CHECK(has(page, "6 samples, 2 taken again; held down by heat"));
  CHECK(has(page, "412 W, 64"));
  CHECK(has(page, "the finals timed it again"));
  CHECK(has(page, "2 failed") == false);
  // The preset was not in the finals: the two are compared by their screens, 90 and 50.
  CHECK(has(page, "<b>1.80x</b>"));
  CHECK(has(page, "not in the finals"));
}

TEST_CASE("text of the database stays text, and nothing comes from elsewhere") {
  RunRow run = a_run();
  run.space = run.device_name = run.strategy = kEvil;
  const std::string page = page_of(run);
  CHECK(count(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;") >= 8);
  CHECK_FALSE(has(page, "<script"));
  for (const char* from : {"src=", "href=", "url(", "@import", "https:"})
    CHECK_FALSE(has(page, from));
  // Of addresses only the names of the two languages.
  CHECK(count(page, "http://") == count(page, "xmlns=\"http://www.w3.org/2000/svg\"") +
                                      count(page, "xmlns=\"http://www.w3.org/1999/xhtml\""));
  CHECK(has(page, "default-src 'none'"));
  CHECK(page.size() < 300'000);
}

TEST_CASE("every drawing can be read out and has a caption") {
  const std::string page = page_of(a_run());
  const std::size_t drawings = count(page, "<svg ");
  CHECK(drawings == count(page, "role=\"img\" aria-label=\""));
  CHECK(count(page, "aria-label=\"\"") == 0);
  CHECK(drawings == 2 * count(page, "<figcaption>"));  // for a page and for a phone
}

TEST_CASE("a run without a winner, or without a trial, has a page too") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  CHECK(has(run_page(store, run, {}), "No trial passed"));
  TrialRow trial = a_trial(run, 1, 1);
  trial.outcome = Outcome::failed;
  trial.stage = "gate";
  trial.finding = "wrong";
  trial.screen_time.reset();
  store.record_trial(trial, {}, {}, "kernel");
  CHECK(has(run_page(store, run, {}), "1 ended here: 1 wrong"));
  CHECK_THROWS_AS(run_page(store, 7, {}), UserError);
}

TEST_CASE("a run is told to run while it does, and to be killed where nobody works on it") {
  const ScratchFolder folder;
  std::int64_t run = 0;
  {
    Store store(folder / "a.db", Store::Mode::write);
    run = store.begin_run(a_run());
    CHECK(run_page(store, run, {}).find("; running (process ") != std::string::npos);
  }
  const Store store(folder / "a.db", Store::Mode::read);
  CHECK(store.run(run)->state == "running");
  CHECK(run_page(store, run, {}).find("; killed.") != std::string::npos);
}

TEST_CASE("escaped: markup, quotes, and bytes that are no text") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped(std::string("\x01\xFF", 2)) == "??");
  CHECK(escaped("\xEF\xBF\xBE") == "?");
  CHECK(escaped("µs") == "µs");
}

TEST_CASE("scales: round ticks that hold the data") {
  const Scale linear = Scale::linear(17.2, 23.9, 0, 100, 5);
  CHECK(linear.low() == 16);
  CHECK(linear.high() == 24);
  CHECK(linear.ticks().size() == 5);
  CHECK(linear.at(20) == doctest::Approx(50));
  CHECK(Scale::linear(0.99, 1.01, 0, 1, 4).ticks().size() >= 4);
  CHECK(Scale::linear(5, 5, 0, 1, 4).high() > 5);
  const Scale logarithmic = Scale::logarithmic(1, 100, 0, 100);
  CHECK(logarithmic.at(10) == doctest::Approx(50));
  CHECK(logarithmic.ticks().front() == 1);
}

TEST_CASE("a point on a pixel that has one is not drawn again") {
  Svg svg(10, 10, "dots");
  svg.dots({{1, 1}, {1.2, 0.9}, {3, 3}}, "dots");
  CHECK(count(svg.markup(), "h0") == 2);
}

}  // namespace fa_tune::test
