#include "engine/device/emulator/shadow/horizon.hpp"

namespace fa_tune::emulator {
namespace {

template <class Act>
void each_part(Clock& into, const Clock& from, Act&& act) {
  act(into.known, from.known);
  act(into.read, from.read);
  for (std::size_t i = 0; i < into.proxied.size(); ++i) act(into.proxied[i], from.proxied[i]);
  for (std::size_t i = 0; i < into.fenced.size(); ++i) act(into.fenced[i], from.fenced[i]);
  for (std::size_t i = 0; i < into.observed.size(); ++i) act(into.observed[i], from.observed[i]);
  act(into.made, from.made);
}

}  // namespace

void Reach::clear() {
  times_.clear();
  lanes_.clear();
}

void Reach::add(std::uint16_t agent, std::uint32_t time) {
  if (times_.size() <= agent) times_.resize(agent + std::size_t{1});
  times_[agent] = std::max(times_[agent], time);
}

void Reach::add_lanes(std::uint16_t agent, std::uint32_t time, std::uint32_t lanes) {
  if (agent < times_.size() && time <= times_[agent]) return;
  for (Lanes& each : lanes_) {
    if (each.agent != agent) continue;
    const bool old = agent < times_.size() && each.time <= times_[agent];
    each = {std::max(each.time, time), old ? lanes : each.mask | lanes, agent};
    return;
  }
  lanes_.push_back({time, lanes, agent});
}

void Reach::join(const Reach& from) {
  if (times_.size() < from.times_.size()) times_.resize(from.times_.size());
  for (std::size_t i = 0; i < from.times_.size(); ++i) {
    times_[i] = std::max(times_[i], from.times_[i]);
  }
  for (const Lanes& each : from.lanes_) add_lanes(each.agent, each.time, each.mask);
  if (lanes_.empty()) return;
  std::erase_if(lanes_, [&](const Lanes& each) {
    return each.agent < times_.size() && each.time <= times_[each.agent];
  });
}

bool Reach::covers_lanes(std::uint16_t agent, std::uint32_t time, std::uint32_t lanes) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lanes& each) {
    return each.agent == agent && time <= each.time && (lanes & ~each.mask) == 0;
  });
}

bool Reach::includes(const Reach& other) const {
  for (std::size_t i = 0; i < other.times_.size(); ++i) {
    if (other.times_[i] > (i < times_.size() ? times_[i] : 0)) return false;
  }
  return std::all_of(other.lanes_.begin(), other.lanes_.end(),
                     [&](const Lanes& each) { return covers(each.agent, each.time, each.mask); });
}

const Reach* reach_of(const BeyondPointer& beyond, std::uint32_t cluster) {
  if (beyond == nullptr) return nullptr;
  const auto found =
      std::lower_bound(beyond->begin(), beyond->end(), cluster,
                       [](const auto& each, std::uint32_t number) { return each.first < number; });
  return found != beyond->end() && found->first == cluster ? found->second.get() : nullptr;
}

void join(BeyondPointer& into, const BeyondPointer& from) {
  if (from == nullptr || into == from) return;
  if (into == nullptr) {
    into = from;
    return;
  }
  Beyond joined;
  bool more = false;  // than `into` has
  joined.reserve(into->size() + from->size());
  auto own = into->begin();
  for (const auto& theirs : *from) {
    while (own != into->end() && own->first < theirs.first) joined.push_back(*own++);
    if (own == into->end() || own->first != theirs.first) {
      joined.push_back(theirs);
      more = true;
    } else if (own->second == theirs.second || own->second->includes(*theirs.second)) {
      joined.push_back(*own++);
    } else {
      auto both = std::make_shared<Reach>(*own->second);
      both->join(*theirs.second);
      joined.emplace_back(theirs.first, std::move(both));
      more = true;
      ++own;
    }
  }
  joined.insert(joined.end(), own, into->end());
  if (more) into = std::make_shared<const Beyond>(std::move(joined));
}

void Horizon::join(const Horizon& from) {
  here.join(from.here);
  emulator::join(beyond, from.beyond);
}

void Clock::clear() {
  each_part(*this, *this, [](Horizon& part, const Horizon&) { part.clear(); });
}

void join(Clock& into, const Clock& from) {
  each_part(into, from, [](Horizon& to, const Horizon& part) {
    if (!part.empty()) to.join(part);
  });
}

}  // namespace fa_tune::emulator
