#include "engine/report/table.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include "engine/util/printable.hpp"

namespace fa_tune::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 16;  // below it, a wrapping column is unreadable

bool starts_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

// Bytes of the first `columns` code points.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (starts_code_point(text[at]) && columns-- == 0) break;
  return at;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::vector<std::string> wrap_words(std::string_view text, std::size_t width) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = text.find_first_not_of(kBlank, end);
    std::size_t left = display_width(word);
    if (used > 0 && used + 1 + left > width) {
      lines.emplace_back();
      used = 0;
    }
    if (used > 0) {
      lines.back() += ' ';
      ++used;
    }
    for (; left > width; left -= width) {
      const std::size_t bytes = bytes_of(word, width);
      lines.back() += word.substr(0, bytes);
      lines.emplace_back();
      word.remove_prefix(bytes);
    }
    lines.back() += word;
    used += left;
  }
  return lines;
}

std::string paragraph(std::string_view words) {
  std::string text;
  for (const std::string& line : wrap_words(words, kPageWidth)) text += line + '\n';
  return text;
}

std::string labelled(std::string_view margin, std::string label, std::string_view words,
                     std::size_t width) {
  width = std::max(width, label.size() + 1);
  std::string text;
  for (const std::string& line : wrap_words(words, kPageWidth - width - margin.size())) {
    text += fmt::format("{}{:<{}}{}\n", margin, label, width, line);
    label.clear();
  }
  return text;
}

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size())
    throw std::logic_error("a table's row must have a cell for each column");
  // A name with a line end in it would begin a row.
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (columns_[i].align != Align::wrap) cells[i] = printable(cells[i], 3 * cells[i].size() + 3);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths(std::size_t page_width) const {
  std::vector<std::size_t> widths;
  std::size_t fixed = 0, wrapping = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
    if (columns_[i].align == Align::wrap)
      ++wrapping;
    else
      fixed += width;
    if (i > 0) fixed += kGap;
  }
  for (std::size_t i = 0; i < columns_.size() && wrapping > 0; ++i) {
    if (columns_[i].align != Align::wrap) continue;
    const std::size_t left = page_width > fixed ? page_width - fixed : 0;
    widths[i] = std::min(widths[i], std::max(kNarrowest, left / wrapping));
    fixed += widths[i];
    --wrapping;
  }
  return widths;
}

std::string Table::text(std::size_t page_width) const {
  const auto widths = this->widths(page_width);
  std::string text;
  const auto add_row = [&](const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool wraps = columns_[i].align == Align::wrap;
      lines.push_back(wraps ? wrap_words(cells[i], widths[i]) : std::vector{cells[i]});
      height = std::max(height, lines.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string out;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = line < lines[i].size() ? lines[i][line] : "";
        const std::size_t taken = display_width(cell);
        const std::string padding(widths[i] > taken ? widths[i] - taken : 0, ' ');
        if (i > 0) out.append(kGap, ' ');
        out += columns_[i].align == Align::right ? padding + cell : cell + padding;
      }
      out.erase(out.find_last_not_of(' ') + 1);
      text += out + '\n';
    }
  };
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const TableColumn& column : columns_) titles.push_back(column.title);
  add_row(titles);
  for (const auto& row : rows_) add_row(row);
  return text;
}

}  // namespace fa_tune::report
