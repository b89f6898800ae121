#include "db/store.hpp"

#include "db/connection.hpp"
#include "db/store_state.hpp"

namespace fa_tune::db {

Store::Store(const std::filesystem::path& path, Mode mode)
    : state_(std::make_unique<State>(path.string(), open_connection(path, mode))) {}

Store::~Store() = default;

}  // namespace fa_tune::db
