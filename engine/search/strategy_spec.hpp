#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/search/strategy.hpp"

namespace fa_tune::search {

// What a user asks for: a strategy's name and its options, "evolve:surrogate=off,islands=4".
class StrategySpec {
 public:
  // Throws UserError for text of another form and for an option given twice.
  static StrategySpec parse(const std::string& text);

  const std::string& name() const { return name_; }
  // The option's value, one of `known`, the first being the default. Throws UserError for another.
  std::string choose(const std::string& option, const std::vector<std::string>& known);
  // Any text; nothing where the option is not given.
  std::optional<std::string> text(const std::string& option);
  // A whole number in low..high. Throws UserError for what is none.
  int integer(const std::string& option, int fallback, int low, int high);
  // Called when all options were asked for: throws UserError for one that nobody knows, with those
  // that this strategy has.
  void require_no_others() const;

 private:
  std::string name_;
  std::map<std::string, std::string> options_;
  std::vector<std::string> asked_;
};

// One maker a strategy, each in the file of its name; the table in catalog/make_strategy.cpp lists
// them. A maker takes its options out of the spec.
std::unique_ptr<Strategy> make_random_search(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_evolve(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_exhaustive(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_genetic(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_simulated_annealing(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_iterated_local_search(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_differential_evolution(const SearchTask& task, StrategySpec& spec);

}  // namespace fa_tune::search
