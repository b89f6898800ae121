#pragma once

#include "engine/yaml/form.hpp"

// The keys of a space's file. What stands under `problem` and in a manifest others know.
namespace fa_tune::space::form {

using Kind = YamlForm::Kind;
using namespace fa_tune::forms;  // NOLINT: the words that all forms are made of

inline constexpr YamlForm kValues{.kind = Kind::list, .item = &kValue, .least = 1};
inline constexpr std::array kParameterKeys = {
    YamlKey{"values", &kValues, true, "what it may be"},
    YamlKey{"when", &kText, false, "the condition under which it is there"}};
inline constexpr YamlForm kParameterMap{.kind = Kind::map, .keys = kParameterKeys};
inline constexpr std::array kParameterForms = {&kValues, &kParameterMap};
inline constexpr YamlForm kParameter{.kind = Kind::either, .forms = kParameterForms};
inline constexpr YamlForm kParameters{
    .kind = Kind::map, .item = &kParameter, .identifiers = true, .may_be_empty = true};

inline constexpr YamlForm kDerived{
    .kind = Kind::map, .item = &kText, .identifiers = true, .may_be_empty = true};

inline constexpr std::array kConstraintKeys = {
    YamlKey{"expr", &kText, false, "must be true"},
    YamlKey{"python", &kText, false, "the same in Python, as T1 files have it"},
    YamlKey{"because", &kText, false, "why"}};
inline constexpr std::array<std::string_view, 2> kConditions = {"expr", "python"};
inline constexpr YamlForm kConstraintMap{
    .kind = Kind::map, .keys = kConstraintKeys, .one_of = kConditions};
inline constexpr std::array kConstraintForms = {&kText, &kConstraintMap};
inline constexpr YamlForm kConstraint{.kind = Kind::either, .forms = kConstraintForms};
inline constexpr YamlForm kConstraints{
    .kind = Kind::list, .item = &kConstraint, .may_be_empty = true};

inline constexpr std::array kPresetKeys = {
    YamlKey{"when", &kText, false, "for which problems it is"}};
inline constexpr YamlForm kPreset{
    .kind = Kind::map, .keys = kPresetKeys, .item = &kValue, .identifiers = true};
inline constexpr YamlForm kPresets{
    .kind = Kind::map, .item = &kPreset, .identifiers = true, .may_be_empty = true};

inline constexpr YamlForm kTrials{.kind = Kind::integer, .least = 1, .most = 1'000'000'000};
inline constexpr YamlForm kTime{.kind = Kind::number, .least = 0, .most = 1'000'000'000};
inline constexpr std::array kBudgetKeys = {YamlKey{"trials", &kTrials}, YamlKey{"minutes", &kTime},
                                           YamlKey{"seconds", &kTime}};
inline constexpr YamlForm kBudget{.kind = Kind::map, .keys = kBudgetKeys, .may_be_empty = true};

inline constexpr YamlForm kFiles{.kind = Kind::map, .item = &kText};
inline constexpr std::array kArrayKeys = {YamlKey{"at", &kText, true, {}},
                                          YamlKey{"sha256", &kText, true, {}}};
inline constexpr YamlForm kArray{.kind = Kind::map, .keys = kArrayKeys};
inline constexpr YamlForm kArrays{.kind = Kind::map, .item = &kArray};
inline constexpr YamlForm kMap{.kind = Kind::map, .item = &kAny};

inline constexpr std::array kFileKeys = {
    YamlKey{"space", &kText, true, "its name"},
    YamlKey{"target", &kText, true,
            "the GPU: a profile of search_spaces/devices, whose limits hold"},
    YamlKey{"problem", &kMap, true, "what is computed"},
    YamlKey{"templates", &kMap, true, "name: manifest, or the manifest itself"},
    YamlKey{"parameters", &kParameters, false, "name: values, or {values: [...], when: condition}"},
    YamlKey{"derived", &kDerived, false, "values of expressions"},
    YamlKey{"constraints", &kConstraints, false, "expressions that every config keeps"},
    YamlKey{"presets", &kPresets, false, "complete configs; the first is the baseline"},
    YamlKey{"known_best", &kPresets, false,
            "configs that earlier searches found; timed beside a run's best, no start of a search"},
    YamlKey{"budget", &kBudget, false, "what a search takes when not told otherwise"},
    YamlKey{"files", &kFiles, false, "texts of sources that it carries; made by fa-tune"},
    YamlKey{"arrays", &kArrays, false, "where .npy files lie; made by fa-tune"}};
inline constexpr YamlForm kFile{.kind = Kind::map, .keys = kFileKeys};

}  // namespace fa_tune::space::form
