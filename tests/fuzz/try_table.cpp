#include "tests/fuzz/try_table.hpp"

#include "engine/community/table/recorded_table.hpp"
#include "engine/util/error.hpp"
#include "engine/util/gzip.hpp"

namespace fa_tune::test {

std::string try_table(std::string_view bytes) {
  try {
    const std::string text =
        bytes.starts_with("\x1f\x8b") ? gunzip(bytes, "fuzz").text : std::string(bytes);
    const community::RecordedTable table = community::parse_table(text, "fuzz.json");
    return std::string(table.cut ? "cut" : "whole");
  } catch (const UserError&) {
    return "refused";
  }
}

}  // namespace fa_tune::test
