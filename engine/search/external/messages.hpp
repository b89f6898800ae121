#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/outcome.hpp"
#include "engine/space/space.hpp"

// The lines that go between the engine and an outside proposer: one JSON object a line, UTF-8.
// tools/proposers/README.md describes the protocol for whoever writes a proposer.
namespace fa_tune::search {

// Raised when a proposer that obeys the old number could misread the new lines.
inline constexpr int kProposerProtocol = 2;

// What a proposer is told once about the run. The _json members are whole JSON texts.
struct ProposerBriefing {
  std::string device_json;     // {"id":"cuda:0","name":...,"arch":...,"target":...}
  std::string objective_json;  // {"minimize":"time","unit":"us","kind":"measured",...}
  std::string budget_json;     // {"trials":200}
  std::uint64_t seed = 1;
};

// What became of a trial, whoever proposed it.
struct TrialReport {
  std::uint64_t number = 0;
  Config config;
  Outcome status = Outcome::failed;
  std::string stage;
  std::string finding;
  std::string message;
  std::optional<double> time_us, low_us, high_us;
  std::vector<std::pair<std::string, double>> metrics;  // "registers", "spill_bytes", ...
};

// Which item of which ask a trial was.
struct ItemPlace {
  int id = 0;   // of the ask, from 1
  int idx = 0;  // among its answer's items, from 0
};

struct AskMessage {
  int id = 0;
  int n = 0;
  std::string remaining_json;              // {"trials":84}
  std::vector<const TrialReport*> elites;  // those that passed, fastest first; the first is `best`
};

std::string hello_line(const space::Space& space, const ProposerBriefing& briefing);
std::string ask_line(const AskMessage& ask);
std::string tell_line(const TrialReport& report, const std::optional<ItemPlace>& place);
// `idx` is absent where a line as a whole is refused.
std::string refused_line(int id, std::optional<int> idx, const std::string& reason);
std::string bye_line(const std::string& reason);

// An item as it stands in an answer, before anybody looked whether it is good for something.
struct RawItem {
  std::string genome_json;  // empty where there is none
  std::vector<std::uint64_t> parents;
  std::string note;
  std::vector<std::string> ignored;  // keys that mean nothing here, such as a time
  std::string problem;               // why it cannot even be looked at; empty if it can
};

// What a proposer said in one line.
struct Answer {
  enum class Kind { ready, propose } kind = Kind::ready;
  std::string name;            // of ready
  std::optional<int> id;       // of propose
  std::vector<RawItem> items;  // of propose, in order
};

// Takes any bytes. The error says in a line why they are no answer.
std::expected<Answer, std::string> read_answer(std::string_view line);

// A valid config from a stranger's flat JSON object. Parameters may stand in any order, and values
// of those that do not exist in this config are left out, so that a stranger need not understand
// `when`. The error says in a line why it is no valid config; a value of another type counts as
// another value.
std::expected<Config, std::string> read_genome(const space::Space& space, const std::string& json);

}  // namespace fa_tune::search
