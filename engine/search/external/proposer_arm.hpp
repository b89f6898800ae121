#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/search/external/messages.hpp"
#include "engine/search/external/proposer_process.hpp"
#include "engine/search/strategy.hpp"

namespace fa_tune::search {

struct ProposerOptions {
  std::vector<std::string> words;              // the program and its arguments
  double share = 0.5;                          // of each generation, in (0, 1]
  std::chrono::milliseconds deadline{10'000};  // for one answer
};

// An outside program as one arm of a search: it is asked for a share of each generation, and a
// strategy fills the rest and whatever the program leaves out or gets wrong. Its proposals are
// ordinary ones of the operation "proposer:NAME". What each ask came to is written to the
// transcript before a trial of it runs; a resumed run takes those decisions as they stand, and asks
// (a newly started program, told all trials so far) only from there on.
class ProposerArm {
 public:
  // `decisions` are the texts of the transcript's `taken` lines of a run that is resumed, in order.
  // Throws UserError if they are none. All must outlive the arm; `stop` may be null.
  ProposerArm(const space::Space& space, ProposerBriefing briefing, ProposerOptions options,
              ProposerLog& transcript, const std::vector<std::string>& decisions,
              const std::atomic<bool>* stop);

  // A generation of up to n, as Strategy::ask gives it; the strategy's part and the program's by
  // turns. None also
  // when `stop` was set while the program was asked.
  std::vector<Proposal> ask(Strategy& strategy, int n, const std::string& remaining_json);
  // To be called for every trial, in order of their numbers.
  void report(TrialReport report);
  void end(const std::string& reason);

 private:
  struct TakenItem {
    int idx = 0;
    Config config;
    std::vector<std::uint64_t> parents;
    std::string note;
  };
  struct Decision {
    std::string name;
    std::vector<TakenItem> items;
  };

  static std::string to_json(int id, const Decision& decision);
  Decision from_json(const std::string& text) const;
  int presets_left() const;
  std::vector<Proposal> interleave(const std::vector<Proposal>& own, const Decision& decision);
  Decision decide(int n, const std::string& remaining_json);
  Decision check(const Answer& answer, int n);
  std::string check(const RawItem& raw, TakenItem& item);
  void tell_news();
  std::vector<const TrialReport*> elites() const;

  const space::Space& space_;
  ProposerBriefing briefing_;
  ProposerOptions options_;
  ProposerLog& proposer_log_;
  const std::atomic<bool>* stop_;
  std::vector<Decision> decisions_;  // of the run that is resumed
  std::unique_ptr<ProposerProcess> conversation_;
  int id_ = 0;  // of the last ask
  std::unordered_set<std::string> tried_;
  std::unordered_set<std::string> presets_;
  std::map<std::string, ItemPlace> places_;  // by config
  std::deque<TrialReport> reports_;          // number 1 first
  std::size_t told_ = 0;                     // reports that the program knows
  std::vector<std::size_t> ranked_;          // the fastest that passed, as places in reports_
};

}  // namespace fa_tune::search
