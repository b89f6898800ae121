#include "engine/model/bottleneck.hpp"

#include <array>

namespace fa_tune {
namespace {

struct LimitName {
  const char* text;
  const char* words;
};

// In the order of the enumeration.
constexpr std::array kLimitNames = {
    LimitName{"issue", "instruction issue"},
    LimitName{"tensor", "tensor cores"},
    LimitName{"fma", "f32 multiply-add"},
    LimitName{"half", "f16 arithmetic"},
    LimitName{"fp64", "f64 arithmetic"},
    LimitName{"alu", "integer and logic"},
    LimitName{"special", "special functions"},
    LimitName{"shared_memory", "shared memory and L1"},
    LimitName{"l2", "L2"},
    LimitName{"dram", "DRAM"},
    LimitName{"latency", "latency"},
    LimitName{"parallelism", "parallelism"},
    LimitName{"launch", "launch"},
};
static_assert(kLimitNames.size() == static_cast<std::size_t>(kLastLimit) + 1);

}  // namespace

std::string to_text(Bottleneck limit) {
  return kLimitNames.at(static_cast<std::size_t>(limit)).text;
}

std::string words(Bottleneck limit) {
  return kLimitNames.at(static_cast<std::size_t>(limit)).words;
}

std::optional<Bottleneck> limit_of(std::string_view text) {
  for (std::size_t i = 0; i < kLimitNames.size(); ++i)
    if (text == kLimitNames[i].text) return static_cast<Bottleneck>(i);
  return std::nullopt;
}

}  // namespace fa_tune
