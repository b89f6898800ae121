#include "engine/report/best.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/db/fixture.hpp"

using namespace fa_tune;
using namespace fa_tune::test;

namespace {

void fill(Store& store) {
  const std::int64_t run = store.begin_run(a_run());
  store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  store.record_trial(a_trial(run, 2, 80.5), {}, {}, "kernel 2");
  RunRow other = a_run();
  other.space = "my \"own\", space";
  other.seed = 7;
  store.record_trial(a_trial(store.begin_run(other), 1, 90), {}, {}, "kernel 1");
}

}  // namespace

TEST_CASE("best as a table: one for each context, fastest first") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  CHECK(best_table(best_trials(store, {})) == "No right trial with a time matches.\n");
  fill(store);
  CHECK(
      best_table(best_trials(store, {})) ==
      R"(l4: attention B=1 D=64 H=8 Lq=512 causal=true on emulator of NVIDIA L4 (emulator:l4, sm_89),
predicted times
trial  run  predicted us         interval  stage   registers  spilled  config
    2    1         80.50   79.69 .. 81.31  screen         96        0  mma BLOCK_M=2
    1    1        100.00  99.00 .. 101.00  screen         96        0  mma BLOCK_M=1

my "own", space: attention B=1 D=64 H=8 Lq=512 causal=true on emulator of NVIDIA L4 (emulator:l4,
sm_89), predicted times
trial  run  predicted us        interval  stage   registers  spilled  config
    3    2         90.00  89.10 .. 90.90  screen         96        0  mma BLOCK_M=1
)");
}

TEST_CASE("best as JSON: exactly the documented keys, with their types") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  CHECK(best_json(best_trials(store, {})) == "[]\n");
  fill(store);
  TrialFilter filter;
  filter.limit = 1;
  const auto json = nlohmann::json::parse(best_json(best_trials(store, filter)));
  const auto expected = nlohmann::json::parse(R"([{"trial":2,"space":"l4","device":"emulator:l4",
    "arch":"sm_89","config":{"template":"mma","BLOCK_M":2},
    "time_us":{"median":80.5,"low":79.695,"high":81.305,"kind":"predicted"},
    "verdict":"right","source_hash":"source2","run":1,"seed":18446744073709551615}])");
  CHECK(json == expected);
}

TEST_CASE("best as CSV: quotes and commas survive") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  fill(store);
  CHECK(best_csv(best_trials(store, {})) ==
        "trial,space,device,arch,config,time_us_median,time_us_low,time_us_high,time_kind,verdict,"
        "source_hash,run,seed\n"
        "2,l4,emulator:l4,sm_89,\"{\"\"template\"\":\"\"mma\"\",\"\"BLOCK_M\"\":2}\",80.5,79.695,"
        "81.305,predicted,right,source2,1,18446744073709551615\n"
        "3,\"my \"\"own\"\", space\",emulator:l4,sm_89,\"{\"\"template\"\":\"\"mma\"\","
        "\"\"BLOCK_M\"\":1}\",90,89.1,90.9,predicted,right,source1,2,7\n"
        "1,l4,emulator:l4,sm_89,\"{\"\"template\"\":\"\"mma\"\",\"\"BLOCK_M\"\":1}\",100,99,101,"
        "predicted,right,source1,1,18446744073709551615\n");
}
