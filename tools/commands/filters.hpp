#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "db/store.hpp"

namespace fa_tune {

// The options by which `best` and `export` choose among a database's trials.
struct Filters {
  std::string db = "fa.db";
  TrialFilter filter;
  std::string shape;  // "L=512,D=64" or a JSON object

  // Adds them to a command. They must live as long as it parses.
  void add_to(CLI::App& command);
  // The filter as the store takes it. Throws UserError for a shape of neither form.
  TrialFilter resolved() const;
};

}  // namespace fa_tune
