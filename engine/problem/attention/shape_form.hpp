#pragma once

#include "engine/yaml/form.hpp"

// The settings of attention (shape.cpp reads them by their paths).
namespace fa_tune::problem::attention_form {

using Kind = YamlForm::Kind;
using namespace fa_tune::forms;  // NOLINT: the words that all forms are made of

inline constexpr std::array kShapeKeys = {YamlKey{"B", &kPositive, true, "batches"},
                                          YamlKey{"H", &kPositive, true, "heads"},
                                          YamlKey{"Hkv", &kPositive, false, "heads of K and V"},
                                          YamlKey{"L", &kPositive, false, "both lengths"},
                                          YamlKey{"Lq", &kPositive, false, "queries"},
                                          YamlKey{"Lk", &kPositive, false, "keys"},
                                          YamlKey{"D", &kPositive, true, "elements of a head"}};
inline constexpr YamlForm kShape{.kind = Kind::map, .keys = kShapeKeys};
inline constexpr std::array<std::string_view, 3> kDtypes = {"fp16", "bf16", "e4m3"};
inline constexpr YamlForm kDtype{.kind = Kind::choice, .words = kDtypes};
inline constexpr std::array<std::string_view, 2> kLayouts = {"BHSD", "BSHD"};
inline constexpr YamlForm kLayout{.kind = Kind::choice, .words = kLayouts};
inline constexpr std::array<std::string_view, 2> kAlignments = {"top_left", "bottom_right"};
inline constexpr YamlForm kAlignment{.kind = Kind::choice, .words = kAlignments};
inline constexpr std::array<std::string_view, 1> kScales = {"default"};
inline constexpr YamlForm kScale{.kind = Kind::choice, .words = kScales};
inline constexpr std::array<std::string_view, 2> kVScales = {"any", "powers_of_two"};
inline constexpr YamlForm kVScale{.kind = Kind::choice, .words = kVScales};
inline constexpr YamlForm kSide{.kind = Kind::integer, .least = -1};
inline constexpr YamlForm kWindow{.kind = Kind::list, .item = &kSide, .least = 2, .most = 2};
inline constexpr std::array kProblemKeys = {
    YamlKey{"kind", &kName, true, "attention"},
    YamlKey{"shape", &kShape, true, {}},
    YamlKey{"causal", &kBoolean, false, {}},
    YamlKey{"causal_alignment", &kAlignment, false, {}},
    YamlKey{"dtype", &kDtype, false, "of Q, K and V"},
    YamlKey{"scale", &kScale, false, {}},
    YamlKey{"layout", &kLayout, false, "of Q, K, V and O"},
    YamlKey{"lse", &kBoolean, false, "a second output, float32 [B, H, Lq]"},
    YamlKey{"window", &kWindow, false, "keys before and after a query's own; -1: no limit"},
    YamlKey{"softcap", &kFromZero, false, {}},
    YamlKey{"alibi", &kBoolean, false, {}},
    YamlKey{"scale_rows", &kPositive, false, "rows of a head that share a scale (e4m3)"},
    YamlKey{"v_scales", &kVScale, false, "how V's scales of one head differ (e4m3)"}};
inline constexpr YamlForm kProblem{.kind = Kind::map, .keys = kProblemKeys};

}  // namespace fa_tune::problem::attention_form
