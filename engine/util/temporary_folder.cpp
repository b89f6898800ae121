#include "engine/util/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/util/error.hpp"

namespace fa_tune {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? "/tmp" : parent) / "fa-tune-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw MachineError("no folder could be made as " + name + ": " + std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace fa_tune
