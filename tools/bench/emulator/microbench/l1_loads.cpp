#include <array>
#include <cmath>

#include <fmt/core.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

namespace fa_tune::bench {
namespace {

constexpr int kWords = 64 << 10;  // more than any pattern below reaches
constexpr int kLoadsARound = 8;
constexpr std::uint32_t kLoadingThreads = 1024;  // of one block, which has an SM for itself
constexpr int kLoadingRounds = 512;

struct LoadPattern {
  const char* name;
  const char* word;  // that a lane loads from
  int words = 1;     // that it loads
};

constexpr std::array kLoadPatterns = {
    LoadPattern{"32 words of a line", "lane"},
    LoadPattern{"a word, by 32 lanes", "0"},
    LoadPattern{"32 words of two lines, from 1 on", "lane + 1"},
    LoadPattern{"32 words of two lines, from 16 on", "lane + 16"},
    LoadPattern{"two rows of 16, in the same banks", "lane / 16 * 1024 + lane % 16"},
    LoadPattern{"two rows of 16, in other banks", "lane / 16 * 1040 + lane % 16"},
    LoadPattern{"two rows of 16, of two lines each", "lane / 16 * 1024 + lane % 16 + 30"},
    LoadPattern{"four rows of 8, in the same banks", "lane / 8 * 1024 + lane % 8"},
    LoadPattern{"four rows of 8, in other banks", "lane / 8 * 1032 + lane % 8"},
    LoadPattern{"eight rows of 4, in the same banks", "lane / 4 * 1024 + lane % 4"},
    LoadPattern{"eight rows of 4, in other banks", "lane / 4 * 1028 + lane % 4"},
    LoadPattern{"every 2nd word", "lane * 2"},
    LoadPattern{"every 4th word", "lane * 4"},
    LoadPattern{"every 8th word", "lane * 8"},
    LoadPattern{"every 16th word", "lane * 16"},
    LoadPattern{"every 32nd word", "lane * 32"},
    LoadPattern{"every 33rd word", "lane * 33"},
    LoadPattern{"8 bytes, side by side", "lane * 2", 2},
    LoadPattern{"8 bytes, side by side, from 8 on", "lane * 2 + 2", 2},
    LoadPattern{"16 bytes, side by side", "lane * 4", 4},
    LoadPattern{"16 bytes, by 32 lanes", "0", 4},
};

// The loads of a round are so far apart that none is another's, and all of them fit in L1.
constexpr int kBytesApart = 8192;

std::string load_of(int words, int bytes) {
  const char* vector = words == 1 ? "" : words == 2 ? ".v2" : ".v4";
  std::string names, outputs, sum;
  for (int i = 0; i < words; ++i) {
    names += fmt::format("{}%{}", i > 0 ? ", " : "", i);
    outputs += fmt::format("{}\"=r\"(word[{}])", i > 0 ? ", " : "", i);
    sum += fmt::format(" ^ word[{}]", i);
  }
  return fmt::format(
      "    {{ unsigned word[{}]; asm volatile(\"ld.global.ca{}.u32 {}, [%{} + {}];\" : {} : "
      "\"l\"(at)); got = got{}; }}\n",
      words, vector, words == 1 ? names : "{" + names + "}", words, bytes, outputs, sum);
}

// `data` is 0 throughout, which ptxas does not know: it must load anew in each round.
std::string loading_source(const LoadPattern& pattern) {
  std::string round;
  for (int i = 0; i < kLoadsARound; ++i) round += load_of(pattern.words, i * kBytesApart);
  return kernel_prelude() + fmt::format(R"(
  const unsigned* at = data + ({});
  const unsigned zero = *at;
  unsigned got = 0;
  const unsigned long long ns = nanoseconds(), begin = now();
  for (int i = 0; i < count; ++i) {{
{}    at += zero;
  }}
  if (got == ~0u) times[0] = got;
  note(times, begin, now(), ns);
}}
)",
                                        pattern.word, round);
}

}  // namespace

Json measure_l1_loads(Lab& lab) {
  lab.fill(std::vector<std::uint32_t>(kWords, 0));
  Json result = Json::object();
  for (const LoadPattern& pattern : kLoadPatterns) {
    const double clocks =
        lab.clocks(loading_source(pattern), {1, kLoadingThreads, 0, kLoadingRounds});
    const double each = clocks / (kLoadingThreads / 32.0 * kLoadsARound * kLoadingRounds);
    fmt::print("{}: {:.2f} clocks a warp's load that L1 holds\n", pattern.name, each);
    result[pattern.name] = std::round(each * 100) / 100;
  }
  return result;
}

}  // namespace fa_tune::bench
