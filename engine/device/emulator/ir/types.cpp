#include "engine/device/emulator/ir/types.hpp"

#include <algorithm>

namespace fa_tune::emulator {

std::optional<Type> type_of(std::string_view word) {
  for (std::size_t i = 1; i < kTypeFacts.size(); ++i) {
    if (kTypeFacts[i].name == word) return static_cast<Type>(i);
  }
  return std::nullopt;
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace fa_tune::emulator
