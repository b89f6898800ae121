#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/util/file.hpp"

namespace fa_tune::test {

// What a fuzzer of that part begins with: the files of tests/fuzz/corpus/PART, by name.
inline std::vector<std::string> corpus(const std::string& part) {
  std::vector<std::filesystem::path> names;
  for (const auto& each :
       std::filesystem::directory_iterator(FA_TUNE_ROOT "/tests/fuzz/corpus/" + part))
    names.push_back(each.path());
  std::ranges::sort(names);
  std::vector<std::string> texts;
  for (const auto& name : names) texts.push_back(read_file(name));
  return texts;
}

}  // namespace fa_tune::test
