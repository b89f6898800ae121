// The conformance of the engine with an outside proposer that is good, and with those that are not.

#include "engine/search/external/proposer_arm.hpp"

#include <set>

#include <doctest/doctest.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;
using Direction = ProposerLog::Direction;

namespace {

constexpr int kGeneration = 8;

std::vector<Value> range(std::int64_t first, std::int64_t last) {
  std::vector<Value> values;
  for (std::int64_t value = first; value <= last; ++value) values.emplace_back(value);
  return values;
}

Space cube() {
  SpaceParts parts;
  parts.name = "cube";
  for (const char* name : {"A", "B", "C"}) parts.parameters.push_back({name, range(0, 19), {}, {}});
  parts.constraints.push_back({Expression::parse("(A + B) % 3 != 0 or A == B"), "", ""});
  parts.presets.push_back({"start", Config({{"A", 19}, {"B", 0}, {"C", 19}}), {}});
  return Space::build(std::move(parts));
}

struct Written : ProposerLog {
  std::vector<std::pair<Direction, std::string>> lines;
  std::size_t kept = 0;

  void add(Direction direction, const std::string& text) override {
    lines.emplace_back(direction, text);
  }
  void keep() override { kept = lines.size(); }
  std::vector<std::string> all(Direction direction) const {
    std::vector<std::string> texts;
    for (const auto& [each, text] : lines)
      if (each == direction) texts.push_back(text);
    return texts;
  }
  bool says(Direction direction, const std::string& part) const {
    for (const std::string& text : all(direction))
      if (test::has(text, part)) return true;
    return false;
  }
};

ProposerOptions options(const std::string& mode, std::chrono::milliseconds deadline,
                        const std::string& file = "") {
  ProposerOptions options;
  options.words = {"python3", FA_TUNE_ROOT "/tests/engine/search/external/scripted.py", mode};
  if (!file.empty()) options.words.push_back(file);
  options.deadline = deadline;
  return options;
}

// Far enough for a loaded machine; nothing that answers waits for it.
constexpr std::chrono::milliseconds kLong{20'000};
// For those that do not answer anyhow.
constexpr std::chrono::milliseconds kShort{150};

struct PlayResult {
  std::vector<std::string> configs;
  std::vector<std::string> operations;
  int from_outside = 0;
};

// Each generation is full, valid and new, whatever the proposer does.
PlayResult play(ProposerArm& arm, Strategy& strategy, const Space& space, int generations) {
  PlayResult outcome;
  std::set<std::string> seen;
  for (int generation = 0; generation < generations; ++generation) {
    const auto proposals = arm.ask(strategy, kGeneration, "{\"trials\":100}");
    CHECK(proposals.size() == kGeneration);
    std::vector<Evaluation> told;
    for (const Proposal& proposal : proposals) {
      const std::uint64_t number = outcome.configs.size() + 1;
      for (const std::uint64_t parent : proposal.parents) CHECK(parent < number);
      CHECK(space.index_of(proposal.config).has_value());
      outcome.configs.push_back(proposal.config.to_json());
      CHECK(seen.insert(outcome.configs.back()).second);
      outcome.operations.push_back(proposal.operation);
      outcome.from_outside += proposal.operation.starts_with("proposer:");
      const double time = 1 + static_cast<double>(number * 37 % 11);
      const bool passed = number % 5 != 0;
      told.push_back(
          {number, proposal.config, passed, passed ? std::optional(time) : std::nullopt, 1});
      TrialReport report;
      report.number = number;
      report.config = proposal.config;
      report.status = passed ? Outcome::passed : Outcome::failed;
      report.time_us = told.back().time_us;
      arm.report(report);
    }
    for (const Evaluation& each : told) strategy.tell(each);
  }
  return outcome;
}

struct Played {
  PlayResult outcome;
  Written written;
};

Played play(const std::string& mode, std::chrono::milliseconds deadline, int generations,
            const std::vector<std::string>& decisions = {}, const std::string& file = "") {
  const Space space = cube();
  Played played;
  const auto strategy = make_strategy("random", {.space = space, .seed = 1});
  ProposerArm arm(space, {"{}", "{}", "{}", 1}, options(mode, deadline, file), played.written,
                  decisions, nullptr);
  played.outcome = play(arm, *strategy, space, generations);
  arm.end("over");
  return played;
}

}  // namespace

TEST_CASE(
    "a good proposer has its share of each generation, and the preset stays the first trial") {
  const Played good = play("good", kLong, 3);
  CHECK(good.outcome.from_outside == 12);
  CHECK(good.outcome.configs.front() == R"({"A":19,"B":0,"C":19})");
  CHECK(good.outcome.operations[2] == "proposer:good");
  CHECK(good.outcome.configs[2] == R"({"A":0,"B":0,"C":1})");
  CHECK(good.outcome.configs[23] == R"({"A":11,"B":11,"C":12})");
  CHECK(good.written.all(Direction::taken).size() == 3);
  CHECK(good.written.all(Direction::note) == std::vector<std::string>{"exit code 0"});
  CHECK(good.written.kept == good.written.lines.size());
}

TEST_CASE("a short answer is filled, and of a long one the first good ones are taken") {
  CHECK(play("short", kLong, 3).outcome.from_outside == 3);
  const Played spares = play("spares", kLong, 2);
  CHECK(spares.outcome.from_outside == 8);
  CHECK_FALSE(spares.written.says(Direction::sent, R"("type":"refused")"));
}

TEST_CASE("a liar is answered item by item, and no time or verdict of its gets anywhere") {
  const Played liar = play("liar", kLong, 2);
  CHECK(liar.outcome.from_outside == 1);
  CHECK(liar.outcome.configs[2] == R"({"A":7,"B":7,"C":3})");
  CHECK(liar.outcome.operations[2] == "proposer:liar");
  const char* reasons[] = {"it breaks",
                           "A = '99' is not one of",
                           "A = '7' is not one of",
                           "'C' is missing",
                           "D",
                           "it is a preset, which is tried anyway",
                           "its parent 999 is no trial of this run",
                           "its genome is no object",
                           "it is no object with a genome",
                           "it was tried before in this run",
                           "it is in this answer twice"};
  for (const char* reason : reasons) {
    CAPTURE(std::string(reason));
    CHECK(liar.written.says(Direction::sent, reason));
  }
  CHECK(liar.written.says(Direction::note, "ignored its status, time, verdict"));
  for (const std::string& taken : liar.written.all(Direction::taken)) {
    CHECK_FALSE(test::has(taken, "0.001"));
    CHECK_FALSE(test::has(taken, "verdict"));
  }
}

TEST_CASE("the others cost their own share and nothing else") {
  struct Case {
    const char* mode;
    std::chrono::milliseconds deadline;
    int from_outside;
    const char* note;
  };
  const Case cases[] = {
      {"silent", kShort, 0, "left 3 questions in a row unanswered"},
      {"slow", kShort, 0, "left 3 questions in a row unanswered"},
      {"late", kShort, 0, "left 3 questions in a row unanswered"},
      {"dies", kLong, 4, "has ended (exit code 7)"},
      {"dies_in_a_word", kLong, 0, "has ended (exit code 1)"},
      {"floods", kLong, 0, "100 lines and no answer to ask 1"},
      {"one_line", kLong, 0, "a line of more than 1048576 bytes was dropped"},
      {"binary", kLong, 20, "exit code 0"},
      {"huge", kLong, 20, "a line of more than 1048576 bytes was dropped"},
      {"many_keys", kShort, 0, "left 3 questions in a row unanswered"},
      {"deaf", kLong, 0, "has ended (was killed)"},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.mode));
    const Played played = play(each.mode, each.deadline, 5);
    CHECK(played.outcome.configs.size() == 40);
    CHECK(played.outcome.from_outside == each.from_outside);
    CHECK(played.written.says(Direction::note, each.note));
    CHECK(played.written.all(Direction::taken).size() == 5);
  }
}

TEST_CASE("a proposer that is no program is one note, and the search goes on") {
  const Space space = cube();
  Written written;
  ProposerOptions none = options("good", kLong);
  none.words = {"/no/such/program"};
  const auto strategy = make_strategy("random", {.space = space, .seed = 1});
  ProposerArm arm(space, {"{}", "{}", "{}", 1}, none, written, {}, nullptr);
  CHECK(play(arm, *strategy, space, 3).from_outside == 0);
  CHECK(written.all(Direction::note).size() == 1);
}

TEST_CASE("a resumed run takes what was decided, then asks one that was told all trials so far") {
  const Played whole = play("good", kLong, 4);
  auto decisions = whole.written.all(Direction::taken);
  // Nobody is asked again: a proposer that would propose nothing changes nothing.
  const Played same = play("silent", kLong, 4, decisions);
  CHECK(same.outcome.configs == whole.outcome.configs);
  CHECK(same.outcome.operations == whole.outcome.operations);
  CHECK(same.written.lines.empty());

  decisions.resize(2);
  const test::ScratchFolder folder;
  const std::string file = (folder / "heard").string();
  const Played part = play("spares", kLong, 3, decisions, file);
  CHECK(std::equal(part.outcome.configs.begin(), part.outcome.configs.begin() + 16,
                   whole.outcome.configs.begin()));
  CHECK(part.outcome.operations[23] == "proposer:spares");
  const auto sent = part.written.all(Direction::sent);
  REQUIRE(sent.size() > 18);
  CHECK(test::has(sent[0], "hello"));
  CHECK(test::has(sent[1], R"("trial":1,)"));
  CHECK(test::has(sent[16], R"("trial":16,"id":2,"idx":3,)"));
  CHECK(test::has(sent[17], R"("type":"ask","id":3,"n":4,)"));
  std::string lines;
  for (const std::string& line : sent) lines += line + "\n";
  CHECK(read_file(file) == lines);

  const Space space = cube();
  Written written;
  for (const char* text : {"no JSON", "{}",
                           R"({"id":1,"name":"a","items":[{"idx":0,"genome":{"A":1},)"
                           R"("parents":[],"note":""}]})"})
    CHECK_THROWS_AS(
        ProposerArm(space, {"{}", "{}", "{}", 1}, options("good", kLong), written, {text}, nullptr),
        UserError);
}

TEST_CASE("a run that is stopped while its proposer thinks decides nothing") {
  const Space space = cube();
  Written written;
  const std::atomic<bool> stop{true};
  const auto strategy = make_strategy("random", {.space = space, .seed = 1});
  ProposerArm arm(space, {"{}", "{}", "{}", 1}, options("slow", kLong), written, {}, &stop);
  CHECK(arm.ask(*strategy, kGeneration, "{}").empty());
  CHECK(written.all(Direction::taken).empty());
}

TEST_CASE("with more presets than a share leaves room for, they come first") {
  SpaceParts parts;
  parts.name = "line";
  parts.parameters.push_back({"A", range(0, 60), {}, {}});
  for (std::int64_t i = 0; i < 11; ++i)
    parts.presets.push_back({"p" + std::to_string(i), Config({{"A", i}}), {}});
  const Space space = Space::build(std::move(parts));
  Written written;
  const auto strategy = make_strategy("random", {.space = space, .seed = 1});
  ProposerOptions all = options("short", kLong);
  all.share = 1;
  ProposerArm arm(space, {"{}", "{}", "{}", 1}, all, written, {}, nullptr);
  const auto first = arm.ask(*strategy, 8, "{}"), second = arm.ask(*strategy, 8, "{}");
  for (std::size_t i = 0; i < 8; ++i) CHECK(first[i].operation == "preset");
  for (std::size_t i = 0; i < 3; ++i) CHECK(second[i].operation == "preset");
  CHECK(second.size() == 8);
}

}  // namespace fa_tune::test
