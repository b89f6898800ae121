#include "engine/device/residual_file.hpp"

#include <cmath>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/kernel_features.hpp"
#include "engine/device/profile.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using Json = nlohmann::ordered_json;

namespace {

std::string refusal(const std::string& text) {
  const ScratchFolder folder;
  write_file(folder / "residuals.json", text);
  try {
    load_residuals(folder / "residuals.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// One kernel, off by 0.2.
Json small_file() {
  Json file = {
      {"gpu", "NVIDIA Test"},
      {"kinds",
       {{"wgmma", {{"kernels", 1}, {"shapes", 1}, {"low", -0.1}, {"high", 0.1}, {"apart", 0.1}}}}},
      {"features", Json::array()},
      {"width", 4},
      {"limit", 3},
      {"least likeness", 0.5},
      {"step", 0.025}};
  Json row = {12'000, 20'000, 20'000};
  for (const std::string_view name : emulator::kernel_feature_names()) {
    file["features"].push_back({name, 1.0, 2.0});
    row.push_back(40);
  }
  file["sets"]["20261128 wgmma_512"] = Json::array({row});
  return file;
}

}  // namespace

TEST_CASE("kernels that a GPU has timed are read with what they were off by") {
  const ScratchFolder folder;
  write_file(folder / "residuals.json", small_file().dump());
  const auto model = load_residuals(folder / "residuals.json");
  REQUIRE(model->weights.size() == 1);
  CHECK(model->gpu == "NVIDIA Test");
  REQUIRE(model->kind("wgmma") != nullptr);
  CHECK(model->kind("wgmma")->high == 0.1);
  CHECK(model->kind("mma.sync") == nullptr);
  // 40 steps of a 40th deviation of 2 above the mean of 1.
  const std::vector<double> there(emulator::kernel_feature_names().size(), 3.0);
  CHECK(model->at(there).error == doctest::Approx(0.2));
  CHECK(model->at(there).likeness == doctest::Approx(1));
  CHECK(model->least_likeness == 0.5);
}

TEST_CASE("the H200's profile has a model that tells what its kernels are off by") {
  const device::DeviceProfile h200 = load_profile("h200", FA_TUNE_ROOT);
  REQUIRE(h200.residuals_file.filename() == "h200_residuals.json");
  const auto model = load_residuals(h200.residuals_file);
  CHECK(model->gpu == "NVIDIA H200");
  CHECK(model->weights.size() > 5000);
  for (const auto& kind : model->kinds) CHECK(kind.low < kind.high);
  // Of every 50th kernel: what the model says there, in place of 0, leaves a third of the squares.
  const Json file = Json::parse(read_file(h200.residuals_file));
  const auto step = file.at("step").get<double>();
  double without = 0, with = 0;
  std::size_t count = 0;
  for (const auto& [set, rows] : file.at("sets").items()) {
    for (const Json& row : rows) {
      if (count++ % 50 != 0) continue;
      std::vector<double> features;
      for (std::size_t i = 0; i < model->scales.size(); ++i)
        features.push_back(model->scales[i].mean +
                           model->scales[i].deviation * step * row[3 + i].get<double>());
      const double error = row[1].get<double>() * 1e-5;
      without += error * error;
      with += std::pow(error - model->at(features).error, 2);
    }
  }
  CHECK(with < without / 3);
}

TEST_CASE("a file that holds no such model is answered with what is wrong") {
  CHECK(has(refusal("{"), "residuals.json: not what `residuals` writes: "));
  CHECK(has(refusal("[]"), "not what `residuals` writes: "));
  const auto with = [](const char* key, const Json& value) {
    Json file = small_file();
    file[key] = value;
    return refusal(file.dump());
  };
  CHECK(refusal(small_file().dump()) == "no error");
  CHECK(has(with("width", 0), "'width' is no number above zero"));
  CHECK(has(with("step", "much"), "not what `residuals` writes: "));
  CHECK(has(with("sets", {{"a", Json::array({Json::array({1, 2, 3})})}}),
            fmt::format("a kernel of 'a' has 3 numbers, not {}",
                        3 + emulator::kernel_feature_names().size())));
  Json features = small_file().at("features");
  features[3][2] = 0;
  CHECK(has(with("features", features), "no deviation above zero"));
  features[3][0] = "another";
  CHECK(has(with("features", features), "fitted to other features than this program has"));
  Json kinds = small_file().at("kinds");
  kinds["wgmma"]["low"] = 0.2;
  CHECK(has(with("kinds", kinds), "the errors of 'wgmma' have no middle"));
}

TEST_CASE("whatever a residual file holds, it is read or answered") {
  const std::string whole = small_file().dump();
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
  const auto below = [&](std::size_t end) { return random() % end; };
  int read = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = whole;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text.size());
      if (below(2) == 0)
        text[at] = "0123456789[]{},\"-e:"[below(19)];
      else
        text.erase(at, 1 + below(20));
    }
    (refusal(text) == "no error" ? read : refused) += 1;
  }
  CHECK(read > 0);
  CHECK(refused > 100);
}

}  // namespace fa_tune::test
