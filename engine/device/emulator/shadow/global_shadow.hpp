#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "engine/device/emulator/shadow/horizon.hpp"
#include "engine/device/emulator/shadow/shared_shadow.hpp"

namespace fa_tune::emulator {

// Who made an access to global memory, and when.
struct GlobalStamp {
  std::uint32_t cluster = 0;  // its number in the grid
  std::uint32_t time = 0;     // the agent's
  std::uint32_t op = 0;       // index of the instruction
  std::uint16_t agent = 0;    // of the cluster's VectorClocks
  Strength strength;
  bool asynchronous = false;  // a bulk copy, which ends some time later

  bool same_cta(const GlobalStamp& other) const {
    return cluster == other.cluster && strength.cta() == other.strength.cta();
  }
  bool same_moment(const GlobalStamp& other) const {
    return cluster == other.cluster && agent == other.agent && time == other.time;
  }
};

struct GlobalConflict {
  GlobalStamp before;
  std::uint32_t before_lane = 0;
  bool before_writes = false;
  std::uint64_t address = 0;  // first byte where the two meet
};

// Says what orders accesses to global memory.
class GlobalOrder {
 public:
  virtual ~GlobalOrder() = default;
  // Whether the access comes before the one that is being looked at.
  virtual bool ordered(const GlobalStamp& before, std::uint32_t before_lane,
                       bool before_writes) const = 0;
  // Whether anything may be known of other CTAs.
  virtual bool knows_others() const = 0;
};

// Accesses to one place in global memory, one of them a write, with nothing between the two that
// orders them. Threads of one CTA are not told apart, but for its bulk copies. For each 16 bytes up
// to four warps are remembered byte by byte as writers and two as readers; what more than one CTA
// has read is remembered without them. So nothing right is accused, and some races of many within
// 16 bytes are missed.
class GlobalShadow {
 public:
  // Of up to 16 bytes that do not cross a multiple of 16, by a lane of the stamp's agent. False:
  // `conflict` says why. The access is recorded either way.
  bool read(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
            std::uint32_t lane, const GlobalOrder& order, GlobalConflict& conflict);
  bool write(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
             std::uint32_t lane, const GlobalOrder& order, GlobalConflict& conflict);

  // What strong writes of gpu scope have published at an address for other clusters.
  struct Published {
    BeyondPointer known;
    BeyondPointer proxied;  // of global memory
  };
  void publish(std::uint64_t address, std::uint32_t cluster, const Clock& clock);
  const Published* published(std::uint64_t address) const;

 private:
  static constexpr std::uint64_t kChunk = 16;
  static constexpr std::uint64_t kChunksAPage = 256;

  struct Part {
    GlobalStamp stamp;
    std::uint16_t bytes = 0;                   // a bit a byte
    std::array<std::uint8_t, kChunk> lanes{};  // by byte, the last
  };
  struct Chunk {
    std::uint16_t written = 0;  // bytes that `writes` may have
    // Read by several CTAs, strongly or not; `many` is one of them.
    std::uint16_t read_by_many = 0;
    std::uint16_t read_weakly_by_many = 0;
    GlobalStamp many;
    std::array<Part, 2> reads;
    std::array<Part, 4> writes;
  };
  using Page = std::array<Chunk, kChunksAPage>;

  Chunk& at(std::uint64_t address);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
  std::unordered_map<std::uint64_t, Published> published_;  // by address
};

}  // namespace fa_tune::emulator
