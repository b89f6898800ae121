#include "engine/report/show.hpp"
#include "tools/commands/trial_page.hpp"

namespace fa_tune {

void add_lineage(CLI::App& app, Action& action) {
  add_trial_page(app, action, "lineage",
                 "tell how a trial came about, step by step, with the gain of each", lineage_text);
}

}  // namespace fa_tune
