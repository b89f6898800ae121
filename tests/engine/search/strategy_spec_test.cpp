#include "engine/search/strategy_spec.hpp"

#include <doctest/doctest.h>

#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;

TEST_CASE("a spec is a name and its options; what is not given has its default") {
  StrategySpec spec = StrategySpec::parse("evolve:surrogate=off,islands=4");
  CHECK(spec.name() == "evolve");
  CHECK(spec.choose("surrogate", {"on", "off"}) == "off");
  CHECK(spec.choose("bandit", {"on", "off"}) == "on");
  CHECK(spec.integer("islands", 1, 1, 8) == 4);
  CHECK(spec.integer("elites", 16, 1, 64) == 16);
  spec.require_no_others();
}

TEST_CASE("a spec's slips are told with what is known") {
  const auto message = [](auto&& slip) -> std::string {
    try {
      slip();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto parse = [&](const char* text) { return message([&] { StrategySpec::parse(text); }); };
  CHECK(parse("evolve:") == "strategy 'evolve:': expected option=value after the colon");
  CHECK(parse("evolve:fast") == "strategy 'evolve': expected option=value, not 'fast'");
  CHECK(parse("evolve:a=") == "strategy 'evolve': expected option=value, not 'a='");
  CHECK(parse("evolve:a=1,a=2") == "strategy 'evolve': option 'a' is given twice");

  StrategySpec spec = StrategySpec::parse("evolve:surrogate=maybe,islands=x,color=red");
  CHECK(message([&] {
          spec.choose("surrogate", {"on", "off"});
        }) == "strategy 'evolve': surrogate is one of on, off, not 'maybe'");
  CHECK(message([&] { spec.integer("islands", 1, 1, 8); }) ==
        "strategy 'evolve': islands is a whole number from 1 to 8, not 'x'");
  CHECK(message([&] { spec.require_no_others(); }) ==
        "strategy 'evolve' has no option 'color', it has surrogate, islands");
  CHECK(message([] { StrategySpec::parse("random:a=1").require_no_others(); }) ==
        "strategy 'random' has no option 'a', it has none");
}

}  // namespace fa_tune::test
