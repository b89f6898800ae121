#include <cstddef>
#include <cstdint>

#include "tests/fuzz/try_init.hpp"

// libFuzzer's way in; tools/fuzz builds and runs it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fa_tune::test::try_init({reinterpret_cast<const char*>(data), size});
  return 0;
}
