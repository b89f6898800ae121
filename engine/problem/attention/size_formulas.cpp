#include <fmt/format.h>

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/attention/shape.hpp"

namespace fa_tune::problem {

using expression::Residue;
SizeFormulas AttentionProblem::size_formulas() const {
  const AttentionShape& s = timed_;
  // How many heads share one of K and V is compiled in.
  const bool grouped = s.group() > 1;
  const std::string key_heads = grouped ? "Hkv" : "H";
  const std::string heads = grouped ? fmt::format("Hkv * {}", s.group()) : "H";
  const auto dims = [](const std::vector<std::string>& texts) {
    std::vector<Residue> all;
    for (const std::string& text : texts) all.push_back(Residue::of_text(text));
    return all;
  };
  const auto rows = [&](const std::string& of_heads, const std::string& length) {
    const std::string depth = std::to_string(s.D);
    return s.layout == Layout::BHSD ? dims({"B", of_heads, length, depth})
                                    : dims({"B", length, of_heads, depth});
  };
  SizeFormulas made;
  made.sizes = {"B", key_heads, "Lq", "Lk"};
  made.dims = {{"Q", rows(heads, "Lq")},          {"K", rows(key_heads, "Lk")},
               {"V", rows(key_heads, "Lk")},      {"O", rows(heads, "Lq")},
               {"LSE", dims({"B", heads, "Lq"})}, {"alibi_slopes", dims({heads})}};
  const auto scales = [&](const std::string& of_heads, const std::string& length) {
    return dims({"B", of_heads, fmt::format("ceil_div({}, {})", length, s.scale_rows)});
  };
  if (s.scale_rows > 0) {
    made.dims.emplace("Q_scale", scales(heads, "Lq"));
    made.dims.emplace("K_scale", scales(key_heads, "Lk"));
    made.dims.emplace("V_scale", scales(key_heads, "Lk"));
  }
  made.scalars = {{"B", Residue::of_text("B")},
                  {"H", Residue::of_text(heads)},
                  {"Hkv", Residue::of_text(key_heads)},
                  {"Lq", Residue::of_text("Lq")},
                  {"Lk", Residue::of_text("Lk")}};
  made.follows.emplace(grouped ? "H" : "Hkv", Residue::of_text(grouped ? heads : key_heads));
  made.setting = "shape.";
  return made;
}

}  // namespace fa_tune::problem
