// What genes are worth, on devices whose times are known.

#include "engine/tuner/ablation/ablation.hpp"

#include <cmath>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/report/table.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

const char* const kAblated =
    R"({"template":"toy","BLOCK":128,"WORK":0,"FACTOR":2,"COMPILES":true,"NAME":"b"})";

const test::Replacements kSpace = {
    {"NAME: [a, b]", "NAME: [a, b]\n  SAME: [0, 1]"},
    {"COMPILES: true, NAME: a}",
     "COMPILES: true, NAME: a, SAME: 1}\n"
     "  near: {template: toy, BLOCK: 64, WORK: 0, FACTOR: 2, COMPILES: true, NAME: b, SAME: 0}"}};

Config trial_config() {
  Config config = Config::from_json(kAblated);
  config.set("SAME", std::int64_t{0});
  return config;
}

// Makes kernels say which BLOCK, WORK and NAME they are of; SAME leaves no trace.
class TellingCompiler final : public Compiler {
 public:
  std::string version() const override { return "telling 1"; }
  CompileOutcome compile(const CompileRequest& request) override {
    CompileOutcome outcome = inner_->compile(request);
    if (!outcome) return outcome;
    const auto tell = [&](const char* name) {
      const std::string define = std::string("#define ") + name + " ";
      const std::size_t begin = request.source.text.find(define) + define.size();
      outcome->image.bytes +=
          std::string("// ") + name + "=" +
          request.source.text.substr(begin, request.source.text.find('\n', begin) - begin) + ";\n";
    };
    tell("WORK");
    tell("NAME");
    // The block's size is in the launch alone, so the machine code does not differ by it.
    outcome->code_hash = sha256(outcome->image.bytes);
    tell("BLOCK");
    return outcome;
  }

 private:
  std::unique_ptr<Compiler> inner_ = test::toy_compiler();
};

bool is(const KernelImage& image, const std::string& what) {
  return test::has(image.bytes, "// " + what + ";");
}

// BLOCK back to 32 costs 10%, WORK back to 21 costs 5%, both 30%; NAME costs nothing.
double truth(const KernelImage& image) {
  const bool block = is(image, "BLOCK=32");
  const bool work = is(image, "WORK=21");
  return 20.0 * (block && work            ? 1.3
                 : block                  ? 1.1
                 : work                   ? 1.05
                 : is(image, "BLOCK=256") ? 1.2
                                          : 1);
}

const TuningTask& toy_with_same() {
  static const TuningTask task = test::toy_project(kSpace);
  return task;
}

TrialRow trial() {
  TrialRow row;
  row.id = 7;
  row.config_json = trial_config().to_json();
  return row;
}

Ablation ablate_toy(Device& device, const AblationOptions& options = {},
                    std::string* said = nullptr) {
  TellingCompiler compiler;
  CompilePool pool(compiler, 2);
  return ablate(toy_with_same(), trial(), device, pool, options, [&](const std::string& line) {
    if (said != nullptr) *said += line + "\n";
  });
}

std::unique_ptr<test::MeasuringEmulator> measuring(test::MeasuringEmulator::Truth of = truth) {
  return std::make_unique<test::MeasuringEmulator>(
      open_device("emulator:l4", toy_with_same().target, test::root()), std::move(of));
}

const AblationRow& row_of(const Ablation& found, AblationKind kind,
                          const std::vector<std::string>& genes) {
  for (const AblationRow& row : found.rows) {
    std::vector<std::string> names;
    names.reserve(row.wanted.size());
    for (const GeneChange& change : row.wanted) names.push_back(change.gene);
    if (row.kind == kind && (names == genes || kind == AblationKind::baseline)) return row;
  }
  FAIL("no such row");
  return found.rows.front();
}

void check_ratio(const AblationRow& row, double ratio) {
  REQUIRE(row.ratio);
  CAPTURE(changes_text(row.wanted));
  CHECK(row.ratio->value == doctest::Approx(ratio).epsilon(0.004));
  REQUIRE(row.ratio->low);
  REQUIRE(row.ratio->high);
  CHECK(row.ratio->low < row.ratio->value);
  CHECK(row.ratio->high > row.ratio->value);
}

}  // namespace

TEST_CASE("each gene's worth is found, ties are told as ties, what acts together is named") {
  const auto device = measuring();
  std::string said;
  const Ablation found = ablate_toy(*device, {}, &said);
  CHECK(found.baseline == "plain");
  CHECK(found.time_kind == "measured");
  CHECK(found.time_us == doctest::Approx(20).epsilon(0.01));
  const AblationRow& block = row_of(found, AblationKind::back, {"BLOCK"});
  check_ratio(block, 1.1);
  CHECK(block.verdict == "slower");
  const std::string line =
      fmt::format("\n  {}: {:.3f} [{:.3f}, {:.3f}] slower\n", changes_text(block.wanted),
                  block.ratio->value, block.ratio->low, block.ratio->high);
  CHECK_MESSAGE(test::has(said, line), said);
  CHECK(block.outcome == "passed");
  CHECK(block.blocks >= 16);
  CHECK(*block.time_us == doctest::Approx(22).epsilon(0.01));
  check_ratio(row_of(found, AblationKind::back, {"WORK"}), 1.05);
  const AblationRow& name = row_of(found, AblationKind::back, {"NAME"});
  check_ratio(name, 1);
  CHECK(name.verdict == "tie");
  // Other text, the same machine code: nothing to time.
  const AblationRow& same = row_of(found, AblationKind::back, {"SAME"});
  CHECK(same.outcome == "same");
  CHECK(same.verdict == "tie");
  CHECK(same.blocks == 0);
  const AblationRow& pair = row_of(found, AblationKind::pair, {"BLOCK", "WORK"});
  check_ratio(pair, 1.3);
  REQUIRE(pair.product);
  CHECK(pair.product->value == doctest::Approx(1.155).epsilon(0.005));
  CHECK(pair.product->low < 1.155);
  CHECK(pair.product->high > 1.155);
  CHECK(pair.interaction == "more");
  // NAME ties, so it is in no pair.
  int pairs = 0;
  for (const AblationRow& row : found.rows) pairs += row.kind == AblationKind::pair;
  CHECK(pairs == 1);
  check_ratio(row_of(found, AblationKind::baseline, {}), 1.3);
  // The other way: beside the baseline, 26 us.
  const AblationRow& forward = row_of(found, AblationKind::forward, {"BLOCK"});
  check_ratio(forward, 1.05 / 1.3);
  CHECK(forward.verdict == "faster");
  CHECK(row_of(found, AblationKind::forward, {"NAME"}).verdict == "tie");
  CHECK(row_of(found, AblationKind::forward, {"SAME"}).outcome == "same");
  // The largest first.
  double last = HUGE_VAL;
  for (const AblationRow& row : found.rows)
    if (row.kind == AblationKind::back) {
      CHECK(row.ratio->value <= last);
      last = row.ratio->value;
    }
}

TEST_CASE("another baseline, and every value of the genes that it has alike") {
  const auto device = measuring();
  const Ablation found = ablate_toy(*device, {.baseline = "near", .all_genes = true, .seed = 2});
  CHECK(row_of(found, AblationKind::back, {"BLOCK"}).verdict == "tie");
  int works = 0;
  bool is_twin_told = false;
  for (const AblationRow& row : found.rows) {
    if (row.kind != AblationKind::other) continue;
    const std::string& gene = row.wanted.front().gene;
    CAPTURE(changes_text(row.wanted));
    if (gene == "WORK") {
      ++works;
      CHECK(row.outcome == "passed");
      CHECK(row.verdict == (row.wanted.front().to == Value(std::int64_t{21}) ? "slower" : "tie"));
    }
    if (gene == "FACTOR") {
      CHECK(row.outcome == "failed");
      CHECK(row.rejection.finding == "wrong");
      CHECK_FALSE(row.also.empty());
      CHECK_FALSE(row.ratio);
    }
    if (gene == "COMPILES") CHECK(row.rejection.finding == "compile_error");
    if (gene == "SAME") is_twin_told = row.outcome == "same";
  }
  CHECK(works == 7);
  CHECK(is_twin_told);
  for (const AblationRow* row : best_others(found))
    if (row->wanted.front().gene == "WORK") CHECK(row->verdict == "tie");
}

TEST_CASE("in 95 of 100 ablations all intervals hold the truth, and no tie is told apart") {
  const auto device = measuring();
  constexpr int kRuns = 20;
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    bool all = true;
    for (const AblationRow& row : ablate_toy(*device, {.baseline = {}, .seed = seed}).rows) {
      if (row.kind != AblationKind::back || row.outcome == "same") continue;
      const std::string& gene = row.wanted.front().gene;
      const double ratio = gene == "BLOCK" ? 1.1 : gene == "WORK" ? 1.05 : 1;
      all = all && row.ratio->low <= ratio && row.ratio->high >= ratio;
      CHECK(row.verdict == (ratio == 1 ? "tie" : "slower"));
    }
    missed += !all;
  }
  CHECK(missed <= 1);
}

TEST_CASE("predicted times are compared as they stand, without intervals") {
  const auto device = open_device("emulator:l4", toy_with_same().target, test::root());
  const Ablation found = ablate_toy(*device);
  CHECK(found.time_kind == "predicted");
  const AblationRow& work = row_of(found, AblationKind::back, {"WORK"});
  REQUIRE(work.ratio);
  CHECK(work.ratio->value > 1.0025);
  CHECK_FALSE(known_end(work.ratio->low));
  CHECK_FALSE(known_end(work.ratio->high));
  CHECK(work.verdict == "slower");
  CHECK(row_of(found, AblationKind::back, {"NAME"}).verdict == "tie");
}

TEST_CASE("a kernel that ends its process in the race fails, the others have their ratios") {
  const auto device = measuring();
  device->dies = [](double us, const TimingPlan& plan) {
    return us == 22 && plan.samples == 3 && plan.warm_up_samples == 1 &&
           plan.before_each.fills.empty();
  };
  const Ablation found = ablate_toy(*device);
  const AblationRow& block = row_of(found, AblationKind::back, {"BLOCK"});
  CHECK(block.outcome == "failed");
  CHECK(block.rejection.finding == "crash");
  CHECK_FALSE(block.ratio);
  check_ratio(row_of(found, AblationKind::back, {"WORK"}), 1.05);
}

TEST_CASE("a baseline that is none of the space's is a person's error") {
  const auto device = measuring();
  const std::string message =
      test::message_of<UserError>([&] { ablate_toy(*device, {.baseline = "nobody"}); });
  CHECK(test::has(message, "--baseline 'nobody'"));
  CHECK(test::has(message, "plain, near"));
}

TEST_CASE("without a preset the run's first trial that passed is the baseline") {
  const TuningTask bare = test::toy_project(
      {{"presets:\n  plain: {template: toy, BLOCK: 32, WORK: 21, FACTOR: 2, COMPILES: true, "
        "NAME: a}\n",
        ""}});
  std::vector<TrialRow> trials(3, trial());
  Config config = Config::from_json(kAblated);
  trials[2].config_json = config.to_json();
  config.set("BLOCK", std::int64_t{32});
  trials[0].config_json = config.to_json();
  trials[1].config_json = R"({"template":"other"})";
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].id = static_cast<std::int64_t>(i) + 5;
  const auto passed = [&](std::initializer_list<std::size_t> which) {
    for (TrialRow& each : trials) each.outcome = Outcome::failed;
    for (const std::size_t i : which) trials[i].outcome = Outcome::passed;
    return first_passed(trials, trials[2]);
  };
  CHECK_FALSE(passed({1}));     // of another template
  CHECK_FALSE(passed({1, 2}));  // the trial itself
  const auto first = passed({0, 1, 2});
  REQUIRE(first);
  CHECK(first->id == 5);

  const auto device = measuring();
  TellingCompiler compiler;
  CompilePool pool(compiler, 2);
  const auto ablated = [&](const AblationOptions& options) {
    return ablate(bare, trials[2], *device, pool, options, [](const std::string&) {});
  };
  const Ablation found = ablated({.baseline = {}, .first = first});
  CHECK(found.baseline_trial == 5);
  CHECK(baseline_words(found) == "trial 5, the run's first that passed");
  check_ratio(row_of(found, AblationKind::back, {"BLOCK"}), 1.1);
  RunRow run;
  run.shape_json = "{}";
  CHECK(read_ablation(ablation_json(found, run), "x").baseline_trial == 5);
  CHECK(test::has(test::message_of<UserError>([&] { ablated({}); }),
                  "has no preset of the template toy to compare the trial with, and no trial"));
  CHECK(test::has(test::message_of<UserError>([&] { ablated({.baseline = "x", .first = first}); }),
                  "has no preset of the template toy: leave out --baseline"));
}

TEST_CASE("the table keeps to the page; the JSON reads back as what was written") {
  const auto device = measuring();
  const Ablation found = ablate_toy(*device, {.baseline = {}, .all_genes = true});
  RunRow of;
  of.id = 3;
  of.space = "toy";
  of.problem = "doubling";
  of.shape_json = R"({"N":256})";
  const std::string text = ablation_text(found, of);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    CHECK(display_width(text.substr(begin, end - begin)) <= kPageWidth);
    begin = end + 1;
  }
  CHECK(test::has(text, "BLOCK 128 -> 32"));
  const std::string json = ablation_json(found, of);
  CHECK(ablation_json(read_ablation(json, "a.json"), of) == json);
  // A file from before outcomes were called passed and failed.
  const std::string word = R"("outcome": "passed")";
  std::string older = json;
  REQUIRE(older.find(word) != std::string::npos);
  older.replace(older.find(word), word.size(), R"("outcome": "right")");
  CHECK(ablation_json(read_ablation(older, "a.json"), of) == json);
  CHECK(test::has(test::message_of<UserError>([] { read_ablation("[1]", "b.json"); }), "b.json"));
}

}  // namespace fa_tune::test
