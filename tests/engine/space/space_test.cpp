#include "engine/space/space.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/engine/space/parts_writer.hpp"

namespace fa_tune::test {

using namespace fa_tune::space;

namespace {

PartsWriter tiles() {
  PartsWriter writer("tiles");
  writer.constant("device.shared", number(48'000))
      .constant("problem.D", number(64))
      .parameter("template", {word("plain"), word("mma")})
      .parameter("BLOCK_M", {16, 32, 64, 128})
      .parameter("STAGES", {1, 2, 3}, "template == 'mma'")
      .derived("BYTES", "BLOCK_M * problem.D * 2 * STAGES", "mma")
      .derived("BYTES", "BLOCK_M * problem.D * 4", "plain")
      .constraint("BYTES <= device.shared", "the tiles must fit into shared memory");
  return writer;
}

}  // namespace

TEST_CASE("space: derived values by template, conditional parameters, counts") {
  const Space space = tiles().build();
  CHECK(space.cartesian() == 24);
  // plain: 4 of 4; mma: 16, 32, 64 with 3 stages (24,576 bytes at most), 128 with 1 and 2
  CHECK(space.count() == 4 + 11);
  const Config mma =
      config({{"template", word("mma")}, {"BLOCK_M", number(64)}, {"STAGES", number(2)}});
  CHECK(space.index_of(mma).has_value());
  CHECK(space.derived(mma) == Constants{{"BYTES", number(64 * 64 * 2 * 2)}});
  const Config plain = config({{"template", word("plain")}, {"BLOCK_M", number(128)}});
  CHECK(space.derived(plain) == Constants{{"BYTES", number(128 * 64 * 4)}});
  CHECK(space.at(*space.index_of(plain)) == plain);
  // from plain: three other BLOCK_M, and mma with every number of stages
  CHECK(space.neighbors(config({{"template", word("plain")}, {"BLOCK_M", number(16)}})).size() ==
        6);
  CHECK(space.neighbors(config({{"template", word("plain")}})).empty());
}

TEST_CASE("space: index_of knows its own configs alone") {
  const Space space = tiles().build();
  const std::vector<std::pair<std::string, Value>> plain = {{"template", word("plain")},
                                                            {"BLOCK_M", number(64)}};
  const auto with = [&](const std::string& name, const Value& value) {
    auto settings = plain;
    settings.emplace_back(name, value);
    return Config(settings);
  };
  CHECK(space.index_of(Config(plain)).has_value());
  CHECK_FALSE(space.index_of(with("BLOCK_M", number(64))).has_value());
  CHECK_FALSE(space.index_of(with("OTHER", number(64))).has_value());
  CHECK_FALSE(space.index_of(with("STAGES", number(1))).has_value());
  CHECK_FALSE(space.index_of(Config()).has_value());
}

TEST_CASE("space: a `when` through a derived value of one template waits for the template") {
  const Space space = PartsWriter()
                          .parameter("A", {1, 2}, "DEPTH > 1")
                          .parameter("template", {word("plain"), word("mma")})
                          .derived("DEPTH", "2", "mma")
                          .build();
  CHECK(space.parts().parameters[0].name == "template");
  CHECK(space.count() == 3);
}

TEST_CASE("space: a derived value of one template is gone in the next") {
  const Space space = PartsWriter()
                          .parameter("template", {word("mma"), word("plain")})
                          .parameter("A", {1, 2})
                          .derived("DEPTH", "2", "mma")
                          .constraint("A != DEPTH")
                          .build();
  CHECK(space.count() == 3);
}

TEST_CASE("space: why a config is not valid") {
  const Space space = tiles().build();
  const auto why = [&](std::vector<std::pair<std::string, Value>> settings) {
    return space.why_invalid(Config(std::move(settings))).value_or("valid");
  };
  CHECK(why({{"template", word("mma")}, {"BLOCK_M", number(128)}, {"STAGES", number(3)}}) ==
        "it breaks 'BYTES <= device.shared' (s.yaml:6:1), where BYTES = 49152, device.shared = "
        "48000: the tiles must fit into shared memory");
  CHECK(why({{"template", word("mma")}, {"BLOCK_M", number(64)}}) ==
        "parameter 'STAGES' is missing, expected one of: 1, 2, 3");
  CHECK(why({{"template", word("plain")}, {"BLOCK_M", number(64)}, {"STAGES", number(1)}}) ==
        "parameter 'STAGES' does not exist here: it needs 'template == 'mma''");
  CHECK(why({{"template", word("plain")}, {"BLOCK_M", number(48)}}) ==
        "BLOCK_M = '48' is not one of: 16, 32, 64, 128");
  CHECK(why({{"template", word("plain")}, {"BLOK_M", number(64)}}) ==
        "unknown parameter 'BLOK_M', did you mean 'BLOCK_M'?");
  CHECK(why({{"template", word("plain")}, {"BLOCK_M", number(64)}, {"BLOCK_M", number(32)}}) ==
        "parameter 'BLOCK_M' is given twice");
  CHECK(why({{"template", word("plain")}, {"BLOCK_M", true}}) ==
        "BLOCK_M = 'true' is not one of: 16, 32, 64, 128");
}

TEST_CASE("space: presets are completed, or refused with the reason") {
  PartsWriter writer = tiles();
  writer.parameter("ONE", {7});
  PartsWriter good = writer;
  good.preset("base", config({{"BLOCK_M", number(64)}, {"template", word("plain")}}));
  const Space space = good.build();
  REQUIRE(space.preset("base") != nullptr);
  CHECK(space.preset("base")->config.to_json() == R"({"template":"plain","BLOCK_M":64,"ONE":7})");
  CHECK(space.preset("fast") == nullptr);
  REQUIRE(space.presets().size() == 1);
  CHECK(space.presets().front().config == space.preset("base")->config);
  const auto refused = [&](const Config& preset) {
    PartsWriter bad = writer;
    bad.preset("fa2", preset);
    return error_of([&] { bad.build(); });
  };
  CHECK(refused(config({{"template", word("mma")}, {"BLOCK_M", number(64)}})) ==
        "s.yaml:8:1: preset 'fa2' is not valid: parameter 'STAGES' is missing, expected one of: 1, "
        "2, 3");
  CHECK(
      refused(config({{"template", word("mma")}, {"BLOCK_M", number(128)}, {"STAGES", number(3)}}))
          .starts_with("s.yaml:8:1: preset 'fa2' is not valid: it breaks 'BYTES <="));
  CHECK(refused(config({{"template", word("mma")}, {"STAGE", number(3)}})) ==
        "s.yaml:8:1: preset 'fa2' is not valid: unknown parameter 'STAGE', did you mean 'STAGES'?");
  good.preset("base", config({{"BLOCK_M", number(32)}, {"template", word("plain")}}));
  CHECK(error_of([&] { good.build(); }) == "s.yaml:9:1: preset 'base' is defined twice");
}

TEST_CASE("space: mistakes in the parts are answered with their place") {
  const auto error = [](const PartsWriter& writer) { return error_of([&] { writer.build(); }); };
  CHECK(error(PartsWriter().parameter("A", {1, 2}).constraint("1 == 1 and AA == 1")) ==
        "s.yaml:2:12: unknown name 'AA' in '1 == 1 and AA == 1', did you mean 'A'?");
  CHECK(error(PartsWriter().parameter("A", {1}).constraint("problem.shape > A")) ==
        "s.yaml:2:1: unknown name 'problem.shape' in 'problem.shape > A', expected a parameter, a "
        "derived value, problem.* or device.*");
  CHECK(error(PartsWriter().parameter("A", {1}, "B == 1")).find("unknown name 'B'") !=
        std::string::npos);
  CHECK(error(PartsWriter().parameter("A", {1}).derived("X", "Y + A").derived("Y", "X")) ==
        "s.yaml:2:1: derived value 'X' depends on itself: X -> Y -> X");
  CHECK(error(PartsWriter().parameter("A", {1}, "B == 1").parameter("B", {1}, "A == 1")) ==
        "s.yaml:1:1: the `when` of 'A' goes in a circle, among: A, B");
  CHECK(error(PartsWriter().parameter("A", {1}).parameter("A", {2})) ==
        "s.yaml:2:1: parameter 'A' is defined twice");
  CHECK(error(PartsWriter().parameter("A", {1, 2, 1})) ==
        "s.yaml:1:1: parameter 'A' lists the value 1 twice");
  CHECK(error(PartsWriter().parameter("A", {number(1), true})) ==
        "s.yaml:1:1: parameter 'A' mixes types: 1 and true, expected one type");
  CHECK(error(PartsWriter().parameter("A", std::vector<Value>{})) ==
        "s.yaml:1:1: parameter 'A' has no values, expected at least one");
  CHECK(error(PartsWriter().parameter("min", {1})) ==
        "s.yaml:1:1: 'min' is a word of the expression language, choose another name");
  CHECK(error(PartsWriter().parameter("A B", {1})).find("expected a name") != std::string::npos);
  CHECK(error(PartsWriter().parameter("A", {1}).derived("A", "1")) ==
        "s.yaml:2:1: derived value 'A': a parameter or constant has this name");
  CHECK(error(PartsWriter().parameter("A", {1}).derived("X", "1").derived("X", "2")) ==
        "s.yaml:3:1: derived value 'X' is defined twice");
  CHECK(error(PartsWriter().parameter("A", {1}).derived("X", "1", "mma")) ==
        "s.yaml:2:1: is for template 'mma', but the space has no parameter 'template'");
  CHECK(error(PartsWriter()) == "space 's' has no parameters");
  std::vector<Value> many;
  many.reserve(65'535);
  for (int i = 0; i < 65'535; ++i) many.push_back(number(i));
  CHECK(error(PartsWriter().parameter("A", many)) ==
        "s.yaml:1:1: parameter 'A' has 65535 values, at most 65534 are possible");
  many.pop_back();
  CHECK(PartsWriter().parameter("A", many).build().count() == 65'534);
}

TEST_CASE("space: expressions that fail for some config name it") {
  const auto error = [](const PartsWriter& writer) { return error_of([&] { writer.build(); }); };
  CHECK(error(PartsWriter().parameter("A", {2, 1, 0}).constraint("8 / A >= 1")) ==
        "s.yaml:2:3: division by zero in '8 / A >= 1', where A = 0");
  CHECK(error(PartsWriter().parameter("A", {3}).derived("X", "9223372036854775807 + A")) ==
        "s.yaml:2:21: the result is beyond 64 bits in '9223372036854775807 + A', where A = 3");
  CHECK(error(PartsWriter().parameter("A", {3}).constraint("A")) ==
        "s.yaml:2:1: expected true or false, found 3 in 'A', where A = 3");
  CHECK(error(PartsWriter().parameter("A", {3}).constraint("A == 'x'"))
            .find("cannot compare an integer with text") != std::string::npos);
  // A constraint that refuses A = 0 stands guard, whatever the order they are written in.
  const Space guarded = PartsWriter()
                            .parameter("A", {0, 1, 2})
                            .derived("X", "8 / A")
                            .constraint("X >= 1")
                            .constraint("A > 0")
                            .build();
  CHECK(guarded.count() == 2);
}

TEST_CASE("space: an empty space names the constraint that refuses most") {
  CHECK(error_of([] {
          PartsWriter()
              .parameter("A", {1, 2, 3, 4})
              .parameter("B", {1, 2, 3})
              .constraint("A > 3")
              .constraint("A + B > 8", "they must be large together")
              .build();
        }) ==
        "s.yaml:3:1: no config is valid: 'A > 3' is the first to refuse 9 of 12 combinations");
  CHECK(error_of([] {
          PartsWriter()
              .constant("device.sms", number(3))
              .parameter("A", {1})
              .constraint("device.sms > 4", "small devices starve")
              .build();
        }) == "s.yaml:2:1: no config is valid: 'device.sms > 4' refuses all: small devices starve");
}

TEST_CASE("space: the hash follows what decides the configs and nothing else") {
  const std::string hash = tiles().build().hash();
  CHECK(hash.size() == 64);
  CHECK(tiles().build().hash() == hash);
  PartsWriter preset = tiles();
  preset.preset("p", config({{"template", word("plain")}, {"BLOCK_M", number(16)}}));
  CHECK(preset.build().hash() == hash);
  CHECK(tiles().constant("device.sms", number(4)).build().hash() != hash);
  CHECK(tiles().constraint("BLOCK_M > 16").build().hash() != hash);
  CHECK(tiles().constraint("BLOCK_M > 16", "", "mma").build().hash() !=
        tiles().constraint("BLOCK_M > 16").build().hash());
  CHECK(tiles().parameter("X", {1}).build().hash() != hash);
  CHECK(PartsWriter().parameter("A", {true}).build().hash() !=
        PartsWriter().parameter("A", {word("true")}).build().hash());
}

TEST_CASE("space: copies share the configs and outlive the first") {
  auto first = std::make_unique<Space>(tiles().build());
  const Space copy = *first;
  first.reset();
  CHECK(copy.count() == 15);
  CHECK(copy.index_of(copy.at(14)) == 14);
  CHECK(copy.parts().parameters[0].name == "template");
}

}  // namespace fa_tune::test
