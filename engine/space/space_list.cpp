#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/space/config_set.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune {

Space Space::of_list(SpaceParts parts, std::vector<Genome> members) {
  check_parts(parts);
  if (members.empty()) throw UserError("space '" + parts.name + "' lists no config");
  std::ranges::sort(members);
  const auto rest = std::ranges::unique(members);
  members.erase(rest.begin(), rest.end());

  std::string bytes;
  for (const Genome& member : members)
    bytes.append(reinterpret_cast<const char*>(member.data()), member.size() * sizeof(Gene));
  Space space;
  space.hash_ = sha256(hash_parts(parts) + sha256(bytes));
  space.configs_ = std::make_shared<const ConfigSet>(
      std::make_shared<const SpacePlan>(std::move(parts)), std::move(members));
  return space;
}

}  // namespace fa_tune
