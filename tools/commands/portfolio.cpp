#include "engine/tuner/portfolio/portfolio.hpp"

#include <algorithm>
#include <random>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/report/json.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/filters.hpp"
#include "tools/commands/portfolio_dispatch.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

struct PortfolioArguments {
  Filters filters;
  std::string within = "2%";
  std::size_t candidates = tuner::PortfolioField::kCandidates;
  std::vector<std::string> shapes;
  bool anew = false;
  bool no_race = false;
  std::string time_on;
  std::string times_of;
  bool dispatch = false;
  std::optional<std::size_t> draw;
  std::vector<std::string> choose_at;
  std::string form = "json";
  std::string gate_on = "auto";
  std::string format = "text";
  std::string out;
  std::optional<std::uint64_t> seed;
};

// "2%" or "0.02".
double share(const std::string& text) {
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(std::min(end, text.size()));
  if (unit == "%") value /= 100;
  if (end == 0 || (!unit.empty() && unit != "%") || !(value >= 0 && value <= 10))
    throw UserError("--within '" + text + "': expected a share such as 2% or 0.02");
  return value;
}

// Of each kernel that was looked at, at each shape in the order of "shapes", then of "drawn"; null
// where it failed.
Json times_json(const tuner::PortfolioField& field) {
  Json all = Json::array();
  for (std::size_t kernel = 0; kernel < field.kernels().size(); ++kernel) {
    Json us = Json::array();
    for (std::size_t shape = 0; shape < field.shapes().size(); ++shape) {
      const auto time = field.time(kernel, shape).us();
      us.push_back(time ? Json(*time) : Json());
    }
    all.push_back({{"trial", field.kernels()[kernel].trial},
                   {"config", field.kernels()[kernel].config},
                   {"time_us", us}});
  }
  return all;
}

Json as_json(const tuner::PortfolioField& field, const tuner::SetCover& cover, double within,
             std::size_t timed) {
  Json json{{"problem", field.run().problem},
            {"device", field.run().device_name},
            {"kind", field.run().time_kind},
            {"within", within},
            {"candidates", field.kernels().size()},
            {"timed_now", timed},
            {"fewest", cover.fewest()},
            {"at_least", cover.at_least},
            {"kernels", Json::array()},
            {"shapes", Json::array()}};
  for (const std::size_t kernel : cover.kernels)
    json["kernels"].push_back({{"trial", field.kernels()[kernel].trial},
                               {"config", field.kernels()[kernel].config},
                               {"shapes", std::ranges::count(cover.serving, kernel)}});
  for (std::size_t shape = 0; shape < cover.serving.size(); ++shape) {
    const std::size_t kernel = cover.serving[shape];
    const tuner::PortfolioTime& time = field.time(kernel, shape);
    json["shapes"].push_back(
        {{"shape", field.shapes()[shape].task.problem->shape()},
         {"trial", field.kernels()[kernel].trial},
         {"time_us", time.time->us.value},
         {"time_low_us", time.time->us.low},
         {"time_high_us", time.time->us.high},
         {"best_us", *field.best_us(shape)},
         {"over_best", time.ratio},
         {"timed", time.from == tuner::PortfolioTime::From::now ? "now" : "recorded"}});
  }
  for (const tuner::PortfolioShape& shape : field.shapes())
    if (shape.drawn) json["drawn"].push_back(shape.task.problem->shape());
  json["times"] = times_json(field);
  return json;
}

// What times_json wrote.
void take_known_times(const std::string& file, tuner::PortfolioField& field) {
  const auto json = parse_json<Json>(read_file(file, kJsonFile));
  try {
    if (const auto device = json.at("device").get<std::string>(); device != field.run().device_name)
      throw UserError(fmt::format("{}: its times are of {}, and the trials of {}", file, device,
                                  field.run().device_name));
    std::vector<Constants> shapes;
    for (const Json& each : json.at("shapes"))
      shapes.push_back(report::shape_of(each.at("shape").dump()));
    if (const auto drawn = json.find("drawn"); drawn != json.end())
      for (const Json& each : *drawn) shapes.push_back(report::shape_of(each.dump()));
    for (const Json& kernel : json.at("times")) {
      const auto config = kernel.at("config").get<Config>();
      for (std::size_t i = 0; i < shapes.size(); ++i)
        field.take_known(config, shapes[i],
                         kernel.at("time_us").at(i).get<std::optional<double>>());
    }
  } catch (const Json::exception&) {
    throw UserError(file +
                    ": expected what 'fa-tune portfolio --out' writes: an object with \"device\", "
                    "\"shapes\" and \"times\"");
  }
}

// "+1.2%" for 1.012.
std::string percent_text(double ratio) { return fmt::format("{:+.1f}%", (ratio - 1) * 100); }

std::string as_table(const tuner::PortfolioField& field, const tuner::SetCover& cover) {
  report::Table table({{"shape", report::Align::wrap},
                       {"trial", report::Align::right},
                       {field.run().time_kind + " us", report::Align::right},
                       {"best", report::Align::right},
                       {"over best", report::Align::right},
                       {"timed", report::Align::left}});
  for (std::size_t shape = 0; shape < cover.serving.size(); ++shape) {
    const std::size_t kernel = cover.serving[shape];
    const tuner::PortfolioTime& time = field.time(kernel, shape);
    const double over = *field.over_best(kernel, shape);
    table.add(
        {field.shapes()[shape].described, std::to_string(field.kernels()[kernel].trial),
         fmt::format("{} ({}..{})", report::time_text(time.time->us.value),
                     report::time_text(time.time->us.low), report::time_text(time.time->us.high)),
         report::time_text(field.best_us(shape)),
         time.ratio ? percent_text(over) + fmt::format(" ({}..{})", percent_text(time.ratio->low),
                                                       percent_text(time.ratio->high))
                    : percent_text(over),
         time.from == tuner::PortfolioTime::From::now ? "now" : "recorded"});
  }
  return table.text();
}

// Times what no run did and, where a clock runs, races what is near the best. Returns how many were
// timed.
std::size_t take_times(tuner::PortfolioField& field, const PortfolioArguments& arguments,
                       double within, std::uint64_t seed) {
  const bool races = field.run().time_kind == "measured" && !arguments.no_race;
  if (field.missing() == 0 && !races) return 0;
  const auto root = require_root();
  const device::DeviceProfile& target = field.shapes().front().task.target;
  Session session(Session::Devices::several,
                  arguments.time_on.empty() ? field.run().device : arguments.time_on, target, root);
  for (const device::Device* each : session.devices()) {
    const device::DeviceInfo& device = each->info();
    if (device.name == field.run().device_name) continue;
    throw UserError(fmt::format(
        "{} is here, not {}, on which {}: run this where the others were timed{}", device.name,
        field.run().device_name,
        races ? "the choice is to be raced"
              : fmt::format("{} pairs of kernel and shape are not timed", field.missing()),
        field.missing() == 0                        ? ", or choose by screens alone with --no-race"
        : arguments.dispatch && arguments.draw != 0 ? ", or learn from recorded times with --draw 0"
                                                    : ""));
  }
  for (const tuner::PortfolioShape& shape : field.shapes())
    session.give_reference(*shape.task.problem, target);
  const std::size_t shapes = field.shapes().size();
  std::vector<std::string> ids;
  for (const device::Device* each : session.devices()) ids.push_back(each->info().id);
  log_info("{} of {} pairs of kernel and shape are timed{} on {} ({}), seed {}", field.missing(),
           field.kernels().size() * shapes, races ? ", then those near the best raced" : "",
           fmt::join(ids, ", "), field.run().device_name, seed);
  const auto tuned = static_cast<std::size_t>(
      std::ranges::count(field.shapes(), false, &tuner::PortfolioShape::drawn));
  const std::size_t timed =
      field.measure(session.devices(), session.pool(), seed,
                    [&](std::size_t done) { log_info("timed at {} of {} shapes", done, shapes); });
  if (races)
    field.race(session.device(), session.pool(), within, seed,
               [&](std::size_t done) { log_info("raced at {} of {} shapes", done, tuned); });
  return timed;
}

// What the figures of the table are.
std::string origin_text(const tuner::PortfolioField& field, std::size_t tuned) {
  if (field.run().time_kind != "measured") return "";
  std::size_t raced = 0;
  for (std::size_t shape = 0; shape < tuned; ++shape) raced += field.raced(shape);
  const std::string races = fmt::format(
      "Kernels were raced at {} of {} shapes: times over the best are of that race, with "
      "95% intervals. ",
      raced, tuned);
  return (raced == 0 ? "" : races) +
         "Times are those of screens, at one clock, with their intervals; screens of different "
         "moments differ by a percent or two.";
}

// What is exported is gated at other sizes first; what fails there leaves its place to others.
void learn_dispatch(tuner::PortfolioField& field, const PortfolioArguments& arguments,
                    tuner::DispatchLearner& dispatch) {
  dispatch.learn();
  if (arguments.form == "json") return;
  const device::DeviceProfile& target = field.shapes().front().task.target;
  Session session(arguments.gate_on, target, require_root());
  for (const tuner::PortfolioShape& shape : field.shapes())
    session.give_reference(*shape.task.problem, target);
  while (!dispatch.gate(session.device(), session.pool())) dispatch.learn();
}

int portfolio(const PortfolioArguments& arguments) {
  if (arguments.form != "json" && (!arguments.dispatch || arguments.out.empty()))
    throw UserError("--as " + arguments.form +
                    " writes what --dispatch learns into the file that --out names: give both; "
                    "without them, export the choice with: fa-tune export --portfolio");
  if (!arguments.dispatch && (arguments.draw || !arguments.choose_at.empty()))
    throw UserError("--draw and --choose-at are for what --dispatch learns: give it too");
  const double within = share(arguments.within);
  const std::uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  const db::Store store(arguments.filters.db, db::Store::Mode::read);
  tuner::PortfolioField field(store,
                              {.filter = arguments.filters.resolved(),
                               .candidates = arguments.candidates,
                               .shapes = arguments.shapes,
                               .all_anew = arguments.anew,
                               .drawn = arguments.dispatch ? arguments.draw : 0,
                               .seed = seed},
                              require_root());
  if (!arguments.times_of.empty()) take_known_times(arguments.times_of, field);
  const std::size_t timed = take_times(field, arguments, within, seed);
  std::optional<tuner::DispatchLearner> dispatch;
  if (arguments.dispatch) {
    dispatch.emplace(field, seed);
    learn_dispatch(field, arguments, *dispatch);
  }
  const tuner::SetCover cover = tuner::fewest_cover(field.costs(within));
  Json answer = as_json(field, cover, within, timed);
  if (dispatch) answer["dispatch"] = dispatch_report_json(field, *dispatch, arguments.choose_at);
  const std::string json = answer.dump(2) + "\n";
  if (!arguments.out.empty() && arguments.form == "json") write_file(arguments.out, json);
  if (arguments.form != "json")
    export_dispatch(*dispatch, arguments.filters.db, arguments.form, arguments.out);
  if (arguments.format == "json") {
    fmt::print("{}", json);
    return 0;
  }
  fmt::print(
      "{}{} of {} kernels serve {} shapes within {:.3g}% of the best on {}{}; {} times are "
      "new. {}\n",
      as_table(field, cover), cover.kernels.size(), field.kernels().size(), cover.serving.size(),
      within * 100, field.run().device_name,
      cover.fewest() ? ", and no fewer do"
                     : fmt::format("; no fewer than {} could", cover.at_least),
      timed, origin_text(field, cover.serving.size()));
  if (dispatch) fmt::print("{}", dispatch_report_text(field, *dispatch, arguments.choose_at));
  return 0;
}

}  // namespace

void add_portfolio(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "portfolio", "the fewest kernels that are nearly the best at every shape of a database");
  auto arguments = std::make_shared<PortfolioArguments>();
  arguments->filters.add_to(*command);
  command->add_option("--within", arguments->within, "how much slower than the best of a shape")
      ->capture_default_str();
  command
      ->add_option("--candidates", arguments->candidates,
                   "how many of each shape: the fastest of each way to divide the work, blocks of "
                   "each number of threads in turns")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--also", arguments->shapes,
                      "one more shape, from the newest run's problem: shape.L=4096,causal=true");
  command->add_flag("--anew", arguments->anew, "time every pair now, also what is recorded");
  command
      ->add_option("--times-of", arguments->times_of,
                   "an earlier portfolio's file (--out): what it timed is not timed again, so that "
                   "another choice costs no GPU")
      ->type_name("FILE");
  command->add_flag("--no-race", arguments->no_race,
                    "choose by screens alone, without the GPU that they were taken on");
  command->add_option("--time-on", arguments->time_on,
                      "one device or several: cuda:0,cuda:1, cuda:all, emulator:l4*2; that of the "
                      "newest run if not given");
  command->add_flag("--dispatch", arguments->dispatch,
                    "also learn which kernels serve sizes that nobody tuned, from what each takes");
  command
      ->add_option(
          "--draw", arguments->draw,
          "with --dispatch: how many more shapes are drawn within the range of the others, "
          "to time all at and to learn from; if not given, 96 where times are measured")
      ->check(CLI::Range(0, 10000));
  command->add_option(
      "--choose-at", arguments->choose_at,
      "with --dispatch: say which kernel serves this shape: shape.L=700,causal=true");
  command
      ->add_option("--out", arguments->out,
                   "write the choice as JSON, for export --portfolio; or as --as says")
      ->type_name("FILE");
  command
      ->add_option("--as", arguments->form,
                   "what --out writes: json; with --dispatch also header or torch, the kernels for "
                   "any sizes with what chooses among them, gated at some before")
      ->check(CLI::IsMember({"json", "header", "torch"}))
      ->capture_default_str();
  command
      ->add_option("--gate-on", arguments->gate_on,
                   "with --as: the device, auto, cuda:N or emulator:PROFILE")
      ->capture_default_str();
  add_format_option(*command, arguments->format, {"text", "json"});
  add_seed(*command, arguments->seed, "of inputs and clocks; fresh if not given");
  act(*command, action, arguments, portfolio);
}

}  // namespace fa_tune::commands
