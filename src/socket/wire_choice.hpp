// Of a dialed netio:// address: which wire its connection goes over. The tcp link has greeted, and
// its confirm waits until this is decided. The better wires that the other end offers are tried one
// after the other, for a second at most in all. Owner thread only; nothing here calls the user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <netio/loop.hpp>
#include <netio/status.hpp>

#include "base/url.hpp"
#include "socket/wire_menu.hpp"
#include "transport/link.hpp"
#include "wire/hello.hpp"

namespace netio::detail {

class SocketCore;

class WireChoice final : private LinkEvents {
 public:
  class Owner {
   public:
    // Another connection of the stream begins, beside the one that has greeted.
    virtual void begin_other_connection() noexcept = 0;
    virtual Hello greet_on_other() noexcept = 0;
    virtual std::optional<Down> judge_other(const Hello& theirs) noexcept = 0;
    // Call step() from the loop.
    virtual void choice_changed() noexcept = 0;

   protected:
    ~Owner() = default;
  };

  // Makes ready what may be tried, which takes its time. Throws AddressError for an option that
  // makes no sense.
  WireChoice(SocketCore& socket, Owner& owner, const Url& url);

  // The other end, at this host, has said its hello. False if nothing is to be tried: the
  // connection stays on tcp.
  [[nodiscard]] bool begin(const Hello& theirs, const std::string& host) noexcept;
  // From begin() until step() has answered stay or move.
  [[nodiscard]] bool pending() const noexcept { return pending_; }
  enum class Step : std::uint8_t {
    wait,
    stay,  // on tcp
    move,  // take_link()
  };
  [[nodiscard]] Step step() noexcept;
  // The link that has greeted, and what the other end said there. Its events come here until it
  // reports to somebody else.
  [[nodiscard]] std::unique_ptr<Link> take_link() noexcept;
  [[nodiscard]] const Hello& their_hello() const noexcept { return their_hello_; }

  // The connection ended before it was up. True if a wire beside tcp may be the reason: it is not
  // tried on the next connection.
  [[nodiscard]] bool blame(const Down& down) noexcept;
  void came_up() noexcept;
  // Ends what is being tried, at once. The link is destroyed by end(), never from inside an event.
  void cut() noexcept;
  void end() noexcept;

  // "tcp", "shm": what the connection goes over.
  [[nodiscard]] std::string_view wire() const noexcept {
    return moved_ ? scheme_of(*wire_) : "tcp";
  }
  // Why no better one: a sentence for a person, empty if there is none. Of the last connection
  // for which that was decided.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  // LinkEvents, of the link that is tried
  Hello greet(const Hello* theirs) noexcept override;
  std::optional<Down> judge(const Hello& theirs) noexcept override;
  void on_up(const Hello& theirs) noexcept override;
  void on_page(const PageHeader& header, Block& block,
               std::span<const std::byte> body) noexcept override;
  void on_writable() noexcept override {}
  void on_sent() noexcept override {}
  void on_idle() noexcept override {}
  void on_down(const Down& down) noexcept override;

  void gather(const Hello& theirs, const std::string& host);
  [[nodiscard]] bool try_next();
  void give_up_late() noexcept;
  void failed(std::string_view why) noexcept;
  void decide() noexcept;

  SocketCore& socket_;
  Owner& owner_;
  WireMenu menu_;
  WireMenu::Reasons blamed_;  // why a wire is not tried on the next connection

  // Of the connection at hand.
  OfferToken token_{};
  WireMenu::Choice choice_;          // candidates that were not tried yet
  std::optional<OfferedWire> wire_;  // that is tried, or taken
  std::unique_ptr<Link> link_;
  Hello their_hello_;
  std::string failure_;
  std::int64_t decide_by_ns_ = 0;
  Timer timer_;
  bool pending_ = false;
  bool greeted_ = false;
  bool failed_ = false;
  bool moved_ = false;
  std::string reason_;
};

}  // namespace netio::detail
