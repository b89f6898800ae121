#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/helpers.hpp"

// A program in which a case could not be tried is shown by ctest as skipped, unless another failed.
// Weak: one program has a main of its own.
[[gnu::weak]] int main(int argc, char** argv) {
  const int result = doctest::Context(argc, argv).run();
  return result == 0 && fa_tune::test::something_skipped ? fa_tune::test::kSkipped : result;
}
