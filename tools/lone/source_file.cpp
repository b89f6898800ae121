#include "tools/lone/source_file.hpp"

#include <fmt/format.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {
namespace {

namespace fs = std::filesystem;

// A toolkit and a wheel alike keep headers in `include` beside the folder of the library.
fs::path header_folder() {
  const fs::path library = describe_nvrtc().path;
  for (const fs::path& folder : {library.parent_path().parent_path() / "include",
                                 library.parent_path().parent_path().parent_path() / "include"}) {
    std::error_code error;
    if (fs::exists(folder / "cuda_fp16.h", error)) return folder;
  }
  return {};
}

CompileRequest request_of(const SourceFile& source, const DeviceInfo& device) {
  CompileRequest request;
  // NVRTC calls a source after its kernel; reports and its own messages are to name the file.
  const std::string text =
      fmt::format("#line 1 \"{}\"\n", source.file.string()) + read_file(source.file);
  request.source = {text, source.kernel, sha256(text)};
  request.arch = device.arch == "sm_90" ? "sm_90a" : device.arch;
  request.kind = device.accepts;
  for (const std::string& define : source.defines)
    request.options.push_back("--define-macro=" + define);
  std::vector<fs::path> folders = {source.file.has_parent_path() ? source.file.parent_path() : "."};
  folders.insert(folders.end(), source.include.begin(), source.include.end());
  if (const fs::path own = header_folder(); !own.empty()) {
    folders.push_back(own);
    folders.push_back(own / "cccl");
  }
  for (const fs::path& folder : folders)
    request.options.push_back("--include-path=" + folder.string());
  if (source.line_info) request.options.emplace_back("--generate-line-info");
  return request;
}

}  // namespace

KernelImage image_of(const SourceFile& source, const DeviceInfo& device) {
  if (source.file.extension() == ".ptx") {
    KernelImage image;
    image.kind = BinaryKind::ptx;
    image.arch = device.arch;
    image.kernel = source.kernel;
    image.bytes = read_file(source.file);
    return image;
  }
  if (source.file.extension() != ".cu")
    throw UserError(quote_text(source.file.string()) + " is neither a .cu nor a .ptx file");
  auto compiled = open_nvrtc()->compile(request_of(source, device));
  if (!compiled)
    throw UserError(fmt::format("{}: {}", source.file.string(), compiled.error().message));
  return std::move(compiled->image);
}

}  // namespace fa_tune
