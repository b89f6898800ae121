#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace fa_tune::emulator {

// Who made an access to global memory.
struct GlobalStamp {
  std::uint32_t actor = 0;   // number of the CTA, or of the cluster, in the grid
  std::uint32_t time = 0;    // the actor's, which counts its releases
  std::uint32_t op = 0;      // index of the instruction
  std::uint16_t thread = 0;  // within the actor
  bool strong = false;       // atomic, volatile, relaxed, ...: two of them never race
};

struct GlobalConflict {
  GlobalStamp before;
  bool before_writes = false;
  std::uint64_t address = 0;  // first byte where the two meet
};

// Accesses of different CTAs to one place in global memory, one of them a write, with nothing
// between the two that orders them: only a fence and a strong write by the one, and a strong read
// of the same place by the other do (PTX ISA, memory consistency model, release and acquire
// patterns; a strong read counts as an acquire even without its fence, as CUDA's own samples are
// written). For each 16 bytes up to two CTAs are remembered byte by byte as writers and two as
// readers; what more than one has read or written is remembered without them. So nothing right is
// accused, and a race of three or more CTAs within 16 bytes may be missed.
class GlobalShadow {
 public:
  // The accesses that follow are `actor`'s, which begins, or goes on if it was put aside. Its
  // threads' order is not looked at.
  void enter(std::uint32_t actor);
  // Keeps what the actor at hand knows until it is entered again.
  void put_aside();
  std::uint32_t actor() const { return actor_; }
  std::uint32_t time() const { return own_.time; }

  // Of up to 16 bytes that do not cross a multiple of 16. False: `conflict` says why. The access is
  // recorded either way.
  bool read(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
            GlobalConflict& conflict);
  bool write(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
             GlobalConflict& conflict);

  // A fence of gpu or sys scope: what came before it can be published.
  void fence();
  // A strong write publishes, also without a fence if it is itself a release; a strong read learns.
  void publish(std::uint64_t address, bool releases);
  void learn(std::uint64_t address);

 private:
  static constexpr std::uint64_t kChunk = 16;
  static constexpr std::uint64_t kChunksAPage = 256;

  struct Part {
    GlobalStamp stamp;
    std::uint16_t bytes = 0;                 // a bit a byte
    std::array<std::uint16_t, 4> threads{};  // by 4 bytes, the last
  };
  struct Chunk {
    std::array<Part, 2> writes;
    std::array<Part, 2> reads;
    // Read by several, weakly or not; `many` is one of them.
    std::uint16_t read_by_many = 0;
    std::uint16_t read_weakly_by_many = 0;
    GlobalStamp many;
  };
  using Page = std::array<Chunk, kChunksAPage>;
  using Times = std::unordered_map<std::uint32_t, std::uint32_t>;  // by actor

  Chunk& at(std::uint64_t address);
  bool ordered(const GlobalStamp& before) const;
  static void record(std::array<Part, 2>& parts, const GlobalStamp& stamp, std::uint16_t bytes);
  // The access of `part` at `address`.
  static GlobalConflict conflict_with(const Part& part, bool writes, std::uint64_t address);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_ = nullptr;
  std::unordered_map<std::uint64_t, Times> published_;  // by address
  std::uint32_t actor_ = 0;
  // Of the actor at hand.
  struct Own {
    Times known;
    std::uint32_t time = 1;
    std::uint32_t fenced = 0;  // the last time that a fence closed
  };
  Own own_;
  std::unordered_map<std::uint32_t, Own> aside_;  // by actor
};

}  // namespace fa_tune::emulator
