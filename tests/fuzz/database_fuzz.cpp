#include <cstddef>
#include <cstdint>

#include "engine/util/file.hpp"
#include "tests/fuzz/try_database.hpp"
#include "tests/helpers.hpp"

// libFuzzer's way in; tools/fuzz builds and runs it. The input is edits of a sound database.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fa_tune;
  static const test::ScratchFolder folder(test::memory_folder());
  static const std::string sound = [] {
    test::make_sound_database(folder / "sound.db");
    return read_file(folder / "sound.db");
  }();
  const auto path = folder / "a.db";
  for (const char* suffix : {"-wal", "-shm", "-journal", "-runs"}) {
    std::error_code ignored;
    std::filesystem::remove(path.string() + suffix, ignored);
  }
  write_file(path, test::edited(sound, {reinterpret_cast<const char*>(data), size}));
  test::try_database(path);
  return 0;
}
