#include <array>
#include <cmath>

#include <fmt/core.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

namespace fa_tune::bench {
namespace {

// `count` has the rounds in its low 24 bits and the logarithm of the lines above.
constexpr int kLinesShift = 24;
constexpr int kRounds = 64;
constexpr std::uint32_t kBlocksAnSm = 2;
constexpr std::uint32_t kThreads = 256;
constexpr std::array kLogLines = {0, 2, 4, 6, 10, 14};

struct Pattern {
  const char* name;
  const char* word;    // of a line of 32, which a lane adds to
  const char* active;  // lanes that do
};

constexpr std::array kPatterns = {
    Pattern{"32 words", "lane", "true"},
    Pattern{"8 words of a sector", "lane", "lane < 8"},
    Pattern{"a word, by one lane", "lane", "lane == 0"},
    Pattern{"a word, by 32 lanes", "0", "true"},
};

struct Form {
  const char* name;
  const char* step;  // adds `value` to what `at` names
};

constexpr std::array kForms = {
    Form{"red.u32", R"(asm volatile("red.global.add.u32 [%0], %1;" :: "l"(at), "r"(value));)"},
    Form{"red.f32", R"(asm volatile("red.global.add.f32 [%0], %1;" :: "l"(at),
                       "f"(__uint_as_float(value)));)"},
    Form{"atom.u32", R"(asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(got) : "l"(at),
                        "r"(value));)"},
};

// Every warp adds to one line after the other, of `lines` that all warps share.
std::string adding_source(const Form& form, const Pattern& pattern) {
  return kernel_prelude() + fmt::format(R"(
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const unsigned lines = 1u << (count >> {}), rounds = count & 0xffffff;
  unsigned line = warp * 2654435761u, got = 0;
  for (unsigned i = 0; i < rounds; ++i) {{
    unsigned* at = data + (line >> 7) % lines * 32 + ({});
    const unsigned value = lane + i;
    if ({}) {{ {} }}
    line += 2246822519u;
  }}
  if (got == ~0u) times[0] = got;
}}
)",
                                        kLinesShift, pattern.word, pattern.active, form.step);
}

// Each add waits for the one before.
std::string waiting_source() {
  return kernel_prelude() + R"(
  unsigned got = 0;
  const unsigned long long ns = nanoseconds(), begin = now();
  for (int i = 0; i < count; ++i)
    asm volatile("atom.global.add.u32 %0, [%1], 0;" : "=r"(got) : "l"(data + got));
  note(times, begin, now(), ns);
  if (got == ~0u) times[0] = got;
}
)";
}

}  // namespace

Json measure_atomics(Lab& lab, int sms) {
  lab.fill(std::vector<std::uint32_t>(32U << kLogLines.back(), 0));
  constexpr int kWaits = 1024;
  const double latency = lab.clocks(waiting_source(), {1, 32, 0, kWaits}) / kWaits;
  fmt::print("atom.add of 32 lanes to one word, clocks until its result: {:.1f}\n", latency);
  Json result = {{"latency_clocks", std::round(latency * 10) / 10}};
  const std::uint32_t blocks = kBlocksAnSm * static_cast<std::uint32_t>(sms);
  const double instructions = blocks * (kThreads / 32.0) * kRounds;
  Json nanoseconds = Json::object();
  for (const Form& form : kForms) {
    for (const Pattern& pattern : kPatterns) {
      const std::string source = adding_source(form, pattern);
      Json row = Json::object();
      for (const int log_lines : kLogLines) {
        const double us =
            lab.microseconds(source, {blocks, kThreads, 0, log_lines << kLinesShift | kRounds});
        row[std::to_string(1 << log_lines)] = std::round(1e6 * us / instructions) / 1e3;
      }
      fmt::print("{}, {}: ns a warp's instruction on the whole GPU, by lines: {}\n", form.name,
                 pattern.name, row.dump());
      nanoseconds[form.name][pattern.name] = row;
    }
  }
  result["ns_an_instruction"] = nanoseconds;
  return result;
}

}  // namespace fa_tune::bench
