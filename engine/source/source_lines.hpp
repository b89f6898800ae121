#pragma once

#include <map>
#include <string>
#include <vector>

namespace fa_tune::source {

// Where each line of a text that was made of several files stands in them, so that what a compiler
// says of the text can be told as the files' authors know it. Lines are counted from 1.
class SourceLines {
 public:
  struct Place {
    std::string file;  // as a person knows it; empty where nothing is known
    int line = 0;
  };

  // A text that is one file.
  static SourceLines of_file(const std::string& name);

  // Line `flat` of the text is line `line` of the file, and so on until the next that is added.
  // Lines of the text are added in their order.
  void add(int flat, const std::string& file, int line);
  // The same for the text with `count` lines more before line `before`; they are called `name`.
  SourceLines with_inserted(int before, int count, const std::string& name) const;

  Place at(int flat) const;
  bool empty() const { return pieces_.empty(); }

 private:
  struct Piece {
    int flat = 0;
    Place place;
  };
  std::vector<Piece> pieces_;
};

// Those of a space's sources, by the names that its text gives them.
using SourceMaps = std::map<std::string, SourceLines>;

}  // namespace fa_tune::source
