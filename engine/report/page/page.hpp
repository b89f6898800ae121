#pragma once

#include <cstdint>
#include <string>

#include "db/store.hpp"
#include "engine/report/page/page_data.hpp"

namespace fa_tune {

// A run as one HTML file that needs nothing beside it: no script, no network, no font; light or
// dark as its reader has it, down to the width of a phone. It is well-formed XML too. All text of
// the database is escaped. The same rows give the same bytes. Throws UserError where there is no
// such run.
std::string run_page(const Store& store, std::int64_t run, PageExtras extras);

}  // namespace fa_tune
