#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/template/template.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"

namespace fa_tune::tuner {

// Finds out whether a trial's kernel equals that of an earlier trial: before it is compiled by its
// source and launches, after that by its machine code and launches (KernelIdentity). Trials are
// remembered in the order of their numbers, so the later one is the duplicate.
class DuplicateCheck {
 public:
  // The task must outlive it. `cases`: what the variants will be gated on.
  DuplicateCheck(const TuningTask& task, const std::vector<gate::GateCase>& cases);

  // The timed shape, then those that are gated, each once.
  const std::vector<Constants>& shapes() const { return shapes_; }
  // The launch at each of shapes(), or why the config cannot be launched at one of them.
  using Plans = std::expected<std::vector<PlannedLaunch>, std::string>;
  Plans plan(const Config& config) const;
  // The same, kept until its trial is remembered: it is asked for at each stage.
  const Plans& plans(const Config& config);
  // For plans(), if it has none yet.
  void keep(const Config& config, Plans plans);

  // The number of the trial that it equals, if there is one. The source is that of the config,
  // which can be launched.
  std::optional<std::int64_t> find_source(const Config& config, const std::string& source_hash);
  std::optional<std::int64_t> find_identity(const std::string& identity) const;
  // The identity of a variant that is compiled for all of shapes().
  std::string identity_of(Variant& variant);
  // Of a duplicate there is nothing to know.
  void remember(const db::TrialRow& row);

 private:
  // A trial that others with its source may be twins of. Most sources are of one trial alone.
  struct Remembered {
    std::int64_t number = 0;
    std::string config_json;
    std::optional<std::string> identity = {};  // of source and launches, once it is asked for
  };

  std::string identity_of_source(const Config& config, const std::string& source_hash,
                                 const Plans& plans) const;

  const TuningTask& task_;
  std::vector<Constants> shapes_;
  std::vector<Constants> scopes_;                 // what expressions may name at each
  std::unordered_map<std::string, Plans> plans_;  // of configs that are not remembered, by JSON
  std::unordered_map<std::string, std::vector<Remembered>> trials_of_source_;  // by its hash
  std::unordered_map<std::string, std::int64_t> trial_of_identity_;
};

}  // namespace fa_tune::tuner
