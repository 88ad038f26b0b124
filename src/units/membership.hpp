// The connection of a unit or a builder to the event manager. Owner thread only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <netio/context.hpp>
#include <netio/loop.hpp>
#include <netio/options.hpp>
#include <netio/peer.hpp>

#include "base/call_back.hpp"
#include "base/out_of_memory.hpp"
#include "units/build_socket.hpp"
#include "units/manager_codec.hpp"

namespace netio::detail {

class Membership final : private Deferred {
 public:
  class Owner {
   public:
    virtual void manager_came() = 0;  // it throws std::bad_alloc
    virtual void manager_went() noexcept = 0;
    virtual void manager_takes_more() = 0;  // it throws std::bad_alloc
    // Null, or what is wrong with the message. Throws std::bad_alloc. The connection is ended then.
    virtual const char* manager_says(std::span<const std::byte> message) = 0;
    virtual void manager_closed() noexcept = 0;  // what close() began has come to its end

   protected:
    ~Owner() = default;
  };

  // Throws Error for options that make no sense.
  Membership(Context& context, const SocketOptions& options, Owner& owner);

  // Once. Throws Error for an address that makes no sense, and for a second one.
  void join(std::string_view address);
  // False if the wire takes no more for now. Without memory the connection ends, too.
  template <typename Message>
  [[nodiscard]] bool say(const Message& message) noexcept {
    if (!up_ || ending_) return false;
    Status status = Status::again;
    guard_memory([&] { status = socket_.send(bytes_.of(message)); },
                 [this]() noexcept { end_without_memory(); });
    return status == Status::ok;
  }
  // Everything is told anew on the next connection.
  void end_without_memory() noexcept;
  // The manager has said welcome.
  void accept();
  // Ends the connection, which is tried again. `why` says what the manager does. They throw
  // std::bad_alloc.
  void refuse(const std::string& why);
  void refused_by(std::string_view why);
  // Says good-bye. A manager that is gone is not waited for. A second call only sets a new
  // `linger`.
  void close(std::chrono::nanoseconds linger);
  [[nodiscard]] bool closed() const noexcept { return socket_.closed(); }
  // Nothing is called from here on: the owner is about to be destroyed.
  void abandon() noexcept;

  CallBack<void(const PeerInfo&)> on_up;
  CallBack<void(const PeerInfo&, const Down&)> on_down;
  CallBack<void(std::string_view)> on_refused;

 private:
  void run_deferred() noexcept override;
  void came_up() noexcept;
  void went_down(const PeerInfo& peer, const Down& down);
  void take(const Batch& batch) noexcept;
  void end_soon(std::string why);
  template <typename Work>
  void guard(Work&& work) noexcept;

  Loop& loop_;
  Owner& owner_;
  MemberSocket socket_;
  ManagerBytes bytes_;
  bool joined_ = false;
  bool up_ = false;
  bool accepted_ = false;
  bool ending_ = false;   // it is refused, and nothing more is taken of it
  bool closing_ = false;  // what was not said by now matters to nobody
  std::string refused_;   // why, to be told
  // Why, as it was told last, and on_down was not called since:
  std::string refused_told_;
};

}  // namespace netio::detail
