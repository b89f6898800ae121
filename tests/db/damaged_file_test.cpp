// Databases that were cut, or had bytes changed: refused with a line that says what to do, or used,
// and never changed by who only reads or was refused. tools/fuzz goes on where this stops.

#include <map>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/db/fixture.hpp"
#include "tests/fuzz/try_database.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

const std::string& sound() {
  static const std::string bytes = [] {
    const ScratchFolder folder(memory_folder());
    make_sound_database(folder / "a.db");
    return read_file(folder / "a.db");
  }();
  return bytes;
}

std::string tried(const std::string& bytes) {
  const ScratchFolder folder(memory_folder());
  write_file(folder / "a.db", bytes);
  return try_database(folder / "a.db");
}

std::string refusal_of_bytes(const std::string& bytes, Store::Mode mode) {
  const ScratchFolder folder(memory_folder());
  write_file(folder / "a.db", bytes);
  const std::string message = message_of<UserError>([&] { Store(folder / "a.db", mode).runs(); });
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.starts_with((folder / "a.db").string() + ": "));
  return message;
}

}  // namespace

TEST_CASE("a sound database is read, found sound, copied, and its run goes on") {
  CHECK(tried(sound()) == "read done, sound, check done, backup done, write done");
}

TEST_CASE("a database that is cut, at a page or within, is refused by every command, and told so") {
  int cuts = 0;
  for (std::size_t size = 4096; size < sound().size(); size += 4096)
    for (const std::size_t less : {0, 1, 2000}) {
      const std::string bytes = sound().substr(0, size - less);
      CAPTURE(bytes.size());
      CHECK(tried(bytes) == "read refused, check refused, backup refused, write refused");
      for (const Store::Mode mode : {Store::Mode::read, Store::Mode::write})
        CHECK(has(refusal_of_bytes(bytes, mode), "is damaged"));
      ++cuts;
    }
  const std::size_t pages = sound().size() / 4096;
  MESSAGE(pages << " pages, " << cuts << " cuts");
  CHECK(cuts > 60);
}

TEST_CASE("a final that lost its ratio is damage") {
  // Found by the fuzzer, which gives edits in this form.
  const std::string edits = {'\x58', '\x10', '\xfa', '\x30', '\xc4', '\xff', '\x80', '\x80'};
  CHECK(has(tried(edited(sound(), edits)), "read refused"));
}

TEST_CASE("changed bytes are refused or read, and nothing escapes") {
  Random random(3);
  std::map<std::string, int> outcomes;
  const int rounds = 400;
  for (int i = 0; i < rounds; ++i) {
    std::string edits;
    for (std::uint64_t left = 4 * (1 + random.below(3)); left > 0; --left)
      edits += static_cast<char>(random.below(256));
    CAPTURE(i);
    ++outcomes[tried(edited(sound(), edits))];
  }
  for (const auto& [outcome, count] : outcomes) MESSAGE(count << " x " << outcome);
  CHECK(outcomes["read done, sound, check done, backup done, write done"] < rounds);
  CHECK(outcomes.size() > 3);
}

}  // namespace fa_tune::test
