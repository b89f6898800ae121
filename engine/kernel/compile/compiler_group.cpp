#include "engine/kernel/compile/compiler_group.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "engine/util/log.hpp"

namespace fa_tune::kernel {
namespace {

// How often a wait looks whether it is still wanted.
constexpr std::chrono::milliseconds kLook{200};

}  // namespace

// One of a member's places, taken until it goes.
class CompilerGroup::Place {
 public:
  Place(CompilerGroup& group, std::uint64_t ticket)
      : group_(group), member_(group.take_place(ticket)) {}
  ~Place() {
    {
      const std::lock_guard lock(group_.mutex_);
      --member_->busy;
    }
    group_.changed_.notify_all();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  Compiler& compiler() { return *member_->compiler; }

 private:
  CompilerGroup& group_;
  std::shared_ptr<Member> member_;
};

void CompilerGroup::require_version(std::string version) {
  const std::lock_guard lock(mutex_);
  version_ = std::move(version);
}

std::expected<void, std::string> CompilerGroup::add(std::shared_ptr<Compiler> compiler, int jobs) {
  const std::string version = compiler->version();
  const std::string headers = compiler->headers();
  const std::lock_guard lock(mutex_);
  if (version != version_.value_or(version))
    return std::unexpected(
        fmt::format("it has {} and the search has {}, which makes other code", version, *version_));
  if (headers != headers_.value_or(headers))
    return std::unexpected(fmt::format(
        "its {} has other headers of the CUDA toolkit than the search's {}", version, *version_));
  version_ = version;
  headers_ = headers;
  note_presence();
  members_.push_back(std::make_shared<Member>(Member{std::move(compiler), jobs}));
  presence_.most = std::max(presence_.most, places());
  told_ = false;
  changed_.notify_all();
  if (arrived_) arrived_(places());
  return {};
}

bool CompilerGroup::remove(const Compiler& compiler) {
  std::shared_ptr<Member> removed;  // it may end outside of the lock
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      members_, [&](const auto& member) { return member->compiler.get() == &compiler; });
  if (found == members_.end()) return false;
  note_presence();
  removed = std::move(*found);
  members_.erase(found);
  changed_.notify_all();
  return true;
}

int CompilerGroup::places() const {
  return std::accumulate(members_.begin(), members_.end(), 0,
                         [](int sum, const auto& member) { return sum + member->jobs; });
}

int CompilerGroup::size() const {
  const std::lock_guard lock(mutex_);
  return places();
}

void CompilerGroup::note_presence() {
  const auto now = Clock::now();
  presence_.seconds += places() * std::chrono::duration<double>(now - noted_).count();
  noted_ = now;
}

CompilerGroup::Presence CompilerGroup::presence() const {
  const std::lock_guard lock(mutex_);
  Presence now = presence_;
  now.seconds += places() * std::chrono::duration<double>(Clock::now() - noted_).count();
  return now;
}

void CompilerGroup::on_arrival(std::function<void(int)> arrived) {
  const std::lock_guard lock(mutex_);
  arrived_ = std::move(arrived);
}

bool CompilerGroup::wait_for_first(const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  while (!stop() && !changed_.wait_for(lock, kLook, [this] { return !members_.empty(); })) {
  }
  return !members_.empty();
}

std::string CompilerGroup::version() const {
  const std::lock_guard lock(mutex_);
  return version_.value_or("");
}

std::string CompilerGroup::headers() const {
  const std::lock_guard lock(mutex_);
  return headers_.value_or("");
}

void CompilerGroup::cancel_waiting() {
  const std::lock_guard lock(mutex_);
  first_wanted_ = next_ticket_;
  changed_.notify_all();
}

std::uint64_t CompilerGroup::take_ticket() {
  const std::lock_guard lock(mutex_);
  return next_ticket_++;
}

CompileOutcome CompilerGroup::compile(const CompileRequest& request) {
  // Whose compiler is gone keeps its place in the line.
  const std::uint64_t ticket = take_ticket();
  for (;;) {
    Place place(*this, ticket);
    try {
      return place.compiler().compile(request);
    } catch (const CompilerGone& gone) {
      if (remove(place.compiler())) log_warning("{}", gone.what());
    }
  }
}

std::shared_ptr<CompilerGroup::Member> CompilerGroup::freest() const {
  std::shared_ptr<Member> best;
  const auto share = [](const Member& member) {
    return static_cast<double>(member.jobs - member.busy) / member.jobs;
  };
  for (const auto& member : members_)
    if (member->busy < member->jobs && (best == nullptr || share(*member) > share(*best)))
      best = member;
  return best;
}

std::shared_ptr<CompilerGroup::Member> CompilerGroup::take_place(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  waiting_.insert(ticket);
  struct Leaving {
    CompilerGroup& group;
    std::uint64_t ticket;
    ~Leaving() {
      group.waiting_.erase(ticket);
      group.changed_.notify_all();  // the next in line may go
    }
  } const leaving{*this, ticket};
  for (std::optional<Clock::time_point> until;;) {
    if (ticket < first_wanted_) throw Interrupted("a compile is not wanted any more");
    if (*waiting_.begin() == ticket)
      if (auto member = freest()) {
        ++member->busy;
        return member;
      }
    if (members_.empty())
      bear_absence(until);
    else
      until.reset();
    changed_.wait_for(lock, kLook);
  }
}

// Where there is no member: throws where that is not to be waited out any more. `until`: when.
void CompilerGroup::bear_absence(std::optional<Clock::time_point>& until) {
  if (options_.stop != nullptr && *options_.stop)
    throw Interrupted("interrupted while no compiler was left");
  if (!until) until = Clock::now() + options_.patience;
  if (Clock::now() >= *until)
    throw NoCompilerLeft(fmt::format("no compiler is left, and none has come in {:.0f} s",
                                     std::chrono::duration<double>(options_.patience).count()));
  if (std::exchange(told_, true)) return;
  log_warning("no compiler is left; waits for {}, at most {:.0f} s", options_.awaited,
              std::chrono::duration<double>(options_.patience).count());
}

}  // namespace fa_tune::kernel
