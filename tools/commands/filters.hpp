#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "db/store.hpp"

namespace fa_tune::commands {

// The options by which `best` and `export` choose among a database's trials.
struct Filters {
  std::string db = "fa.db";
  db::TrialFilter filter;
  std::string shape;  // "L=512,D=64" or a JSON object

  // Adds them to a command. They must live as long as it parses.
  void add_to(CLI::App& command);
  // The filter as the store takes it. Throws UserError for a shape of neither form.
  db::TrialFilter resolved() const;
};

// The best trial of each problem, shape and device that answers, in the order of Store::best. A
// custom problem goes by its space: what its kernels compute stands there. Throws UserError if none
// answers.
std::vector<db::TrialRow> best_of_each(const db::Store& store, const Filters& filters);
// The best one where all that answer solve one problem at one shape on one device. Else throws
// UserError that lists them: the fastest of several problems is the best kernel of none.
db::TrialRow only_best(const db::Store& store, const Filters& filters);

}  // namespace fa_tune::commands
