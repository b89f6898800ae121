#pragma once

#include <string>
#include <string_view>

namespace fa_tune::test {

// Takes a line for one of an outside proposer's, down to valid configs of a space that has every
// kind of parameter. What came of it, for people and to compare; throws std::logic_error where a
// genome was taken that is not valid or does not read back as itself.
std::string try_proposal(std::string_view line);

}  // namespace fa_tune::test
