#pragma once

#include <filesystem>
#include <span>

namespace fa_tune::worker {

// What may be done with a file, and with what is below a folder.
struct PathRule {
  enum class May {
    read,   // and list
    write,  // besides: what is there already; a device's commands too
  };
  std::filesystem::path path;  // where there is none, there is no rule
  May may = May::read;
};

// The version of Landlock that this kernel has; 0 for none (Linux before 5.13, or switched off).
int landlock_version();

enum class Threads {
  one,       // there must be no other: MachineError
  this_one,  // others, if any, are not bound
};

// From now on this thread and those that it starts, for good, can open, make, rename and remove
// what `rules` say and nothing else, run no program, and neither connect to nor signal what is
// outside as far as this kernel knows such limits. Called again it can only narrow them. Nothing
// happens without Landlock. Throws MachineError where the kernel refuses.
void limit_paths(std::span<const PathRule> rules, Threads threads);

}  // namespace fa_tune::worker
