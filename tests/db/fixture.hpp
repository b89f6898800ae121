#pragma once

#include <filesystem>
#include <string>

#include "db/store.hpp"

namespace fa_tune::test {

// A folder of its own, gone when the test ends.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

RunRow a_run();
// A right, screened trial with a config that no other number has.
TrialRow a_trial(std::int64_t run, std::int64_t number, double time_us);

// One value of a query on a connection of its own.
std::string ask(const std::filesystem::path& database, const std::string& sql);
void change(const std::filesystem::path& database, const std::string& sql);

template <typename Error, typename Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace fa_tune::test
