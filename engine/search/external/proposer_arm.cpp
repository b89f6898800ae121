#include "engine/search/external/proposer_arm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/search/external/messages.hpp"
#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::search {
namespace {

using Json = nlohmann::ordered_json;
using Direction = ProposerLog::Direction;

// Elites in an ask: enough to cross over, few enough to read.
constexpr std::size_t kElitesShown = 8;
constexpr std::size_t kMostReason = 400;

}  // namespace

ProposerArm::ProposerArm(const space::Space& space, ProposerBriefing briefing,
                         ProposerOptions options, ProposerLog& transcript,
                         const std::vector<std::string>& decisions, const std::atomic<bool>* stop)
    : space_(space),
      briefing_(std::move(briefing)),
      options_(std::move(options)),
      proposer_log_(transcript),
      stop_(stop) {
  for (const std::string& text : decisions) decisions_.push_back(from_json(text));
  for (const space::Preset& preset : space.presets()) presets_.insert(preset.config.to_json());
}

std::string ProposerArm::to_json(int id, const Decision& decision) {
  Json json = {{"id", id}, {"name", decision.name}, {"items", Json::array()}};
  for (const TakenItem& item : decision.items)
    json["items"].push_back({{"idx", item.idx},
                             {"genome", Json::parse(item.config.to_json())},
                             {"parents", item.parents},
                             {"note", item.note}});
  return json.dump();
}

ProposerArm::Decision ProposerArm::from_json(const std::string& text) const {
  const auto wrong = [](const std::string& why) {
    return UserError(
        "the run cannot be resumed: what was taken from its proposer cannot be read: " +
        printable(why, kMostReason));
  };
  try {
    const Json json = require_json<Json>(text);
    Decision decision{json.at("name").get<std::string>(), {}};
    for (const Json& item : json.at("items")) {
      auto config = read_genome(space_, item.at("genome").dump());
      if (!config) throw wrong(config.error());
      decision.items.push_back({item.at("idx").get<int>(), std::move(*config),
                                item.at("parents").get<std::vector<std::uint64_t>>(),
                                item.at("note").get<std::string>()});
    }
    return decision;
  } catch (const nlohmann::json::exception& error) {
    throw wrong(error.what());
  }
}

// The strategy proposes all presets before anything else: that part of a generation is its own.
int ProposerArm::presets_left() const {
  return static_cast<int>(std::ranges::count_if(
      presets_, [&](const std::string& preset) { return !tried_.contains(preset); }));
}

std::vector<Proposal> ProposerArm::ask(Strategy& strategy, int n,
                                       const std::string& remaining_json) {
  const int wanted = std::max(1, static_cast<int>(std::lround(options_.share * n)));
  const int share = std::min(wanted, n - std::min(n, presets_left()));
  Decision decision;
  if (share > 0) {
    decision = decide(share, remaining_json);
    if (stop_ != nullptr && *stop_ && conversation_ != nullptr) return {};
  }
  for (const TakenItem& item : decision.items) {
    strategy.take(item.config);
    tried_.insert(item.config.to_json());
  }
  const auto own = strategy.ask(n - static_cast<int>(decision.items.size()));
  for (const Proposal& each : own) tried_.insert(each.config.to_json());
  for (const TakenItem& item : decision.items) places_[item.config.to_json()] = {id_, item.idx};
  return interleave(own, decision);
}

// By turns, so that a budget that ends within a generation is shared too; presets stay in front.
std::vector<Proposal> ProposerArm::interleave(const std::vector<Proposal>& own,
                                              const Decision& decision) {
  std::vector<Proposal> proposals;
  auto mine = own.begin();
  for (const TakenItem& item : decision.items) {
    while (mine != own.end() && presets_.contains(mine->config.to_json()))
      proposals.push_back(*mine++);
    if (mine != own.end()) proposals.push_back(*mine++);
    proposals.push_back({item.config, "proposer:" + decision.name, item.parents});
  }
  proposals.insert(proposals.end(), mine, own.end());
  return proposals;
}

ProposerArm::Decision ProposerArm::decide(int n, const std::string& remaining_json) {
  ++id_;
  if (static_cast<std::size_t>(id_) <= decisions_.size())
    return decisions_[static_cast<std::size_t>(id_) - 1];
  if (conversation_ == nullptr) {
    conversation_ =
        std::make_unique<ProposerProcess>(options_.words, options_.deadline, proposer_log_, stop_);
    conversation_->send(hello_line(space_, briefing_));
    tell_news();
  }
  Decision decision{conversation_->name(), {}};
  if (!conversation_->over()) {
    conversation_->send(ask_line({id_, n, remaining_json, elites()}));
    const auto answer = conversation_->await(id_);
    // Not decided: whoever resumes the run asks again.
    if (stop_ != nullptr && *stop_) return decision;
    if (answer) decision = check(*answer, n);
  }
  proposer_log_.add(Direction::taken, to_json(id_, decision));
  proposer_log_.keep();
  return decision;
}

ProposerArm::Decision ProposerArm::check(const Answer& answer, int n) {
  Decision decision{conversation_->name(), {}};
  std::unordered_set<std::string> here;
  // What is left when n good ones were found are spares, which nobody looks at.
  const auto full = [&] { return static_cast<int>(decision.items.size()) == n; };
  for (std::size_t i = 0; i < answer.items.size() && !full(); ++i) {
    TakenItem item;
    item.idx = static_cast<int>(i);
    std::string reason = check(answer.items[i], item);
    if (reason.empty() && !here.insert(item.config.to_json()).second)
      reason = "it is in this answer twice";
    if (!answer.items[i].ignored.empty())
      conversation_->note(
          fmt::format("item {}: ignored its {}", i, fmt::join(answer.items[i].ignored, ", ")));
    if (reason.empty())
      decision.items.push_back(std::move(item));
    else
      conversation_->refuse(id_, item.idx, printable(reason, kMostReason));
  }
  return decision;
}

// Why the item cannot be tried; empty, and `item` filled in, if it can.
std::string ProposerArm::check(const RawItem& raw, TakenItem& item) {
  if (!raw.problem.empty()) return raw.problem;
  for (const std::uint64_t parent : raw.parents)
    if (parent == 0 || parent > reports_.size())
      return fmt::format("its parent {} is no trial of this run", parent);
  auto config = read_genome(space_, raw.genome_json);
  if (!config) return config.error();
  const std::string text = config->to_json();
  if (tried_.contains(text)) return "it was tried before in this run";
  if (presets_.contains(text)) return "it is a preset, which is tried anyway";
  item.config = std::move(*config);
  item.parents = raw.parents;
  item.note = raw.note;
  return {};
}

std::vector<const TrialReport*> ProposerArm::elites() const {
  std::vector<const TrialReport*> elites;
  for (const std::size_t place : ranked_) elites.push_back(&reports_[place]);
  return elites;
}

void ProposerArm::report(TrialReport report) {
  reports_.push_back(std::move(report));
  const TrialReport& news = reports_.back();
  if (news.status == Outcome::passed && news.time_us) {
    const auto slower = [&](std::size_t place) { return *reports_[place].time_us > *news.time_us; };
    ranked_.insert(std::ranges::find_if(ranked_, slower), reports_.size() - 1);
    if (ranked_.size() > kElitesShown) ranked_.pop_back();
  }
  tell_news();
}

void ProposerArm::tell_news() {
  if (conversation_ == nullptr) return;
  for (; told_ < reports_.size(); ++told_) {
    const TrialReport& report = reports_[told_];
    const auto place = places_.find(report.config.to_json());
    conversation_->send(
        tell_line(report, place == places_.end() ? std::nullopt : std::optional(place->second)));
  }
}

void ProposerArm::end(const std::string& reason) {
  if (conversation_ == nullptr) return;
  conversation_->part(reason);
  proposer_log_.keep();
}

}  // namespace fa_tune::search
