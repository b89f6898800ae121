#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fa_tune::report {

// The page around its sections, with names in braces where text goes; its style sheet.
std::string_view page_frame_part();
std::string_view page_style_part();

// Text from anywhere as the content of an element or a quoted attribute: whoever wrote it, it stays
// text. Control characters and bytes that are no UTF-8 become '?'.
std::string escaped(std::string_view text);

// <name>content</name>, with a class if there is one; `content` is markup already.
std::string element(std::string_view name, std::string_view content, std::string_view css = {});

// The same around text that is escaped first.
std::string text_element(std::string_view name, std::string_view text, std::string_view css = {});

std::string section(const std::string& id, const std::string& title, const std::string& body);

// Rows of cells that are text; the first row is the heads. Columns from the second on are figures.
std::string table_markup(const std::vector<std::vector<std::string>>& rows);

// A drawing with what one sees in it, in words, drawn twice: for a page and for a phone; the style
// sheet shows one of them. Shrinking one drawing would shrink its letters.
inline constexpr double kWide = 720;
inline constexpr double kNarrow = 344;

template <typename Draw>
std::string figure(const std::string& caption, const Draw& draw) {
  return element("figure", element("div", draw(kWide), "wide") +
                               element("div", draw(kNarrow), "narrow") +
                               text_element("figcaption", caption));
}

}  // namespace fa_tune::report
