#include "engine/report/page/markup.hpp"

#include <fmt/core.h>

#include "engine/util/printable.hpp"

namespace fa_tune::report {
namespace {

// XML has no place for the two last code points of a plane; in UTF-8 those of the first, which are
// the ones it names, are these.
std::string without_noncharacters(std::string text) {
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = 0; (at = text.find(none, at)) != std::string::npos;)
      text.replace(at, none.size(), "?");
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char character : without_noncharacters(printable(text, 3 * text.size() + 3))) {
    switch (character) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += character;
    }
  }
  return safe;
}

std::string element(std::string_view name, std::string_view content, std::string_view css) {
  if (css.empty()) return fmt::format("<{0}>{1}</{0}>", name, content);
  return fmt::format("<{0} class=\"{2}\">{1}</{0}>", name, content, css);
}

std::string text_element(std::string_view name, std::string_view text, std::string_view css) {
  return element(name, escaped(text), css);
}

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>{}</section>\n", id, escaped(title), body);
}

std::string table_markup(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string cells;
    for (const std::string& cell : rows[i]) cells += text_element(i == 0 ? "th" : "td", cell);
    const std::string row = element("tr", cells);
    if (i == 0)
      text += element("thead", row) + "<tbody>";
    else
      text += row;
  }
  return "<div class=\"scroll\"><table>" + text + "</tbody></table></div>";
}

}  // namespace fa_tune::report
