#include "db/run_lease.hpp"

#include <csignal>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

// Another process that begins a run, says so, and waits to be killed.
class Worker {
 public:
  explicit Worker(const std::filesystem::path& database) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    process_ = fork();
    if (process_ == 0) {
      Store store(database, Store::Mode::write);
      const auto run = static_cast<char>(store.begin_run(a_run()));
      [[maybe_unused]] const auto told = write(ready[1], &run, 1);
      for (;;) pause();
    }
    close(ready[1]);
    char run = 0;
    REQUIRE(read(ready[0], &run, 1) == 1);
    close(ready[0]);
    run_ = static_cast<unsigned char>(run);
  }
  ~Worker() { die(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void die() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  pid_t process() const { return process_; }
  std::int64_t run() const { return run_; }

 private:
  pid_t process_ = 0;
  std::int64_t run_ = 0;
};

}  // namespace

TEST_CASE(
    "a run that a live process works on is refused to others, by name; a dead one's is free") {
  const ScratchFolder folder;
  const auto database = folder / "a.db";
  Worker worker(database);
  Store store(database, Store::Mode::write);
  const std::string who = "process " + std::to_string(worker.process());
  CHECK(message_of<UserError>([&] { store.hold_run(worker.run()); }) ==
        database.string() + ": " + who +
            " is working on run 1 at this moment; wait for it or end it");
  CHECK(store.holder_of(worker.run()) == who);

  // Another run of the same file is nobody's business.
  const std::int64_t mine = store.begin_run(a_run());
  CHECK(mine != worker.run());
  CHECK(store.holder_of(mine) == "process " + std::to_string(getpid()));

  worker.die();
  CHECK(store.holder_of(worker.run()).empty());
  CHECK_NOTHROW(store.hold_run(worker.run()));
  CHECK_NOTHROW(store.hold_run(worker.run()));
}

TEST_CASE("a run is held until it is ended or its store is closed, and no file is left") {
  const ScratchFolder folder;
  const auto locks = folder / "a.db-runs";
  Store other(folder / "a.db", Store::Mode::write);
  {
    Store store(folder / "a.db", Store::Mode::write);
    const std::int64_t ended = store.begin_run(a_run());
    const std::int64_t left = store.begin_run(a_run());
    CHECK_THROWS_AS(other.hold_run(ended), UserError);
    CHECK_THROWS_AS(other.hold_run(left), UserError);
    store.set_run_state(ended, "done");
    CHECK_NOTHROW(other.hold_run(ended));
    CHECK_THROWS_AS(other.hold_run(left), UserError);
    CHECK(std::filesystem::exists(locks));
  }
  CHECK_NOTHROW(other.hold_run(2));
  CHECK(std::filesystem::exists(locks));
  for (const std::int64_t run : {1, 2}) other.set_run_state(run, "interrupted");
  CHECK_FALSE(std::filesystem::exists(locks));
  CHECK(other.holder_of(1).empty());
}

TEST_CASE("one database under two names is one") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  store.begin_run(a_run());
  std::filesystem::create_symlink(folder / "a.db", folder / "b.db");
  Store linked(folder / "b.db", Store::Mode::write);
  CHECK_THROWS_AS(linked.hold_run(1), UserError);
}

TEST_CASE("many processes that come and go take away no lock of another's") {
  const ScratchFolder folder;
  const RunLease mine(folder / "a.db", 7);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      int held = 0;
      for (int i = 0; i < 50; ++i) {
        const RunLease other(folder / "a.db", 8 + getpid());
        try {
          const RunLease taken(folder / "a.db", 7);
        } catch (const UserError&) {
          ++held;
        }
      }
      _exit(held == 50 ? 0 : 1);
    }
    if (round % 4 != 3) continue;
    for (int i = 0; i < 4; ++i) {
      int status = 0;
      wait(&status);
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 0);
    }
  }
}

TEST_CASE("a lock is made for ourselves alone: no link is followed, and no pipe waited for") {
  const ScratchFolder folder;
  const auto path = folder / "a.db", lock = folder / "a.db-runs";
  { Store store(path, Store::Mode::write); }
  write_file(folder / "victim", "precious");
  const auto refused = [&] {
    return message_of<UserError>([&] { Store(path, Store::Mode::write).begin_run(a_run()); });
  };
  std::filesystem::create_symlink(folder / "victim", lock);
  CHECK(has(refused(), "is a symbolic link"));
  CHECK(RunLease::holder_of(path, 1).empty());
  std::filesystem::remove(lock);
  std::filesystem::create_hard_link(folder / "victim", lock);
  CHECK(has(refused(), "is not a plain file"));
  std::filesystem::remove(lock);
  REQUIRE(mkfifo(lock.c_str(), 0600) == 0);
  CHECK(has(refused(), "is not a plain file"));
  CHECK(read_file(folder / "victim") == "precious");
}

}  // namespace fa_tune::test
