#include "engine/report/show.hpp"

#include "tools/commands/trial_page.hpp"

namespace fa_tune {

void add_show(CLI::App& app, Action& action) {
  add_trial_page(app, action, "show", "show all that is recorded of a trial", show_text);
}

}  // namespace fa_tune
