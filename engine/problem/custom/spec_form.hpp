#pragma once

#include "engine/yaml/form.hpp"

// The keys of a custom problem (spec.hpp says what they mean).
namespace fa_tune::problem::form {

using Kind = YamlForm::Kind;
using namespace fa_tune::forms;  // NOLINT: the words that all forms are made of

inline constexpr YamlForm kOneSizes{
    .kind = Kind::map, .item = &kPositive, .identifiers = true, .least = 1};
inline constexpr YamlForm kSeveralSizes{
    .kind = Kind::list, .item = &kOneSizes, .least = 1, .most = 64};
inline constexpr std::array kSizesForms = {&kOneSizes, &kSeveralSizes};
inline constexpr YamlForm kSizes{.kind = Kind::either, .forms = kSizesForms};
inline constexpr YamlForm kBounds{.kind = Kind::list, .item = &kPositive, .least = 2, .most = 2};
inline constexpr YamlForm kHidden{.kind = Kind::map, .item = &kBounds};

inline constexpr YamlForm kField{
    .kind = Kind::map, .item = &kText, .identifiers = true, .least = 1, .most = 1};
inline constexpr YamlForm kFields{.kind = Kind::list, .item = &kField, .least = 1, .most = 64};
inline constexpr std::array kStructKeys = {YamlKey{"struct", &kFields, true, {}}};
inline constexpr YamlForm kStruct{.kind = Kind::map, .keys = kStructKeys};
inline constexpr YamlForm kTypeName{.kind = Kind::text};
inline constexpr std::array kTypeForms = {&kTypeName, &kStruct};
inline constexpr YamlForm kType{.kind = Kind::either, .forms = kTypeForms};

inline constexpr YamlForm kShape{.kind = Kind::list, .item = &kText, .least = 1, .most = 6};
inline constexpr std::array<std::string_view, 5> kRoleWords = {"input", "output", "inout",
                                                               "workspace", "unchecked"};
inline constexpr YamlForm kRole{.kind = Kind::choice, .words = kRoleWords};

inline constexpr YamlForm kTwoNumbers{.kind = Kind::list, .item = &kNumber, .least = 2, .most = 2};
inline constexpr YamlForm kTwoWhole{.kind = Kind::list, .item = &kWhole, .least = 2, .most = 2};
inline constexpr std::array kFillKeys = {
    YamlKey{"normal", &kTwoNumbers, false, "mean and deviation"},
    YamlKey{"uniform", &kTwoNumbers, false, "low and high"},
    YamlKey{"integers", &kTwoWhole, false, "least and most"},
    YamlKey{"value", &kText, false, "of every element"},
    YamlKey{"permutation", &kText, false, "0 to n - 1, each once"},
    YamlKey{"offsets", &kText, false, "ascending from 0 to n"},
    YamlKey{"file", &kText, false, "a .npy file"},
    YamlKey{"sorted", &kBoolean, false, "rows ascend"}};
inline constexpr std::array<std::string_view, 7> kFillKinds = {
    "normal", "uniform", "integers", "value", "permutation", "offsets", "file"};
inline constexpr YamlForm kFillMap{.kind = Kind::map, .keys = kFillKeys, .one_of = kFillKinds};
inline constexpr std::array<std::string_view, 1> kNormal = {"normal"};
inline constexpr YamlForm kFillWord{.kind = Kind::choice, .words = kNormal};
inline constexpr std::array kFillForms = {&kFillWord, &kFillMap};
inline constexpr YamlForm kFill{.kind = Kind::either, .forms = kFillForms};

inline constexpr std::array kVaryForms = {&kBoolean, &kTwoNumbers};
inline constexpr YamlForm kVary{.kind = Kind::either, .forms = kVaryForms};

inline constexpr std::array kArgumentKeys = {
    YamlKey{"name", &kName, true, {}},
    YamlKey{"type", &kType, true, "f32, i32, f32x4, ...; C's, CUDA's and NumPy's names do too"},
    YamlKey{"shape", &kShape, false, "of a buffer: expressions of the sizes"},
    YamlKey{"role", &kRole, false, "of a buffer; input if not given"},
    YamlKey{"fill", &kFill, false, "what a buffer holds that is given"},
    YamlKey{"value", &kAny, false, "of a scalar: an expression of the sizes, or a number"},
    YamlKey{"vary", &kVary, false, "between what other values are tried; false: none"},
    YamlKey{"constant", &kBoolean, false, "what the __constant__ variable of its name holds"}};
inline constexpr std::array<std::string_view, 2> kShapeOrValue = {"shape", "value"};
inline constexpr YamlForm kArgument{
    .kind = Kind::map, .keys = kArgumentKeys, .one_of = kShapeOrValue};
inline constexpr YamlForm kArguments{.kind = Kind::list, .item = &kArgument, .least = 1};

inline constexpr std::array kToleranceKeys = {YamlKey{"absolute", &kFromZero},
                                              YamlKey{"relative", &kFromZero}};
inline constexpr YamlForm kTolerance{.kind = Kind::map, .keys = kToleranceKeys};
inline constexpr std::array<std::string_view, 8> kInputWords = {
    "normal", "tripled", "small", "negated", "large_logits", "distinct_rows", "rare", "extreme"};
inline constexpr YamlForm kInput{.kind = Kind::choice, .words = kInputWords};
inline constexpr YamlForm kInputs{.kind = Kind::list, .item = &kInput, .least = 1};
inline constexpr YamlForm kExpected{.kind = Kind::map, .item = &kText};
// A manifest (engine/kernel/template).
inline constexpr YamlForm kManifest{.kind = Kind::map, .item = &kAny};

inline constexpr std::array kProblemKeys = {
    YamlKey{"kind", &kName, true, "custom"},
    YamlKey{"sizes", &kSizes, true, "the first is timed, all are gated"},
    YamlKey{"hidden", &kHidden, false, "sizes that each run draws for itself: {n: [1, 3000]}"},
    YamlKey{"arguments", &kArguments, true, "of the kernel, in its order"},
    YamlKey{"defines", &kExpressions, false, "#define lines for the kernels"},
    YamlKey{"inputs", &kInputs, false, "the kinds of input that the gate uses"},
    YamlKey{"reference", &kManifest, false, "a plain kernel that computes the same"},
    YamlKey{"expected", &kExpected, false, "or .npy files of what comes of one set of data"},
    YamlKey{"tolerance", &kTolerance, false, "what an element may be off by"},
    YamlKey{"flop", &kText, false, "the least that a kernel must compute"},
    YamlKey{"bytes", &kText, false, "the least that it must move"}};
inline constexpr std::array<std::string_view, 2> kTruths = {"reference", "expected"};
inline constexpr YamlForm kProblem{.kind = Kind::map, .keys = kProblemKeys, .one_of = kTruths};

}  // namespace fa_tune::problem::form
