#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "engine/util/random.hpp"

namespace fa_tune::test {

// Changes a text, not empty, at one place: a piece of `hostile` put in, up to `most_erased`
// characters taken out, one exchanged for another of its own, or what `otherwise` does there.
inline void mutate(std::string& text, Random& random, std::span<const char* const> hostile,
                   std::size_t most_erased, const std::function<void(std::size_t at)>& otherwise) {
  const std::size_t at = random.below(text.size());
  switch (random.below(4)) {
    case 0:
      text.insert(at, hostile[random.below(hostile.size())]);
      break;
    case 1:
      text.erase(at, 1 + random.below(most_erased));
      break;
    case 2:
      text[at] = text[random.below(text.size())];
      break;
    default:
      otherwise(at);
  }
}

}  // namespace fa_tune::test
