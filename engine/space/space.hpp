#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/expression/expression.hpp"
#include "engine/space/genome.hpp"
#include "engine/util/random.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::space {

// One gene: a name and the values it may take (1 to 65,534 of one type, none twice). With `when`,
// it exists only where that is true and where all that it mentions exists.
struct Parameter {
  std::string name;
  std::vector<Value> values;
  std::optional<expression::Expression> when;
  Mark mark;
};

// A value computed from parameters, constants and earlier derived values. It exists where all it
// mentions exists and, if `only_for` is not empty, where the parameter `template` has that value.
// A name may be defined once for every template.
struct Derived {
  std::string name;
  expression::Expression expression;
  std::string only_for;
};

// Must be true of every valid config; does not apply where a name it mentions does not exist, nor
// for another template than `only_for`.
struct Constraint {
  expression::Expression expression;
  std::string because;  // a person's reason, may be empty
  std::string only_for;
};

// A config that somebody thought good. It may leave out what is inactive or has one value alone.
struct Preset {
  std::string name;
  Config config;
  Mark mark;
  // Over constants: for which problems it is meant. Who joins a space's parts leaves out the
  // others.
  std::optional<expression::Expression> when = std::nullopt;
};

// The parts a space is built from; see space_file.hpp for the YAML that gives them.
struct SpaceParts {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Derived> derived;
  std::vector<Constraint> constraints;
  std::vector<Preset> presets;
  std::vector<Preset> known_best = {};  // no search begins with one
  Constants constants;                  // full dotted names: "device.sms", "problem.Lq"
};

class ConfigSet;

// How much may be held and tried to build a group of parameters that have to do with each other,
// before it counts as too large. The defaults are about 200 MB and a few seconds; what people tune
// takes a hundredth of it.
struct SpaceLimits {
  std::size_t key_words = 12'000'000;  // 64-bit words that tell states apart
  std::size_t branches = 40'000'000;   // digits tried
};

// The valid configs of a space: from none of them too many to count, index, draw and find exactly.
// They are never listed; a diagram of what the constraints leave open stands for them
// (mdd.hpp), and its size follows how much the parameters have to do with each other. Knows
// nothing of CUDA. Immutable, safe to share between threads, cheap to copy.
class Space {
 public:
  // Throws UserError: a constraint that names nothing, a preset that is not valid (with the
  // constraint it breaks), a space without one valid config (with the constraint that refuses
  // most), one too large and too constrained for any to be found, and an expression that cannot
  // be evaluated for some config (division by zero, overflow, mixed types). A parameter whose
  // `when` mentions a later one is moved behind it: parts() has the order in use.
  static Space build(SpaceParts parts, const SpaceLimits& limits = {});
  static Space of_list(SpaceParts parts, std::vector<Genome> members);

  const SpaceParts& parts() const;
  // Valid configs. Where exact() is false, an estimate: there are more than 2^64 - 2 (count() is
  // then 2^64 - 1), or what the constraints leave open is too much to hold, and samples are drawn
  // until one is valid. size() is the count without a limit.
  std::uint64_t count() const;
  bool exact() const;
  double size() const;
  double cartesian() const;  // product of the value counts, valid or not

  // The genome of a valid config (of another one a programming error), and the way back (its
  // digits must be those of values, valid together or not).
  Genome genome(const Config& config) const;
  Config config(const Genome& genome) const;
  bool valid(const Genome& genome) const;
  // The place of a valid genome among all; nothing if it is not valid, or if exact() is false. The
  // order is that of the digits, group by group: parameters that share no constraint, derived
  // value or `when`, directly or through others, are in different groups.
  std::optional<std::uint64_t> rank(const Genome& genome) const;
  Genome genome_at(std::uint64_t index) const;  // 0..count()-1; if exact()
  // Uniform over the valid configs.
  Genome sample_genome(Random& random) const;
  // The valid genome with the most genes equal to those of `wish` (one digit a parameter, of any
  // size; a digit that no value has wishes for nothing); ties by `random`, all alike. Where exact()
  // is false for want of room it may miss a nearer one.
  Genome nearest(const Genome& wish, Random& random) const;
  // Replaces `out` by the valid genomes near a valid one, in a stable order, none twice. Of a
  // genome that is not valid: none.
  void neighbors(const Genome& genome, Neighborhood neighborhood, std::vector<Genome>& out) const;
  // As Neighborhood::one_gene, but where a move makes genes appear they take values by chance, up
  // to `draws` different ways for each value of the moved gene: from one template to another there
  // may be tens of thousands, which would drown all other moves.
  void moves(const Genome& genome, int draws, Random& random, std::vector<Genome>& out) const;

  // The same for configs.
  Config at(std::uint64_t index) const { return config(genome_at(index)); }
  std::optional<std::uint64_t> index_of(const Config& config) const;
  Config sample(Random& random) const { return config(sample_genome(random)); }
  // Neighborhood::one_gene.
  std::vector<Config> neighbors(const Config& from) const;
  // `wish` may have any names and values; those that the space does not know wish for nothing.
  Config nearest(const Config& wish, Random& random) const;

  // The derived values of a config, by name.
  Constants derived(const Config& config) const;
  // All presets, complete and in the space's order, as its configs are; parts() has them as they
  // were written.
  const std::vector<Preset>& presets() const { return presets_; }
  // What earlier searches came to, in the same way: to be timed beside, and no start.
  const std::vector<Preset>& known_best() const { return known_best_; }
  // A preset or a known best by its name, or nullptr.
  const Preset* preset(const std::string& name) const;
  // Why a config is not valid, in one line; nothing if it is.
  std::optional<std::string> why_invalid(const Config& config) const;
  // SHA-256 over parameters, derived values, constraints and constants: two runs may share what
  // they learned if this is equal.
  const std::string& hash() const { return hash_; }

 private:
  std::shared_ptr<const ConfigSet> configs_;
  std::vector<Preset> presets_;
  std::vector<Preset> known_best_;
  std::string hash_;
};

}  // namespace fa_tune::space
