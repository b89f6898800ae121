#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

// A moment as each agent's own time: who has joined it knows all that an agent did up to then.
using Times = std::vector<std::uint32_t>;

// What is known of a cluster's agents (VectorClocks): of each all up to a time, and of some lanes of
// a warp more.
class Reach {
 public:
  Reach() = default;
  explicit Reach(Times times) : times_(std::move(times)) {}

  bool empty() const { return times_.empty() && lanes_.empty(); }
  void clear();
  void add(std::uint16_t agent, std::uint32_t time);
  // The lanes are taken together: each is then known up to the latest time of any of them.
  void add_lanes(std::uint16_t agent, std::uint32_t time, std::uint32_t lanes);
  void join(const Reach& from);
  // Whether it has what all of `lanes` did at `time`.
  bool covers(std::uint16_t agent, std::uint32_t time, std::uint32_t lanes) const {
    if (agent < times_.size() && time <= times_[agent]) return true;
    return !lanes_.empty() && covers_lanes(agent, time, lanes);
  }
  bool includes(const Reach& other) const;

 private:
  struct Lanes {
    std::uint32_t time = 0;
    std::uint32_t mask = 0;
    std::uint16_t agent = 0;
  };
  bool covers_lanes(std::uint16_t agent, std::uint32_t time, std::uint32_t lanes) const;

  Times times_;
  std::vector<Lanes> lanes_;
};

// What is known of other clusters, by their number; shared by all who know the same.
using Beyond = std::vector<std::pair<std::uint32_t, std::shared_ptr<const Reach>>>;
using BeyondPointer = std::shared_ptr<const Beyond>;  // null: nothing
void join(BeyondPointer& into, const BeyondPointer& from);
const Reach* reach_of(const BeyondPointer& beyond, std::uint32_t cluster);

struct Horizon {
  Reach here;
  BeyondPointer beyond;

  bool empty() const { return here.empty() && beyond == nullptr; }
  void clear() {
    here.clear();
    beyond = nullptr;
  }
  void join(const Horizon& from);
  bool includes(const Horizon& other) const {
    return (other.beyond == nullptr || other.beyond == beyond) && here.includes(other.here);
  }
};

// What threads know.
struct Clock {
  Horizon known;
  // Known to have been read, though not what was written before.
  Horizon read;
  // What a proxy fence has made visible to the asynchronous proxy, in shared and global memory (PTX
  // ISA, "Proxies": bulk copies and wgmma reach memory by another way than ld and st do).
  std::array<Horizon, 2> proxied;
  // What a fence of a scope has covered, by whoever: a strong write publishes that.
  std::array<Horizon, kScopes> fenced;
  // What a strong read has found published, and no fence of the scope has made known since.
  std::array<Horizon, kScopes> observed;
  // mbarriers that fence.mbarrier_init has covered.
  Horizon made;

  void clear();
};

void join(Clock& into, const Clock& from);

}  // namespace fa_tune::emulator
