#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/search/archive.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::search {

// Which of the trials that passed may have children.
class Population {
 public:
  virtual ~Population() = default;
  virtual void tell(const Member& member, const std::vector<std::uint64_t>& parents) = 0;
  // The parents whose turn it is, the fastest first; none before the first trial that passed.
  virtual std::vector<Member> parents() const = 0;
  // Called before each proposal.
  virtual void next_turn() {}
};

// "elite": the fastest; "single": the fastest one alone; "islands": four groups that have the turn
// one after the other and now and then pass on their fastest.
std::unique_ptr<Population> make_population(const std::string& kind, const Archive& archive);

// One of them, by rank: p ~ 1 / (rank + n), as EvoEngineer's populations choose (arXiv 2510.03760).
const Member& choose_by_rank(const std::vector<Member>& parents, Random& random);

}  // namespace fa_tune::search
