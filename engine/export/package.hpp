#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/any_size.hpp"
#include "engine/export/dispatch.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/problem/problem.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::exports {

// What leaves fa-tune with a winner: code, and all that a host must know to launch it, in figures.
// Nothing of the engine is needed to use it.

struct PackagedKernel {
  KernelImage image;
  std::string source_hash;
};

// A kernel at one shape, as it was tuned there.
struct PackagedCall {
  std::size_t kernel = 0;  // of Package::kernels
  Constants shape;         // complete
  Constants given;         // the same as it is told: without what is at its default
  LaunchConfig launch;
  std::vector<std::string> arguments;  // names of tensors, scalars or maps, in the kernel's order
  std::vector<MappedTensor> maps;
  std::vector<problem::Tensor> tensors;  // without data; those alone that the kernel sees
  std::vector<problem::Scalar> scalars;  // with what they were at this shape; the same
  std::string described;                 // the shape, for a person
  std::string device;  // what it was tuned on: "NVIDIA H100 80GB HBM3"; may be empty
  std::string origin;  // one line for a person: trial, space, time, verdict
  // If there are any, they stand for `launch`, `arguments` and `maps`.
  std::vector<PlannedStep> steps = {};
  // Where it is for any sizes: how the figures above follow from these.
  std::optional<AnySize> any_size = {};
  // Where the package has a dispatch: by which number that asks for it.
  std::optional<std::size_t> choice = {};
};
// The bytes of dynamic shared memory that a kernel of a call for any sizes may ask for.
std::int64_t most_shared(const PackagedCall& call, const KernelEntry& kernel);
// In order; of one kernel that alone.
std::vector<PlannedStep> steps_of(const PackagedCall& call);

struct Package {
  std::string version;  // of fa-tune
  std::string problem;  // kind
  std::string name;     // of a header's namespace; an identifier
  std::vector<PackagedKernel> kernels;
  // With a dispatch, and for any sizes each: the most robust choice first.
  std::vector<PackagedCall> calls;
  std::optional<Dispatch> dispatch = {};
};

// Compute capability: {9, 0} of "sm_90a".
struct Capability {
  int major = 0;
  int minor = 0;
};
Capability capability_of(const std::string& arch);

// A digest of all code and launches: two packages with the same one do the same.
std::string identity(const Package& package);

// What is in it, call by call, in comment lines behind `mark`: for whom, and where it comes from.
std::string contents_lines(const Package& package, std::string_view mark);

// Each as the whole text of a file. Where a package cannot be said in that form, UserError.
std::string torch_module(const Package& package);
std::string cxx_header(const Package& package);
// Of one call, whose image is PTX.
std::string ptx_text(const Package& package);

}  // namespace fa_tune::exports
