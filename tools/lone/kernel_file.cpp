#include "tools/lone/kernel_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/model/kernel_image.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::lone {
namespace {

namespace fs = std::filesystem;

// The leading comment without its slashes, with its lines where they were.
std::string manifest_of(const std::string& text) {
  std::string manifest;
  for (std::size_t begin = 0; text.compare(begin, 2, "//") == 0;) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    manifest += "  " + text.substr(begin + 2, end - begin - 2) + "\n";
    begin = std::min(end + 1, text.size());
  }
  return manifest;
}

Dim3 sizes(const YamlNode& root, std::string_view key) {
  const YamlNode* node = root.find(key);
  if (node == nullptr) return {};
  const auto& items = node->items(key);
  if (items.empty() || items.size() > 3)
    node->expected(key, "a list of one to three sizes, x first");
  std::uint32_t size[3] = {1, 1, 1};
  for (std::size_t i = 0; i < items.size(); ++i)
    size[i] = static_cast<std::uint32_t>(items[i].integer(key, 1, 65536));
  return {size[0], size[1], size[2]};
}

std::string text_or_nothing(const YamlNode& root, std::string_view key) {
  const YamlNode* node = root.find(key);
  return node == nullptr ? "" : node->text(key);
}

Agreement read_agreement(const YamlNode* node) {
  if (node == nullptr) return {};
  node->check_keys("agree", {"ulp", "absolute"});
  if (const YamlNode* ulp = node->find("ulp")) return {Agreement::Kind::ulp, ulp->number("ulp")};
  return {Agreement::Kind::absolute, node->at("absolute").number("absolute")};
}

std::vector<fs::path> folders_of(const SourceFile& source) {
  std::vector<fs::path> folders = {source.file.has_parent_path() ? source.file.parent_path() : "."};
  folders.insert(folders.end(), source.include.begin(), source.include.end());
  return folders;
}

kernel::CompileRequest request_of(const SourceFile& source, const device::DeviceInfo& device) {
  kernel::CompileRequest request;
  // NVRTC calls a source after its kernel; reports and its own messages are to name the file.
  const std::string text =
      fmt::format("#line 1 \"{}\"\n", source.file.string()) + read_file(source.file, kProgramFile);
  request.source = {text, source.kernel, sha256(text)};
  request.arch = device.arch == "sm_90" ? "sm_90a" : device.arch;
  request.kind = device.accepts;
  for (const std::string& define : source.defines)
    request.options.push_back("--define-macro=" + define);
  for (const fs::path& folder : folders_of(source))
    request.options.push_back("--include-path=" + folder.string());
  if (source.line_info) request.options.emplace_back("--generate-line-info");
  return request;
}

}  // namespace

KernelFile KernelFile::load(const std::filesystem::path& file) {
  KernelFile result;
  result.file = file;
  result.name = file.stem().string();
  result.text = read_file(file, kSourceFile);
  const YamlNode root = YamlNode::parse(manifest_of(result.text), file);
  root.check_keys("kernel", {"class", "about", "arch", "grid", "block", "cluster", "shared", "args",
                             "agree", "because", "fault", "checkers"});
  result.kind = root.at("class").text("class");
  result.about = text_or_nothing(root, "about");
  result.arch = text_or_nothing(root, "arch");
  result.because = text_or_nothing(root, "because");
  result.fault = text_or_nothing(root, "fault");
  result.checkers = text_or_nothing(root, "checkers");
  result.launch.config.grid = sizes(root, "grid");
  result.launch.config.block = sizes(root, "block");
  result.launch.config.cluster = sizes(root, "cluster");
  if (const YamlNode* shared = root.find("shared"))
    result.launch.config.dynamic_shared_bytes =
        static_cast<std::uint32_t>(shared->integer("shared", 0, 1 << 20));
  for (const YamlNode& item : root.at("args").items("args")) {
    try {
      result.launch.arguments.push_back(parse_argument(item.text("args")));
    } catch (const UserError& error) {
      item.fail(error.what());
    }
  }
  result.agreement = read_agreement(root.find("agree"));
  if (result.agreement.kind != Agreement::Kind::exact && result.because.empty())
    root.fail("agree: a kernel that may differ needs 'because:'");
  return result;
}

std::vector<KernelFile> KernelFile::load_all(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error))
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  if (files.empty()) throw UserError(folder.string() + ": holds no .cu file");
  std::ranges::sort(files, {}, [](const auto& file) { return file.filename(); });
  std::vector<KernelFile> result;
  result.reserve(files.size());
  for (const auto& file : files) result.push_back(load(file));
  return result;
}

bool KernelFile::runs_on(const std::string& device_arch) const {
  if (arch.empty()) return true;
  const int wanted = arch_number(arch);
  const int have = arch_number(device_arch);
  // What ends in a letter is of that architecture alone.
  return arch.ends_with('a') ? have == wanted : have >= wanted;
}

kernel::CompileRequest KernelFile::request(const device::DeviceInfo& device, bool planted) const {
  kernel::CompileRequest request;
  // Not in front of the text: lines in messages are those of the file.
  if (planted) request.options.emplace_back("--define-macro=FAULT");
  request.source = {text, name, sha256(text)};
  request.arch = arch.ends_with('a') ? arch : device.arch;
  request.kind = device.accepts;
  return request;
}

std::expected<std::vector<LoneOutput>, std::string> KernelFile::run(device::Device& device,
                                                                    kernel::Compiler& compiler,
                                                                    bool planted,
                                                                    const device::Checks& checks,
                                                                    std::uint64_t schedule) const {
  const auto compiled = compiler.compile(request(device.info(), planted));
  if (!compiled) return std::unexpected("does not compile: " + compiled.error().message);
  LoneLaunch once = launch;
  once.checks = checks;
  once.schedule = schedule;
  auto outputs = run_lone(device, compiled->image, once);
  if (outputs) return std::move(*outputs);
  return std::unexpected(to_text(outputs.error().kind) + ": " + outputs.error().message);
}

KernelImage image_of(const SourceFile& source, const device::DeviceInfo& device,
                     const CompilerOpener& open) {
  if (source.file.extension() == ".ptx") {
    KernelImage image;
    image.kind = BinaryKind::ptx;
    image.arch = device.arch;
    image.kernel = source.kernel;
    image.bytes = read_file(source.file, kProgramFile);
    return image;
  }
  if (source.file.extension() != ".cu")
    throw UserError(quote_text(source.file.string()) + " is neither a .cu nor a .ptx file");
  auto compiled = open(folders_of(source))->compile(request_of(source, device));
  if (!compiled)
    throw UserError(fmt::format("{}: {}", source.file.string(), compiled.error().message));
  return std::move(compiled->image);
}

}  // namespace fa_tune::lone
