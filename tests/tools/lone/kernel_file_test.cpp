#include "tools/lone/kernel_file.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::lone;

TEST_CASE("a kernel file runs on its architecture and on newer ones, one of sm_90a on that alone") {
  KernelFile file;
  CHECK(file.runs_on("sm_80"));
  file.arch = "sm_90";
  CHECK_FALSE(file.runs_on("sm_89"));
  CHECK(file.runs_on("sm_90"));
  CHECK(file.runs_on("sm_100"));
  CHECK(file.runs_on("sm_120"));
  file.arch = "sm_90a";
  CHECK(file.runs_on("sm_90"));
  CHECK_FALSE(file.runs_on("sm_89"));
  CHECK_FALSE(file.runs_on("sm_120"));
}

}  // namespace fa_tune::test
