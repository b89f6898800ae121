#include "tools/commands/export_package.hpp"

#include <charconv>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/rows.hpp"
#include "engine/tuner/task/packaging.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/log.hpp"
#include "tools/commands/options.hpp"

namespace fa_tune {
namespace {

// A file's name as one of a namespace.
std::string identifier(const std::string& name) {
  std::string made;
  for (const char c : name)
    made += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return made.empty() || (made[0] >= '0' && made[0] <= '9') ? "kernels_" + made : made;
}

void take_best(const Filters& filters, bool one, Packager& packager) {
  const Store store(filters.db, Store::Mode::read);
  if (one) {
    packager.add_trial(store, only_best(store, filters).id);
    return;
  }
  for (const TrialRow& trial : best_of_each(store, filters)) packager.add_trial(store, trial.id);
}

void take_named(const std::vector<std::string>& kernels, const std::string& db,
                Packager& packager) {
  std::optional<Store> store;
  for (const std::string& kernel : kernels) {
    if (kernel.ends_with(".cu")) {
      packager.add_file(kernel);
      continue;
    }
    const std::int64_t trial = trial_number(kernel);
    if (!store) store.emplace(db, Store::Mode::read);
    packager.add_trial(*store, trial);
  }
}

// Trials at the shapes that they were chosen for.
void take_portfolio(const std::string& file, const std::string& db, Packager& packager) {
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  const auto wrong = [&] {
    return UserError(file +
                     ": expected what 'fa-tune portfolio --out' writes: an object with "
                     "\"shapes\", each with \"shape\" and \"trial\"");
  };
  if (!json.is_object() || !json.contains("shapes") || !json["shapes"].is_array()) throw wrong();
  const Store store(db, Store::Mode::read);
  for (const auto& each : json["shapes"]) {
    if (!each.is_object() || !each.contains("shape") || !each.contains("trial") ||
        !each["trial"].is_number_integer())
      throw wrong();
    packager.add_trial(store, each["trial"].get<std::int64_t>(), shape_of(each["shape"].dump()));
  }
}

std::string text_of(const Package& package, const std::string& form) {
  if (form == "ptx") return ptx_text(package);
  return form == "header" ? cxx_header(package) : torch_module(package);
}

}  // namespace

std::int64_t trial_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size() || number < 1)
    throw UserError("'" + text + "' names no kernel: write a trial's ID or an exported .cu file");
  return number;
}

int export_package(const Filters& filters, const PackageWishes& wishes) {
  const bool one = wishes.form == "ptx";
  if (one && (wishes.kernels.size() > 1 || !wishes.portfolio.empty()))
    throw UserError("--as ptx writes one kernel: name one");
  const auto compiler = open_compiler();
  Packager packager(*compiler, one ? BinaryKind::ptx : BinaryKind::cubin, require_root(),
                    FA_TUNE_VERSION);
  if (!wishes.portfolio.empty())
    take_portfolio(wishes.portfolio, filters.db, packager);
  else if (wishes.kernels.empty())
    take_best(filters, one, packager);
  else
    take_named(wishes.kernels, filters.db, packager);
  Package package = packager.package();
  package.name = identifier(std::filesystem::path(wishes.out).stem().string());
  write_file(wishes.out, text_of(package, wishes.form));
  log_info("{} {}, for {} {}, in {}:", package.kernels.size(),
           package.kernels.size() == 1 ? "kernel" : "kernels", package.calls.size(),
           package.calls.size() == 1 ? "shape" : "shapes", wishes.out);
  for (const PackagedCall& call : package.calls)
    log_info("  {} on {}: {}", call.described, call.device.empty() ? "any" : call.device,
             call.origin);
  return 0;
}

}  // namespace fa_tune
