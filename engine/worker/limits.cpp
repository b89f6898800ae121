#include "engine/worker/limits.hpp"

namespace fa_tune {

void limit_worker(Limits) {}

}  // namespace fa_tune
