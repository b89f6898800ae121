#include "tests/db/fault_vfs.hpp"

#include <new>
#include <optional>

#include <sqlite3.h>

namespace fa_tune::test {

struct FaultVfs::State {
  sqlite3_vfs ours{};
  sqlite3_vfs* real = nullptr;
  std::optional<DiskCall> call;
  int left = 0;  // calls of that kind up to the one that fails
  int code = SQLITE_OK;
  bool for_good = false;
  bool struck = false;
  std::optional<std::int64_t> clock_ms;  // since 1970
  std::int64_t step_ms = 0;

  // SQLITE_OK, or what the call is to answer.
  int answer(DiskCall asked) {
    if (!call || *call != asked) return SQLITE_OK;
    if (struck && !for_good) return SQLITE_OK;
    if (!struck && --left > 0) return SQLITE_OK;
    struck = true;
    return code;
  }
};

namespace {

FaultVfs::State* current = nullptr;

// One of ours; the real one's bytes follow it.
struct File {
  sqlite3_file base;

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }

// Asks the real file unless the call is to fail.
template <typename... Wanted, typename... Given>
int pass(DiskCall call, sqlite3_file* file,
         int (*sqlite3_io_methods::*method)(sqlite3_file*, Wanted...), Given... given) {
  if (const int code = current->answer(call); code != SQLITE_OK) return code;
  sqlite3_file* const real = real_of(file);
  return (real->pMethods->*method)(real, given...);
}

int close_file(sqlite3_file* file) {
  sqlite3_file* const real = real_of(file);
  return real->pMethods == nullptr ? SQLITE_OK : real->pMethods->xClose(real);
}
int read_file(sqlite3_file* file, void* bytes, int count, sqlite3_int64 at) {
  return pass(DiskCall::read, file, &sqlite3_io_methods::xRead, bytes, count, at);
}
int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 at) {
  return pass(DiskCall::write, file, &sqlite3_io_methods::xWrite, bytes, count, at);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return pass(DiskCall::truncate, file, &sqlite3_io_methods::xTruncate, size);
}
int sync_file(sqlite3_file*, int) { return current->answer(DiskCall::sync); }
int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  return pass(DiskCall::size, file, &sqlite3_io_methods::xFileSize, size);
}
int lock_file(sqlite3_file* file, int level) {
  return pass(DiskCall::lock, file, &sqlite3_io_methods::xLock, level);
}
int unlock_file(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int check_lock(sqlite3_file* file, int* held) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
}
int control_file(sqlite3_file* file, int what, void* argument) {
  return real_of(file)->pMethods->xFileControl(real_of(file), what, argument);
}
int sector_size(sqlite3_file* file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); }
int characteristics(sqlite3_file* file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}
int map_shared(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  return pass(DiskCall::shared_map, file, &sqlite3_io_methods::xShmMap, region, size, extend,
              memory);
}
int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  if ((flags & SQLITE_SHM_UNLOCK) != 0)  // always succeeds, SQLite does not look
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
  return pass(DiskCall::shared_lock, file, &sqlite3_io_methods::xShmLock, offset, count, flags);
}
void barrier_shared(sqlite3_file* file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }
int unmap_shared(sqlite3_file* file, int remove) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

const sqlite3_io_methods kMethods = {
    .iVersion = 2,  // without mapped files, which no call of ours would see
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = barrier_shared,
    .xShmUnmap = unmap_shared,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  file->pMethods = nullptr;
  if (const int code = current->answer(DiskCall::open); code != SQLITE_OK) return code;
  sqlite3_file* const real = real_of(file);
  const int code = current->real->xOpen(current->real, name, real, flags, flags_out);
  if (real->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}
int remove_file(sqlite3_vfs*, const char* name, int sync_folder) {
  if (const int code = current->answer(DiskCall::remove); code != SQLITE_OK) return code;
  return current->real->xDelete(current->real, name, sync_folder);
}
int access_file(sqlite3_vfs*, const char* name, int flags, int* result) {
  if (const int code = current->answer(DiskCall::access); code != SQLITE_OK) return code;
  return current->real->xAccess(current->real, name, flags, result);
}
int no_sleep(sqlite3_vfs*, int us) { return us; }
int read_clock(sqlite3_vfs*, sqlite3_int64* julian_ms) {
  if (!current->clock_ms) return current->real->xCurrentTimeInt64(current->real, julian_ms);
  constexpr sqlite3_int64 k1970 = 210'866'760'000'000;  // of the Julian day count, in ms
  *julian_ms = k1970 + *current->clock_ms;
  *current->clock_ms += current->step_ms;
  return SQLITE_OK;
}

}  // namespace

std::string to_text(DiskCall call) {
  static constexpr std::array names = {"open",        "read",   "write", "truncate",
                                       "sync",        "size",   "lock",  "shared_map",
                                       "shared_lock", "remove", "access"};
  return names.at(static_cast<std::size_t>(call));
}

FaultVfs::FaultVfs() : state_(std::make_unique<State>()) {
  state_->real = sqlite3_vfs_find(nullptr);
  sqlite3_vfs& ours = state_->ours;
  ours = *state_->real;
  ours.zName = "faults";
  ours.szOsFile = static_cast<int>(sizeof(File)) + state_->real->szOsFile;
  ours.xOpen = open_file;
  ours.xDelete = remove_file;
  ours.xAccess = access_file;
  ours.xSleep = no_sleep;
  ours.xCurrentTimeInt64 = read_clock;
  current = state_.get();
  sqlite3_vfs_register(&ours, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&state_->ours);
  sqlite3_vfs_register(state_->real, 1);
  current = nullptr;
}

void FaultVfs::fail(DiskCall call, int nth, int code, bool for_good) {
  state_->call = call;
  state_->left = nth;
  state_->code = code;
  state_->for_good = for_good;
  state_->struck = false;
}

void FaultVfs::fail_nothing() { state_->call.reset(); }

bool FaultVfs::struck() const { return state_->struck; }

void FaultVfs::set_clock(std::int64_t unix_ms, std::int64_t step_ms) {
  state_->clock_ms = unix_ms;
  state_->step_ms = step_ms;
}

}  // namespace fa_tune::test
