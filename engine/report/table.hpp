#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::report {

// What a terminal, a mail and a side-by-side diff all show without folding.
inline constexpr std::size_t kPageWidth = 100;

// Columns a text takes on a terminal: one for each code point of its UTF-8.
std::size_t display_width(std::string_view text);

// The words of `text` in lines of at most `width` columns; a longer word is broken. Never empty.
std::vector<std::string> wrap_words(std::string_view text, std::size_t width);

// Words in lines of a page's width, each ended.
std::string paragraph(std::string_view words);
// A label of `width` columns with words beside it, in as many lines as they take, each behind
// `margin`.
std::string labelled(std::string_view margin, std::string label, std::string_view words,
                     std::size_t width);

enum class Align { left, right, wrap };  // wrap: left, in as many lines as it takes

struct TableColumn {
  std::string title;
  Align align = Align::left;
};

// A table in plain text: a line of titles, two spaces between columns, no trailing spaces. Columns
// that wrap share what the others leave of the page.
class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells);  // one a column
  std::string text(std::size_t page_width = kPageWidth) const;

 private:
  std::vector<std::size_t> widths(std::size_t page_width) const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fa_tune::report
