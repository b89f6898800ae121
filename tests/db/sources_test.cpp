// Kernels' sources, of which what a template's trials have in common is kept once.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "db/check.hpp"
#include "engine/util/hash.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

TEST_CASE("what kernels have in common after their defines is kept once, and each is read whole") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  const std::string body = "\n__global__ void f() {}\n#define LATE 1\n";
  const std::vector<std::string> texts = {"#define A 1\n#define B 2\n" + body,
                                          "#define A 2\n" + body,
                                          body,
                                          "#define A 1\n",
                                          "#define A 1",
                                          "#define A 1\n#define B 2\n" + body + "more"};
  std::int64_t number = 0;
  for (const std::string& text : texts) {
    TrialRow trial = a_trial(run, ++number, 90);
    trial.source_hash = sha256(text);
    store.record_trial(trial, {}, {{0, "screen", {90}}}, text);
  }
  for (const std::string& text : texts) CHECK(store.source(sha256(text)) == text);
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM sources") == "6");
  CHECK(ask(folder / "a.db", "SELECT count(body) FROM sources") == "3");
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM bodies") == "2");
  for (const std::string& defect : check_database(folder / "a.db").defects) FAIL_CHECK(defect);
  CHECK_THROWS(change(folder / "a.db", "DELETE FROM bodies"));
}

TEST_CASE(
    "what kernels have in common is written anew where it was not committed, and of many too") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  std::int64_t number = 0;
  const auto text = [](int body, int define) {
    return fmt::format("#define A {}\n__global__ void f{}() {{}}\n", define, body);
  };
  const auto record = [&](const std::string& source) {
    TrialRow trial = a_trial(run, ++number, 90);
    trial.source_hash = sha256(source);
    store.record_trial(trial, {}, {{0, "screen", {90}}}, source);
  };
  {
    Store::Group group(store);
    record(text(0, 0));
  }
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM bodies") == "0");
  number = 0;
  for (int define = 0; define < 2; ++define)
    for (int body = 0; body < 9; ++body) record(text(body, define));
  CHECK(ask(folder / "a.db", "SELECT count(*) FROM bodies") == "9");
  for (int body = 0; body < 9; ++body) CHECK(store.source(sha256(text(body, 1))) == text(body, 1));
  for (const std::string& defect : check_database(folder / "a.db").defects) FAIL_CHECK(defect);
}

}  // namespace fa_tune::test
