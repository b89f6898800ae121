#include <memory>
#include <utility>

#include "engine/space/config_set.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {

Space Space::build(SpaceParts parts, const SpaceLimits& limits) {
  check_parts(parts);
  order_parameters(parts);
  Space space;
  space.hash_ = hash_parts(parts);
  const auto plan = std::make_shared<const SpacePlan>(std::move(parts));
  const SpacePlan::Step* refusal = nullptr;
  (void)plan->start(&refusal);
  if (refusal != nullptr) refuse_all(*refusal->constraint);
  space.configs_ = std::make_shared<const ConfigSet>(plan, limits);
  if (space.configs_->empty()) refuse_empty(*plan);
  for (const Preset& preset : plan->parts().presets) {
    const std::string who = prefix(preset.mark) + "preset '" + preset.name + "'";
    if (space.preset(preset.name) != nullptr) throw UserError(who + " is defined twice");
    const auto digits = plan->check(preset.config, true);
    if (!digits) throw UserError(who + " is not valid: " + digits.error());
    space.presets_.push_back({preset.name, space.config(*digits), preset.mark});
  }
  return space;
}

}  // namespace fa_tune
