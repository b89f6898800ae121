#include "tests/fuzz/try_space.hpp"

#include "engine/space_file/space_file.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::space;
namespace {

// Beyond it building may take seconds, by design: that is no finding.
constexpr double kMostConfigs = 1e5;

}  // namespace

std::string try_space(std::string_view text) {
  try {
    SpaceFile file = parse_space_file(std::string(text), "fuzz.yaml");
    double configs = 1;
    for (const Parameter& parameter : file.parameters)
      configs *= static_cast<double>(parameter.values.size());
    if (configs > kMostConfigs) return "large";
    SpaceParts parts;
    parts.name = file.name;
    parts.parameters = file.parameters;
    parts.derived = file.derived;
    parts.constraints = file.constraints;
    parts.presets = file.presets;
    parts.constants = {{"device.shared_per_block", std::int64_t{101'376}},
                       {"problem.D", std::int64_t{64}}};
    const Space space = Space::build(std::move(parts));
    Random random(1);
    for (int i = 0; i < 4; ++i) (void)space.why_invalid(space.sample(random));
    return "built";
  } catch (const UserError&) {
    return "refused";
  }
}

}  // namespace fa_tune::test
