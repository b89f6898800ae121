// Configs that turn out to be one kernel, and what a search makes of that.

#include "engine/search/evolve/twins.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// A loop of STEPS steps, unrolled; MODE has no order.
Space loops() {
  SpaceParts parts;
  parts.name = "loops";
  const auto add = [&](const char* name, int most) {
    Parameter parameter{name, {}, {}, {}};
    for (std::int64_t value = 1; value <= most; ++value) parameter.values.emplace_back(value);
    parts.parameters.push_back(std::move(parameter));
  };
  add("THREADS", 16);
  add("STEPS", 8);
  add("UNROLL", 8);
  Parameter mode{"MODE", {}, {}, {}};
  for (const char* value : {"a", "b", "c", "d"}) mode.values.emplace_back(std::string(value));
  parts.parameters.push_back(std::move(mode));
  return Space::build(std::move(parts));
}

// Trials that were taken and told, numbered from 1.
struct Told {
  explicit Told(const Space& space) : twins(space) {}
  void tell(const Genome& genome, std::uint64_t twin = 0) {
    twins.take(genome);
    twins.tell(genome, ++number, twin);
  }
  Twins twins;
  std::uint64_t number = 0;
};

}  // namespace

TEST_CASE("nothing is a twin before there was one, or after one alone") {
  const Space space = loops();
  Told told(space);
  told.tell({3, 0, 1, 0});
  CHECK_FALSE(told.twins.likely({3, 0, 4, 0}));
  told.tell({3, 0, 5, 0}, 1);
  told.twins.take({7, 0, 1, 0});
  CHECK_FALSE(told.twins.likely({7, 0, 4, 0}));
}

TEST_CASE("what two places show holds elsewhere where another gene has the same value") {
  const Space space = loops();
  Told told(space);
  told.tell({3, 0, 1, 0});
  told.tell({5, 0, 2, 2});
  told.tell({3, 0, 5, 0}, 1);
  told.tell({5, 0, 6, 2}, 2);
  told.tell({9, 0, 4, 1});
  SUBCASE("between the values that were seen, and beyond none of them") {
    CHECK(told.twins.likely({9, 0, 2, 1}));
    CHECK(told.twins.likely({9, 0, 6, 1}));
    CHECK_FALSE(told.twins.likely({9, 0, 7, 1}));
    CHECK_FALSE(told.twins.likely({9, 0, 0, 1}));
  }
  SUBCASE("of what is under way too") {
    CHECK_FALSE(told.twins.likely({8, 0, 3, 3}));
    told.twins.take({8, 0, 4, 3});
    CHECK(told.twins.likely({8, 0, 3, 3}));
  }
  SUBCASE("and not where it has another") {
    told.tell({9, 4, 4, 1});
    CHECK_FALSE(told.twins.likely({9, 4, 2, 1}));
  }
  SUBCASE("nor where the gene that differs is another") {
    CHECK_FALSE(told.twins.likely({9, 0, 4, 3}));
    CHECK_FALSE(told.twins.likely({10, 0, 4, 1}));
  }
  SUBCASE("until two kernels show that it does not") {
    told.tell({11, 0, 2, 3});
    told.tell({11, 0, 5, 3});
    CHECK_FALSE(told.twins.likely({9, 0, 2, 1}));
  }
  SUBCASE("two kernels outside say nothing against it") {
    told.tell({11, 0, 0, 3});
    told.tell({11, 0, 5, 3});
    CHECK(told.twins.likely({9, 0, 2, 1}));
  }
}

TEST_CASE("what was told before the first twin counts, and a twin's twin is one") {
  const Space space = loops();
  Told told(space);
  told.tell({3, 0, 1, 0});
  told.tell({11, 0, 2, 3});
  told.tell({11, 0, 5, 3});
  told.tell({3, 0, 5, 0}, 1);
  told.tell({3, 0, 6, 0}, 4);
  told.tell({5, 0, 2, 2});
  told.tell({5, 0, 6, 2}, 6);
  told.tell({9, 0, 4, 1});
  CHECK_FALSE(told.twins.likely({9, 0, 3, 1}));  // 2 and 5 were two kernels
}

TEST_CASE("between two names there is nothing") {
  const Space space = loops();
  Told told(space);
  told.tell({3, 0, 1, 0});
  told.tell({5, 0, 1, 0});
  told.tell({3, 0, 1, 3}, 1);
  told.tell({5, 0, 1, 3}, 2);
  told.tell({9, 0, 2, 0});
  CHECK(told.twins.likely({9, 0, 2, 3}));
  CHECK_FALSE(told.twins.likely({9, 0, 2, 1}));
}

TEST_CASE("evolve asks for fewer twins when it hears of them, and for all of a space in the end") {
  const Space space = loops();
  const auto number_of = [](const Config& config, const char* name) {
    return std::get<std::int64_t>(*config.find(name));
  };
  const auto play = [&](bool tells, int most) {
    std::pair<int, int> twins_and_asked;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      auto strategy = make_strategy("evolve", {.space = space, .seed = seed});
      std::map<std::string, std::uint64_t> first;
      std::uint64_t number = 0;
      for (auto asked = strategy->ask(4); !asked.empty() && static_cast<int>(number) < most;
           asked = strategy->ask(4))
        for (const Proposal& proposal : asked) {
          const auto steps = number_of(proposal.config, "STEPS");
          const auto unroll = std::min(steps, number_of(proposal.config, "UNROLL"));
          const auto threads = number_of(proposal.config, "THREADS");
          const std::string code = fmt::format("{},{},{},{}", threads, steps, unroll,
                                               fa_tune::to_json(*proposal.config.find("MODE")));
          const auto [at, alone] = first.try_emplace(code, ++number);
          twins_and_asked.first += !alone;
          ++twins_and_asked.second;
          const double us = static_cast<double>(10 * steps + (threads - 6) * (threads - 6)) -
                            0.5 * double(unroll);
          strategy->tell({number, proposal.config, true, us, 1, tells && !alone ? at->second : 0});
        }
    }
    return twins_and_asked;
  };
  const int with = play(true, 100).first, without = play(false, 100).first;
  CAPTURE(with);
  CAPTURE(without);
  CHECK(5 * with < 2 * without);
  CHECK(play(true, 5000).second == 5 * 4096);
}

}  // namespace fa_tune::test
