// See wire_choice.hpp.
#include "socket/wire_choice.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <netio/status.hpp>

#include "base/out_of_memory.hpp"
#include "socket/context_core.hpp"
#include "socket/socket_core.hpp"

namespace netio::detail {

namespace {

constexpr std::chrono::nanoseconds decide_within = std::chrono::seconds(1);

}  // namespace

WireChoice::WireChoice(SocketCore& socket, Owner& owner, const Url& url)
    : socket_(socket),
      owner_(owner),
      menu_(socket.context(), url),
      timer_(socket.context().loop, [this] { give_up_late(); }) {}

void WireChoice::decide() noexcept {
  guard_memory([&] { reason_ = WireMenu::reason(choice_, moved_ ? wire_ : std::nullopt); },
               [this]() noexcept { reason_ = "no memory"; });
}

bool WireChoice::begin(const Hello& theirs, const std::string& host) noexcept {
  end();
  reason_.clear();
  guard_memory(
      [&] {
        gather(theirs, host);
        pending_ = try_next();
      },
      [this]() noexcept {
        end();
        reason_ = "no memory";
      });
  if (!pending_) decide();
  return pending_;
}

void WireChoice::gather(const Hello& theirs, const std::string& host) {
  token_ = theirs.offers.token;
  decide_by_ns_ = socket_.context().loop.now().count() +
                  std::min(decide_within, socket_.options().handshake_within / 2).count();
  choice_ = menu_.look_at(theirs.offers, host);
  std::erase_if(choice_.candidates, [this](const WireMenu::Candidate& each) {
    const std::size_t index = WireMenu::index_of(each.wire);
    choice_.why_not.at(index) = blamed_.at(index);
    return !blamed_.at(index).empty();
  });
}

// The next wire gets its share of the time that is left. False if there is none.
bool WireChoice::try_next() {
  timer_.stop();
  link_.reset();
  wire_.reset();
  greeted_ = failed_ = false;
  while (!choice_.candidates.empty()) {
    const auto sharers = static_cast<std::int64_t>(choice_.candidates.size());
    const WireMenu::Candidate candidate = std::move(choice_.candidates.front());
    choice_.candidates.erase(choice_.candidates.begin());
    std::string& why_not = choice_.why_not.at(WireMenu::index_of(candidate.wire));
    const std::int64_t left_ns = decide_by_ns_ - socket_.context().loop.now().count();
    if (left_ns <= 0) {
      why_not = "there was no time to try it";
      continue;
    }
    try {
      link_ = socket_.context()
                  .transport(candidate.url.scheme + "://")
                  .connect(candidate.url, socket_.link_options());
    } catch (const Error& error) {
      why_not = error.cause();
      continue;
    }
    wire_ = candidate.wire;
    owner_.begin_other_connection();
    timer_.start_once(std::chrono::nanoseconds(left_ns / sharers));
    link_->start(*this);
    return true;
  }
  return false;
}

WireChoice::Step WireChoice::step() noexcept {
  if (failed_) {
    bool more = false;
    guard_memory(
        [&] {
          choice_.why_not.at(WireMenu::index_of(*wire_)) = failure_;
          more = try_next();
        },
        [&]() noexcept {
          cut();
          link_.reset();
          reason_ = "no memory";
        });
    pending_ = more;
    if (more) return Step::wait;
    decide();
    return Step::stay;
  }
  if (!greeted_) return Step::wait;
  timer_.stop();
  pending_ = false;
  moved_ = true;
  decide();
  return Step::move;
}

std::unique_ptr<Link> WireChoice::take_link() noexcept { return std::move(link_); }

bool WireChoice::blame(const Down& down) noexcept {
  if (!wire_ || (!pending_ && !moved_)) return false;
  guard_memory(
      [&] { blamed_.at(WireMenu::index_of(*wire_)) = "failed before it was up: " + down.detail; },
      [this]() noexcept { blamed_.at(WireMenu::index_of(*wire_)) = "failed"; });
  return true;
}

void WireChoice::came_up() noexcept {
  for (std::string& each : blamed_) each.clear();
}

void WireChoice::cut() noexcept {
  timer_.stop();
  pending_ = false;
  if (link_) link_->cut();
}

void WireChoice::end() noexcept {
  cut();
  link_.reset();
  wire_.reset();
  choice_.candidates.clear();
  greeted_ = failed_ = moved_ = false;
}

void WireChoice::give_up_late() noexcept {
  link_->cut();
  failed("did not come up in time");
}

void WireChoice::failed(std::string_view why) noexcept {
  if (failed_) return;
  failed_ = true;
  guard_memory([&] { failure_ = why; }, [this]() noexcept { failure_ = "failed"; });
  owner_.choice_changed();
}

Hello WireChoice::greet(const Hello*) noexcept {
  Hello hello = owner_.greet_on_other();
  hello.token = token_;
  return hello;
}

std::optional<Down> WireChoice::judge(const Hello& theirs) noexcept {
  return owner_.judge_other(theirs);
}

void WireChoice::on_up(const Hello& theirs) noexcept {
  guard_memory(
      [&] {
        their_hello_ = theirs;
        greeted_ = true;
      },
      [this]() noexcept {
        link_->cut();
        failed("no memory");
      });
  owner_.choice_changed();
}

// Before this side has confirmed, only grants of a fabric may come, which the link takes.
void WireChoice::on_page(const PageHeader& header, Block&, std::span<const std::byte>) noexcept {
  if (header.bytes == 0) return;
  link_->cut();
  failed("sent messages before it may");
}

void WireChoice::on_down(const Down& down) noexcept { failed(down.detail); }

}  // namespace netio::detail
