#pragma once

#include <span>
#include <string_view>

namespace fa_tune::db {

// A file of db/migrations. Each takes a database from schema `number` - 1 to `number`; one that was
// released is never edited, the next one mends it.
struct Migration {
  int number;  // from 1, without gaps
  std::string_view sql;
};

std::span<const Migration> migrations();

}  // namespace fa_tune::db
