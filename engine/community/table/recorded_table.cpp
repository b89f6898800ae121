#include "engine/community/table/recorded_table.hpp"

#include <algorithm>

namespace fa_tune {

Space RecordedTable::space() const {
  SpaceParts parts;
  parts.name = name;
  parts.parameters = parameters;
  std::vector<Genome> members;
  members.reserve(entries.size());
  for (const TableEntry& entry : entries) members.push_back(entry.genome);
  return Space::of_list(std::move(parts), std::move(members));
}

const TableEntry* RecordedTable::find(const Genome& genome) const {
  const auto found = std::ranges::lower_bound(entries, genome, {}, &TableEntry::genome);
  return found == entries.end() || found->genome != genome ? nullptr : &*found;
}

}  // namespace fa_tune
