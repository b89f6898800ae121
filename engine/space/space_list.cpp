#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/hash.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/space/space_plan.hpp"

namespace fa_tune {

Space Space::of_list(SpaceParts parts, std::vector<Genome> members) {
  check_parts(parts);
  if (members.empty()) throw UserError("space '" + parts.name + "' lists no config");
  std::ranges::sort(members);
  const auto rest = std::ranges::unique(members);
  members.erase(rest.begin(), rest.end());

  std::vector<Gene> rows;
  rows.reserve(members.size() * parts.parameters.size());
  for (const Genome& member : members) rows.insert(rows.end(), member.begin(), member.end());
  Space space;
  space.listed_ = true;
  const std::string_view bytes(reinterpret_cast<const char*>(rows.data()),
                               rows.size() * sizeof(Gene));
  space.hash_ = sha256(hash_parts(parts) + sha256(std::string(bytes)));
  space.plan_ = std::make_shared<const SpacePlan>(std::move(parts));
  space.rows_ = std::make_shared<const std::vector<Gene>>(std::move(rows));
  return space;
}

}  // namespace fa_tune
