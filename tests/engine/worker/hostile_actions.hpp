#pragma once

#include <string>
#include <vector>

namespace fa_tune::test {

// What a kernel or a source that has taken over its worker may try. Each is tried inside a worker
// (bad_worker.cpp) and ends in the text of its error, or in "done".
std::string try_action(const std::string& name);
std::vector<std::string> actions();

}  // namespace fa_tune::test
