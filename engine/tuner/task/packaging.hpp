#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "engine/export/package.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::report {
struct ExportFacts;
}  // namespace fa_tune::report

namespace fa_tune::tuner {

// Puts kernels into a Package: each compiled as it was when it was gated and timed, with the
// figures of its launch. Kernels with the same code are kept once.
class Packager {
 public:
  // The compiler must outlive it. `root` holds the templates and profiles.
  Packager(kernel::Compiler& compiler, BinaryKind kind, std::filesystem::path root,
           std::string version);

  // Adds a trial that passed, at the shape it was timed at or at another. Throws UserError if it is
  // not there or did not pass, if its template has changed since, or if this compiler makes other
  // code of it than what was gated.
  // `any_size`: for all sizes, by the formulas of any_size.hpp. `choice`: its number in a dispatch.
  void add_trial(const db::Store& store, std::int64_t trial,
                 const std::optional<Constants>& shape = std::nullopt,
                 std::optional<exports::AnySize> any_size = std::nullopt,
                 std::optional<std::size_t> choice = std::nullopt);
  // Adds an exported .cu file, at the shape it was exported for.
  void add_file(const std::filesystem::path& file);

  // Throws UserError if nothing was added.
  const exports::Package& package() const;

 private:
  struct Winner;
  void add(const Winner& winner);
  void require_gated_code(const report::ExportFacts& facts, const kernel::Template& from,
                          const kernel::Source& gated);
  std::size_t kernel_of(const Winner& winner, const std::string& arch);

  kernel::Compiler& compiler_;
  BinaryKind kind_;
  std::filesystem::path root_;
  exports::Package package_;
};

}  // namespace fa_tune::tuner
