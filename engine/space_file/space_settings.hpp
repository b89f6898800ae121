#pragma once

#include <string>
#include <vector>

#include "engine/space_file/space_file.hpp"

namespace fa_tune::space {

// The same space for another problem: the file's text with its `problem` section written anew, and
// each of `changes` ("shape.L=4096", "causal=true", "window.0=128") in it in place of what the file
// says or beside it. `shape.L` stands for shape.Lq and shape.Lk and the other way round. Comments
// in that section are lost, all else is as it was; what the text now says is kept with a run. Of a
// custom problem the timed sizes can be set, and the tolerance ("tolerance.relative=1e-5").
// Throws UserError for a change that is not NAME=VALUE, or whatever the problem refuses.
SpaceFile with_settings(const SpaceFile& file, const std::vector<std::string>& changes);

// A space that takes the profile of whatever device it is searched on.
inline constexpr const char* kAutoTarget = "auto";
// The same space with a profile in the place of `auto`; a space that names one is left as it is.
SpaceFile with_target(const SpaceFile& file, const std::string& profile);

}  // namespace fa_tune::space
