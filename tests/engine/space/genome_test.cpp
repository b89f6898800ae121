#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/space/parts_writer.hpp"
#include "tests/engine/space/random_spaces.hpp"

// What Space says of genomes, against a list of all of them.
namespace fa_tune::test {

using namespace fa_tune::space;

namespace {

// The genes that have a value in both and differ there.
std::vector<std::size_t> changed_genes(const Genome& one, const Genome& other) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i] != kInactiveGene && other[i] != kInactiveGene && one[i] != other[i])
      changed.push_back(i);
  return changed;
}

std::size_t equal_genes(const Genome& one, const Genome& wish) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    equal += one[i] == wish[i] && one[i] != kInactiveGene ? 1 : 0;
  return equal;
}

// Which parameters are mentioned together, by the words of the parts: derived values are followed
// until nothing is left to follow.
std::set<std::pair<std::size_t, std::size_t>> links(const SpaceParts& parts) {
  const auto position = [&](const std::string& name) {
    const auto found = std::ranges::find(parts.parameters, name, &Parameter::name);
    return static_cast<std::size_t>(found - parts.parameters.begin());
  };
  using Positions = std::set<std::size_t>;
  const std::function<Positions(const std::vector<std::string>&, const std::string&)> follow =
      [&](const std::vector<std::string>& names, const std::string& only_for) {
        Positions all;
        if (!only_for.empty()) all.insert(position("template"));
        for (const std::string& name : names) {
          if (position(name) < parts.parameters.size()) all.insert(position(name));
          for (const Derived& derived : parts.derived)
            if (derived.name == name)
              all.merge(follow(derived.expression.names(), derived.only_for));
        }
        return all;
      };
  std::set<std::pair<std::size_t, std::size_t>> result;
  const auto link = [&](const Positions& all) {
    for (const std::size_t one : all)
      for (const std::size_t other : all) result.emplace(one, other);
  };
  for (std::size_t i = 0; i < parts.parameters.size(); ++i) {
    if (!parts.parameters[i].when) continue;
    Positions all = follow(parts.parameters[i].when->names(), "");
    all.insert(i);
    link(all);
  }
  for (const Derived& derived : parts.derived)
    link(follow(derived.expression.names(), derived.only_for));
  for (const Constraint& constraint : parts.constraints)
    link(follow(constraint.expression.names(), constraint.only_for));
  return result;
}

// `all` filtered by the words of Neighborhood.
std::vector<Genome> near(const std::vector<Genome>& all, const Genome& from,
                         Neighborhood neighborhood, const SpaceParts& parts) {
  const auto linked = links(parts);
  std::set<std::pair<std::size_t, Gene>> alone;
  for (const Genome& genome : all)
    if (const auto changed = changed_genes(from, genome); changed.size() == 1)
      alone.emplace(changed[0], genome[changed[0]]);
  const auto is_near = [&](const Genome& genome) {
    const auto changed = changed_genes(from, genome);
    switch (neighborhood) {
      case Neighborhood::one_gene:
        return changed.size() == 1;
      case Neighborhood::adjacent:
        return changed.size() == 1 &&
               !std::holds_alternative<std::string>(parts.parameters[changed[0]].values[0]) &&
               std::abs(genome[changed[0]] - from[changed[0]]) == 1;
      case Neighborhood::linked:
        return changed.size() == 2 && linked.contains({changed[0], changed[1]}) &&
               std::ranges::none_of(changed, [&](std::size_t gene) {
                 return alone.contains({gene, genome[gene]});
               });
    }
    return false;
  };
  std::vector<Genome> result;
  std::ranges::copy_if(all, std::back_inserter(result), is_near);
  return result;
}

constexpr Neighborhood kNeighborhoods[] = {Neighborhood::adjacent, Neighborhood::one_gene,
                                           Neighborhood::linked};

}  // namespace

TEST_CASE("genomes: random spaces agree with plain enumeration") {
  Random random(71);
  std::map<Neighborhood, std::size_t> found;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const SpaceParts parts = random_parts(random);
    const Enumeration reference(parts);
    if (reference.valid().empty()) continue;
    const Space space = Space::build(parts);
    const std::vector<Genome> all = genomes_of(reference, space);
    REQUIRE(space.count() == all.size());
    std::set<Genome> listed;
    for (std::uint64_t i = 0; i < space.count(); ++i) {
      const Genome genome = space.genome_at(i);
      listed.insert(genome);
      CHECK(space.rank(genome) == i);
      CHECK(space.genome(space.config(genome)) == genome);
    }
    CHECK(std::ranges::equal(listed, all));
    for (int i = 0; i < 12; ++i) {
      const Neighborhood neighborhood = kNeighborhoods[i % 3];
      const Genome from = space.sample_genome(random);
      std::vector<Genome> neighbors = {Genome{1, 2, 3}};
      space.neighbors(from, neighborhood, neighbors);
      found[neighborhood] += neighbors.size();
      std::vector<Genome> again;
      space.neighbors(from, neighborhood, again);
      CHECK(again == neighbors);
      std::ranges::sort(neighbors);
      CHECK(neighbors == near(all, from, neighborhood, space.parts()));
    }
  }
  for (const Neighborhood neighborhood : kNeighborhoods) CHECK(found[neighborhood] > 50);
}

TEST_CASE("genomes: moves are neighbours, and all of those in which no gene appears") {
  Random random(73);
  std::size_t with_more = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const SpaceParts parts = random_parts(random);
    if (Enumeration(parts).valid().empty()) continue;
    const Space space = Space::build(parts);
    const Genome from = space.sample_genome(random);
    std::vector<Genome> all, some, again;
    space.neighbors(from, Neighborhood::one_gene, all);
    Random one(round), other(round);
    constexpr int kDraws = 2;
    space.moves(from, kDraws, one, some);
    space.moves(from, kDraws, other, again);
    CHECK(again == some);
    const auto appears = [&](const Genome& to) {
      for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] == kInactiveGene && to[i] != kInactiveGene) return true;
      return false;
    };
    std::map<std::pair<std::size_t, Gene>, int> drawn;
    for (const Genome& to : some) {
      CHECK(std::ranges::find(all, to) != all.end());
      CHECK(std::ranges::count(some, to) == 1);
      if (!appears(to)) continue;
      ++with_more;
      for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] != kInactiveGene && to[i] != kInactiveGene && from[i] != to[i])
          CHECK(++drawn[{i, to[i]}] <= kDraws);
    }
    for (const Genome& to : all)
      if (!appears(to)) CHECK(std::ranges::find(some, to) != some.end());
  }
  CHECK(with_more > 50);
}

TEST_CASE("genomes: what appears takes all its values, sooner or later") {
  std::vector<Value> values;
  for (int i = 0; i < 9; ++i) values.push_back(number(i));
  const Space space = PartsWriter()
                          .parameter("A", {1, 2})
                          .parameter("B", values, "A == 2")
                          .parameter("C", values, "A == 2")
                          .build();
  std::set<Genome> seen;
  Random random(5);
  std::vector<Genome> found;
  for (int i = 0; i < 2000; ++i) {
    space.moves({0, kInactiveGene, kInactiveGene}, 1, random, found);
    REQUIRE(found.size() == 1);
    seen.insert(found.front());
  }
  CHECK(seen.size() == 81);
  space.moves({1, 0, 0}, 1, random, found);
  CHECK(found.size() == 1 + 8 + 8);
}

TEST_CASE("genomes: any digits may be asked about and wished for") {
  Random random(72);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const SpaceParts parts = random_parts(random);
    const Enumeration reference(parts);
    if (reference.valid().empty()) continue;
    const Space space = Space::build(parts);
    const std::vector<Genome> all = genomes_of(reference, space);
    Genome wish;
    for (std::size_t i = 0; i < parts.parameters.size(); ++i)
      wish.push_back(random.below(8) == 0 ? kInactiveGene : static_cast<Gene>(random.below(6)));
    CHECK(space.valid(wish) == std::ranges::binary_search(all, wish));
    std::size_t most = 0;
    for (const Genome& genome : all) most = std::max(most, equal_genes(genome, wish));
    const Genome nearest = space.nearest(wish, random);
    CHECK(space.valid(nearest));
    CHECK(equal_genes(nearest, wish) == most);
    std::vector<Genome> none;
    if (!space.valid(wish)) space.neighbors(wish, Neighborhood::one_gene, none);
    CHECK(none.empty());
  }
}

TEST_CASE("genomes: of pairs with many values one gene moves by one place alone") {
  std::vector<Value> values;
  for (int i = 0; i < 100; ++i) values.push_back(number(i));
  const Space space =
      PartsWriter().parameter("A", values).parameter("B", values).constraint("A == B").build();
  std::vector<Genome> found;
  space.neighbors({50, 50}, Neighborhood::linked, found);
  CHECK(found == std::vector<Genome>{{49, 49}, {51, 51}});
}

TEST_CASE("genomes: a config of another space has none") {
  const Space space = PartsWriter().parameter("A", {1, 2}).build();
  CHECK_THROWS_AS((void)space.genome(config({{"B", number(1)}})), std::logic_error);
}

}  // namespace fa_tune::test
