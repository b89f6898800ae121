#include "engine/kernel/compile/nvrtc_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "engine/util/environment.hpp"

namespace fa_tune::kernel {
namespace {

namespace fs = std::filesystem;

// Entries of a folder whose names start with `start`, newest version first: "cuda-13.0" before
// "cuda-9.2", and the bare name, which is a person's choice, before both. Empty if there is no
// folder.
std::vector<fs::path> entries(const fs::path& folder, const std::string& start) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(start)) found.push_back(it->path());
  const auto rank = [&start](const fs::path& path) {
    const std::string name = path.filename().string();
    const std::size_t digit = name.find_first_of("0123456789", start.size());
    return std::pair(
        name.size() == start.size() ? 0 : 1,
        digit == std::string::npos ? 0.0 : -std::strtod(name.c_str() + digit, nullptr));
  };
  std::ranges::sort(found, [&](const fs::path& a, const fs::path& b) {
    return std::pair(rank(a), a) < std::pair(rank(b), b);
  });
  return found;
}

void add_folder(std::vector<std::string>& list, const fs::path& folder) {
  for (const fs::path& file : entries(folder, "libnvrtc.so")) list.push_back(file.string());
}

fs::path executable() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

// NVIDIA's wheels put the library in nvidia/cu13/lib, those of CUDA 12 in nvidia/cuda_nvrtc/lib.
void add_wheels_of(const fs::path& root, std::vector<std::string>& list) {
  if (root.empty()) return;
  for (const fs::path& python : entries(root / ".venv" / "lib", "python3"))
    for (const char* start : {"cu1", "cuda_nvrtc"})
      for (const fs::path& wheel : entries(python / "site-packages" / "nvidia", start))
        add_folder(list, wheel / "lib");
}

// That of FA_TUNE_ROOT first. A root with spaces and templates of its own need not have one.
void add_local_environments(std::vector<std::string>& list) {
  const fs::path root = find_root();
  const fs::path own = root_above(executable().parent_path());
  add_wheels_of(root, list);
  if (own != root) add_wheels_of(own, list);
}

template <typename Function>
bool bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool bind_all(void* handle, NvrtcFunctions& functions) {
  return bind(handle, "nvrtcVersion", functions.version) &&
         bind(handle, "nvrtcGetErrorString", functions.error_string) &&
         bind(handle, "nvrtcCreateProgram", functions.create) &&
         bind(handle, "nvrtcDestroyProgram", functions.destroy) &&
         bind(handle, "nvrtcAddNameExpression", functions.add_name_expression) &&
         bind(handle, "nvrtcGetLoweredName", functions.lowered_name) &&
         bind(handle, "nvrtcCompileProgram", functions.compile) &&
         bind(handle, "nvrtcGetProgramLogSize", functions.log_size) &&
         bind(handle, "nvrtcGetProgramLog", functions.log) &&
         bind(handle, "nvrtcGetCUBINSize", functions.cubin_size) &&
         bind(handle, "nvrtcGetCUBIN", functions.cubin) &&
         bind(handle, "nvrtcGetPTXSize", functions.ptx_size) &&
         bind(handle, "nvrtcGetPTX", functions.ptx);
}

// NVRTC opens its built-in headers' library by bare name at the first compile. The wheels carry no
// path for the loader, which would find another NVRTC's or none; one that is loaded already is
// taken.
void load_builtins_beside(const std::string& library) {
  for (const fs::path& file : entries(fs::path(library).parent_path(), "libnvrtc-builtins.so"))
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
}

std::expected<NvrtcLibrary, std::string> try_load(const std::string& candidate) {
  void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return std::unexpected(reason == nullptr ? candidate + ": cannot be loaded" : reason);
  }
  NvrtcLibrary library;
  if (!bind_all(handle, library.functions) ||
      library.functions.version(&library.major, &library.minor) != NvrtcFunctions::kSuccess) {
    dlclose(handle);
    return std::unexpected(candidate + ": is not an NVRTC of CUDA 11.1 or later");
  }
  Dl_info info = {};
  const bool known = dladdr(reinterpret_cast<void*>(library.functions.version), &info) != 0;
  library.path = known && info.dli_fname != nullptr ? info.dli_fname : candidate;
  load_builtins_beside(library.path);
  return library;
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  if (const std::string file = environment("FA_TUNE_NVRTC"); !file.empty()) return {file};
  std::vector<std::string> list;
  add_folder(list, executable().parent_path().parent_path() / "lib");
  if (environment("FA_TUNE_HIDE_TOOLKIT") != "1") {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      list.emplace_back(name);
    for (const fs::path& toolkit : entries("/usr/local", "cuda"))
      add_folder(list, toolkit / "lib64");
  }
  add_local_environments(list);
  return list;
}

std::expected<NvrtcLibrary, std::string> load_nvrtc() {
  std::string tried;
  for (const std::string& candidate : nvrtc_candidates()) {
    auto library = try_load(candidate);
    if (library) return library;
    tried += (tried.empty() ? "" : "; ") + library.error();
  }
  return std::unexpected(tried.empty() ? "no file to try" : tried);
}

}  // namespace fa_tune::kernel
