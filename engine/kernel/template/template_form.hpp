#pragma once

#include "engine/yaml/form.hpp"

// The keys of a template's manifest.
namespace fa_tune::kernel::form {

using Kind = YamlForm::Kind;
using namespace fa_tune::forms;  // NOLINT: the words that all forms are made of

inline constexpr YamlForm kSizes{.kind = Kind::list, .item = &kText, .least = 1, .most = 3};
inline constexpr std::array kTilesKeys = {
    YamlKey{"sets", &kText, true, "how many sets of tiles there are, all alike: heads of a batch"},
    YamlKey{"together", &kText, false, "sets that take turns, tile by tile; 1 if not given"},
    YamlKey{"of_a_set", &kText, true, "tiles of a set"},
    YamlKey{"steps", &kText, true,
            "how long a tile takes, in steps of the kernel's own: `tile` is its number in its set, "
            "in the order in which they are begun"}};
inline constexpr YamlForm kTiles{.kind = Kind::map, .keys = kTilesKeys};
inline constexpr std::array kLaunchKeys = {
    YamlKey{"grid", &kSizes, true, "blocks along x, y, z: expressions of sizes and parameters"},
    YamlKey{"block", &kSizes, true, "threads along x, y, z"},
    YamlKey{"cluster", &kSizes, false, "blocks of a cluster"},
    YamlKey{"shared", &kText, false, "bytes of dynamic shared memory"},
    YamlKey{"cooperative", &kText, false, "whether all blocks meet (grid sync)"},
    YamlKey{"programmatic", &kText, false,
            "whether it begins before the kernel in front of it has ended"},
    YamlKey{"tiles", &kTiles, false,
            "what the blocks share among them, for times at sizes that nobody tuned"}};
inline constexpr YamlForm kLaunch{.kind = Kind::map, .keys = kLaunchKeys};

inline constexpr std::array kConditionalKeys = {
    YamlKey{"name", &kName, true, {}}, YamlKey{"when", &kText, true, "for such configs alone"}};
inline constexpr YamlForm kConditional{.kind = Kind::map, .keys = kConditionalKeys};
inline constexpr std::array kArgumentForms = {&kName, &kConditional};
inline constexpr YamlForm kArgument{.kind = Kind::either, .forms = kArgumentForms};
inline constexpr YamlForm kArguments{.kind = Kind::list, .item = &kArgument};

inline constexpr std::array kMapKeys = {
    YamlKey{"tensor", &kName, true, "the argument that it is of"},
    YamlKey{"box", &kTexts, true, "sizes of what one copy moves"},
    YamlKey{"axes", &kTexts, false, "its axes, where they are others than the tensor's"},
    YamlKey{"swizzle", &kInteger, false, "0, 32, 64 or 128 bytes"}};
inline constexpr YamlForm kMap{.kind = Kind::map, .keys = kMapKeys};
inline constexpr YamlForm kMaps{.kind = Kind::map, .item = &kMap};

inline constexpr std::array kSetKeys = {YamlKey{"set", &kName, true, "a tensor"},
                                        YamlKey{"value", &kInteger, true, "of each byte"},
                                        YamlKey{"when", &kText}};
inline constexpr YamlForm kSet{.kind = Kind::map, .keys = kSetKeys};
inline constexpr std::array kCopyKeys = {YamlKey{"copy", &kName, true, "a tensor"},
                                         YamlKey{"to", &kName, true, "another"},
                                         YamlKey{"when", &kText}};
inline constexpr YamlForm kCopy{.kind = Kind::map, .keys = kCopyKeys};
inline constexpr std::array kRunKeys = {
    YamlKey{"kernel", &kText, true, "a function's name"}, YamlKey{"launch", &kLaunch, true, {}},
    YamlKey{"arguments", &kArguments, true, {}}, YamlKey{"maps", &kMaps}, YamlKey{"when", &kText}};
inline constexpr YamlForm kRun{.kind = Kind::map, .keys = kRunKeys};
inline constexpr std::array kStepForms = {&kRun, &kSet, &kCopy};
inline constexpr YamlForm kStep{.kind = Kind::either, .forms = kStepForms};
inline constexpr YamlForm kSteps{.kind = Kind::list, .item = &kStep, .least = 1};

inline constexpr YamlForm kShape{.kind = Kind::list, .item = &kText, .least = 1};
inline constexpr std::array kWorkspaceKeys = {YamlKey{"type", &kText, true, {}},
                                              YamlKey{"shape", &kShape, true, {}}};
inline constexpr YamlForm kWorkspace{.kind = Kind::map, .keys = kWorkspaceKeys};
inline constexpr YamlForm kWorkspaces{.kind = Kind::map, .item = &kWorkspace, .identifiers = true};
inline constexpr std::array kScalarKeys = {YamlKey{"type", &kText, true, {}},
                                           YamlKey{"value", &kText, true, {}}};
inline constexpr YamlForm kScalar{.kind = Kind::map, .keys = kScalarKeys};
inline constexpr YamlForm kScalars{.kind = Kind::map, .item = &kScalar, .identifiers = true};

inline constexpr std::array kRequirementKeys = {YamlKey{"expr", &kText, true, {}},
                                                YamlKey{"because", &kText}};
inline constexpr YamlForm kRequirementMap{.kind = Kind::map, .keys = kRequirementKeys};
inline constexpr std::array kRequirementForms = {&kText, &kRequirementMap};
inline constexpr YamlForm kRequirement{.kind = Kind::either, .forms = kRequirementForms};
inline constexpr YamlForm kRequires{.kind = Kind::list, .item = &kRequirement};
inline constexpr YamlForm kOptional{.kind = Kind::map, .item = &kValue};
inline constexpr YamlForm kMoves{.kind = Kind::map, .item = &kTexts};

inline constexpr std::array kManifestKeys = {
    YamlKey{"source", &kText, true, "the CUDA file"},
    YamlKey{"kernel", &kText, false,
            "the function, or an instance of a template: name<BLOCK, float>"},
    YamlKey{"problem", &kName, false, "the kind of problem"},
    YamlKey{"arch", &kText, false, "an architecture, as sm_90a"},
    YamlKey{"parameters", &kNames, false, "those that it takes; of the space all, if not given"},
    YamlKey{"optional", &kOptional, false,
            "parameters that a space may leave out, and their values then"},
    YamlKey{"defines", &kNames, false, "derived values that are #define lines"},
    YamlKey{"derived", &kExpressions, false, "values of expressions"},
    YamlKey{"requires", &kRequires, false, "constraints"},
    YamlKey{"launch", &kLaunch, false, "grid, block, shared memory"},
    YamlKey{"arguments", &kArguments, false, "of the kernel, in its order"},
    YamlKey{"maps", &kMaps, false, "tensor maps"},
    YamlKey{"workspaces", &kWorkspaces, false, "buffers of its own"},
    YamlKey{"scalars", &kScalars, false, "values of its own"},
    YamlKey{"steps", &kSteps, false, "several kernels, memory set, copies"},
    YamlKey{"moves", &kMoves, false, "limits that a parameter moves"},
    YamlKey{"options", &kTexts, false, "of the compiler"}};
inline constexpr YamlForm kManifest{.kind = Kind::map, .keys = kManifestKeys};

}  // namespace fa_tune::kernel::form
