#pragma once

#include <memory>

#include "engine/search/strategy.hpp"
#include "engine/search/strategy_spec.hpp"

namespace fa_tune {

// One maker a strategy, each in the file of its name; the table in catalog/make_strategy.cpp lists
// them. A maker takes its options out of the spec.
std::unique_ptr<Strategy> make_random_search(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_evolve(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_exhaustive(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_genetic(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_simulated_annealing(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_iterated_local_search(const SearchTask& task, StrategySpec& spec);
std::unique_ptr<Strategy> make_differential_evolution(const SearchTask& task, StrategySpec& spec);

}  // namespace fa_tune
