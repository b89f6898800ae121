#include <cstddef>
#include <cstdint>

#include "tests/fuzz/try_table.hpp"

// libFuzzer's way in; tools/fuzz builds and runs it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fa_tune::test::try_table({reinterpret_cast<const char*>(data), size});
  return 0;
}
