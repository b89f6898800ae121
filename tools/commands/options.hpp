#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "engine/kernel/compile/compiler.hpp"

namespace fa_tune {

// What `--budget` says: "200" is trials, "90s", "10m" and "2h" are time.
struct Budget {
  std::optional<int> trials;
  std::optional<double> seconds;
};

// Throws UserError for anything else, zero included.
Budget parse_budget(const std::string& text);

// Adds --seed. CLI11 by itself takes -1, and what is too large, for the largest seed.
void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed, const std::string& help);

// --price: of a GPU hour.
void add_price(CLI::App& command, std::optional<double>& price);

// "95 s", "12m 05s": for people.
std::string format_seconds(double seconds);

// The folder with templates and spaces; throws MachineError that says how to point at it.
std::filesystem::path require_root();

// NVRTC, in processes of its own, behind the cache on disk.
std::unique_ptr<Compiler> open_compiler();

// How many threads a machine gives the compiler.
int default_jobs();

}  // namespace fa_tune
