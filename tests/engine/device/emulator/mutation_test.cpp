#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/try_ptx.hpp"

// A short, repeatable version of tools/fuzz: texts near to real PTX give a clear error or run.

namespace fa_tune::test {

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '_' || c == '.' || c == '%' || c == '$';
    if (part) {
      word += c;
      continue;
    }
    end();
    words.emplace_back(1, c);
  }
  end();
  return words;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (const std::string& text : texts_) {
      for (std::string& word : words_of(text)) words_.push_back(std::move(word));
    }
  }

  std::string next() {
    const std::string& from = texts_[random_.below(texts_.size())];
    std::vector<std::string> words = words_of(from);
    const std::uint64_t changes = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < changes && !words.empty(); ++i) change(words);
    std::string text;
    for (const std::string& word : words) text += word;
    if (random_.below(16) == 0 && !text.empty()) text.resize(random_.below(text.size()));
    if (random_.below(16) == 0 && !text.empty()) {
      text[random_.below(text.size())] = static_cast<char>(random_.below(256));
    }
    return text;
  }

 private:
  void change(std::vector<std::string>& words) {
    constexpr const char* hostile[] = {"4294967295", "18446744073709551615",
                                       "-1",         "0",
                                       "0x7fffffff", "9223372036854775808",
                                       "{",          "}",
                                       "(",          ")",
                                       "[",          "]",
                                       ";",          ",",
                                       "%r1",        "bra",
                                       "ret",        "exit",
                                       "@%p1",       ".b128"};
    const std::size_t at = random_.below(words.size());
    switch (random_.below(7)) {
      case 0:
        words[at] = hostile[random_.below(std::size(hostile))];
        return;
      case 1:
        words[at] = words_[random_.below(words_.size())];
        return;
      case 2:
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 3:
        std::swap(words[at], words[random_.below(words.size())]);
        return;
      case 4:
        remove_line(words, at);
        return;
      case 5: {  // a stretch again, elsewhere
        const std::size_t count = std::min<std::size_t>(1 + random_.below(30), words.size() - at);
        const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
        const std::vector<std::string> stretch(begin, begin + static_cast<std::ptrdiff_t>(count));
        const auto to = words.begin() + static_cast<std::ptrdiff_t>(random_.below(words.size()));
        words.insert(to, stretch.begin(), stretch.end());
        return;
      }
      default:
        change_number(words, at);
        return;
    }
  }

  static void remove_line(std::vector<std::string>& words, std::size_t at) {
    std::size_t begin = at;
    std::size_t end = at;
    while (begin > 0 && words[begin - 1] != "\n") --begin;
    while (end < words.size() && words[end] != "\n") ++end;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(begin),
                words.begin() + static_cast<std::ptrdiff_t>(end));
  }

  void change_number(std::vector<std::string>& words, std::size_t from) {
    for (std::size_t i = from; i < words.size(); ++i) {
      if (words[i][0] < '0' || words[i][0] > '9') continue;
      words[i] = std::to_string(random_.next() >> random_.below(64));
      return;
    }
  }

  std::vector<std::string> texts_;
  std::vector<std::string> words_;
  Random random_{20};
};

}  // namespace

TEST_CASE("thousands of texts that are nearly PTX give an error or run") {
  const std::vector<std::string> texts = test::corpus("ptx");
  REQUIRE(texts.size() > 10);
  int ran = 0;
  for (const std::string& text : texts) ran += test::try_ptx(text) == "ran" ? 1 : 0;
  CHECK(ran >= 8);
  Mutator mutator(texts);
  int refused = 0;
  constexpr int rounds = 4000;
  for (int i = 0; i < rounds; ++i) {
    const std::string outcome = test::try_ptx(mutator.next());
    CHECK(outcome != "");
    CHECK(outcome.find('\n') == std::string::npos);
    refused += outcome == "ran" ? 0 : 1;
  }
  CHECK(refused > rounds / 4);
  CHECK(refused < rounds);
}

}  // namespace fa_tune::test
