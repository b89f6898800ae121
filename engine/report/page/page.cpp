#include "engine/report/page/page.hpp"

#include <fmt/core.h>

#include "engine/report/insights.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/page/style.hpp"
#include "engine/report/rows.hpp"

namespace fa_tune {

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>{}</section>\n", id, escaped(title), body);
}

std::string figure(const std::string& drawing, const std::string& caption) {
  return element("figure", drawing + text_element("figcaption", caption));
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

std::string run_page(const Store& store, std::int64_t run, PageExtras extras) {
  const RunFacts facts = gather_facts(store, run, std::move(extras));
  const std::string title = fmt::format("Run {} of {}", facts.run.id, facts.run.space);
  const std::string kind =
      facts.measured()
          ? "All times are measured on that device."
          : "All times are predictions of the emulator's model; nothing here was measured.";
  const std::string state =
      facts.run.state == "done"
          ? fmt::format("Began {}, ended {}.", facts.run.started_at, facts.run.finished_at)
          : fmt::format("Began {}; {}.", facts.run.started_at, facts.run.state);
  std::string body =
      element("h1", escaped(title)) + text_element("p", context_text(facts.run) + ".", "context") +
      text_element("p", kind + " " + state, facts.measured() ? "kind" : "kind predicted");
  body += result_section(facts) + funnel_section(facts) + progress_section(facts) +
          lineage_section(facts) + effects_section(facts, insights_of(store, run)) +
          ablation_section(facts) + roofline_section(facts) + bottleneck_section(facts) +
          environment_section(facts);
  return "<!DOCTYPE html>\n"
         "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head>"
         "<meta charset=\"utf-8\"/>"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\"/>"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
         "<meta name=\"color-scheme\" content=\"light dark\"/>" +
         text_element("title", title + " - fa-tune") + element("style", kPageStyle) +
         "</head>\n<body><main>\n" + body + "</main></body></html>\n";
}

}  // namespace fa_tune
