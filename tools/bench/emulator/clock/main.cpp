// How well does the emulator's clock rank variants, beside a GPU's?
//
//   bench_clock measure l4.yaml cuda:0 260 101 1,8,512,64 measured.json --threads 16
//   bench_clock predict measured.json emulator:h100 predicted.json
//   bench_clock score predicted.json
//   bench_clock interval --table recorded_errors.inc --data interval.json predicted.json ...
//   ncu ... bench_clock launch measured.json cuda:0 --every 10
//   bench_clock ctas measured.json cuda:0 ctas.json --every 10
//   bench_clock recorded tools/bench/results/attention_grid recorded.json --per-cell 3
//
// `measure` draws random valid variants of a space and times each on the GPU as a screening does
// (no gate: wrong answers take as long). `recorded` takes the screened times of attention/grid.py
// in its place. `predict` runs the same list on an emulator; it needs no GPU. `score` holds the two
// against each other. `interval` makes of their errors what predictions are shown with;
// tools/bench/emulator/clock/interval does that from beginning to end, `fresh` beside it measures.
// `launch` is for a profiler to look at. `ctas` says when, and on which SM, each CTA of a kernel
// began and ended, by which the model of times lets them take turns.

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

using namespace fa_tune;
using namespace fa_tune::bench;

int main(int argc, char** argv) {
  CLI::App app("Predicted against measured times of random variants.", "bench_clock");
  app.require_subcommand(1);
  MeasureOptions measuring;
  PredictOptions predicting;
  RecordedOptions recording;
  LaunchOptions launching;
  std::string in;
  std::string out;

  CLI::App* measure = app.add_subcommand("measure", "time random variants on a GPU");
  measure->add_option("space", measuring.space)->required();
  measure->add_option("device", measuring.device)->required();
  measure->add_option("count", measuring.count)->required();
  measure->add_option("seed", measuring.seed)->required();
  measure->add_option("shape", measuring.shape.text, "B,H,L,D")->required();
  measure->add_option("out", out)->required();
  measure->add_option("--template", measuring.template_name, "only variants of this template");
  measure->add_option("--gene", measuring.genes, "only variants with it: NAME=VALUE");
  measure->add_option("--sms", measuring.sms, "run on so many of the GPU's SMs");
  measure->add_option("--threads", measuring.threads, "that compile");
  measure->add_option("--cache", measuring.cache, "folder to keep compiled variants in");
  measure->add_option("--limit-ms", measuring.limit_ms, "skip variants that take longer");

  CLI::App* recorded =
      app.add_subcommand("recorded", "take the screened times of attention/grid.py");
  recorded->add_option("folder", recording.folder)->required();
  recorded->add_option("out", out)->required();
  recorded->add_option("--space", recording.space);
  recorded->add_option("--template", recording.template_name, "only variants of this template");
  recorded->add_option("--per-cell", recording.per_cell,
                       "how many variants of each cell (shape and mask); default: all");

  CLI::App* launch = app.add_subcommand("launch", "launch variants of a measured file once each");
  launch->add_option("in", in)->required();
  launch->add_option("device", launching.device)->required();
  launch->add_option("--every", launching.every, "each such one, from the fastest on");
  launch->add_option("--threads", launching.threads, "that compile");

  CLI::App* ctas =
      app.add_subcommand("ctas", "when each CTA of a measured file's variants ran, on which SM");
  ctas->add_option("in", in)->required();
  ctas->add_option("device", launching.device)->required();
  ctas->add_option("out", out)->required();
  ctas->add_option("--every", launching.every, "each such one, from the fastest on");
  ctas->add_option("--threads", launching.threads, "that compile");

  CLI::App* predict = app.add_subcommand("predict", "predict the variants of a measured file");
  predict->add_option("in", in)->required();
  predict->add_option("device", predicting.device)->required();
  predict->add_option("out", out)->required();
  predict->add_option("--threads", predicting.threads, "that compile");
  predict->add_option("--cache", predicting.cache, "folder to keep compiled variants in");

  CLI::App* score = app.add_subcommand("score", "how well predicted times rank measured ones");
  score->add_option("in", in)->required();

  std::vector<std::string> predicted;
  std::vector<std::string> held_out;
  std::string table;
  CLI::App* interval = app.add_subcommand("interval", "the errors that predictions are shown with");
  interval->add_option("predicted", predicted, "files of `predict`")->required();
  interval->add_option("--held-out", held_out, "files to try it on, and to compute it without");
  interval->add_option("--table", table, "recorded_errors.inc, to be written")->required();
  interval->add_option("--data", out, "the table and how well it holds, as JSON")->required();

  CLI11_PARSE(app, argc, argv);
  try {
    if (measure->parsed()) {
      const Json result = measure_variants(measuring);
      write_file(out, result.dump() + "\n");
      fmt::print("{} of {} variants timed on {}; skipped: {}\n", result["rows"].size(),
                 result["drawn"].get<int>(), result["device"].get<std::string>(),
                 result["skipped"].dump());
    } else if (recorded->parsed()) {
      const Json result = recorded_variants(recording);
      write_file(out, result.dump() + "\n");
      fmt::print("{} screened times of {}\n", result["rows"].size(), recording.template_name);
    } else if (launch->parsed()) {
      launch_variants(Json::parse(read_file(in)), launching);
    } else if (ctas->parsed()) {
      const Json result = ctas_of_variants(Json::parse(read_file(in)), launching);
      write_file(out, result.dump() + "\n");
    } else if (predict->parsed()) {
      const Json result = predict_variants(Json::parse(read_file(in)), predicting);
      write_file(out, result.dump() + "\n");
      fmt::print("{} variants, {:.0f} ms each; left out: {}\n", result["rows"].size(),
                 result["ms_per_prediction"].get<double>(), result["left_out"].get<int>());
    } else if (interval->parsed()) {
      const Json result = interval_table(predicted, held_out);
      write_file(table, interval_code(result));
      write_file(out, result.dump(1) + "\n");
      fmt::print("{}", describe_interval(result));
    } else {
      fmt::print("{}", describe_score(score_variants(Json::parse(read_file(in)))));
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_clock: {}\n", error.what());
    return 3;
  }
}
