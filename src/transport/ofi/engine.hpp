// How an ofi link gets its messages into the memory of the peer, and takes those that come: the
// part of a link that differs between two-sided messages and the ring. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "memory/store.hpp"
#include "transport/ofi/credits.hpp"
#include "transport/ofi/fetches.hpp"
#include "transport/ofi/receives.hpp"
#include "transport/ofi/sends.hpp"

namespace netio::detail {

// What every engine of a link works with.
struct OfiParts {
  Credits& credits;
  OfiSends& sends;
  OfiReceives& receives;
  Endpoint& endpoint;
};

class OfiEngine {
 public:
  explicit OfiEngine(const OfiParts& parts) noexcept : parts_(parts) {}
  virtual ~OfiEngine() = default;
  OfiEngine(const OfiEngine&) = delete;
  OfiEngine& operator=(const OfiEngine&) = delete;

  // Whether the peer has a place for the next message: for one at all, and for the first of those
  // that wait.
  [[nodiscard]] virtual bool may_post(const PageHeader& header) const noexcept = 0;
  [[nodiscard]] virtual bool may_send_next() const noexcept = 0;
  // These answer as an Endpoint does.
  virtual long inject(const PageHeader& header, const Post& post) noexcept = 0;
  virtual long send_next(const PageHeader& tells) noexcept = 0;
  // A page without a body, which tells the peer what it may send.
  virtual long tell(const PageHeader& header) noexcept = 0;
  // It should be told now, of `window` places for messages that there are to be.
  [[nodiscard]] virtual bool has_much_to_tell(std::size_t window) const noexcept = 0;
  [[nodiscard]] virtual bool has_to_tell() const noexcept = 0;

  // Places for messages from the peer, as many as `window` if there is memory: how many there are
  // more than before, or a negative error.
  virtual long replenish(std::size_t window) noexcept = 0;
  // There would be more places with more memory: the store to wait for is memory(). Or there is
  // none.
  [[nodiscard]] virtual bool lacks_memory() const noexcept = 0;
  [[nodiscard]] virtual bool is_stopped() const noexcept = 0;
  [[nodiscard]] virtual Store& memory() noexcept = 0;

  // A message that came, and its place, which is given back when the message is done with.
  [[nodiscard]] virtual std::byte* data(std::size_t place) noexcept = 0;
  [[nodiscard]] virtual Block& block(std::size_t place) noexcept = 0;
  // The user is to have it. False without the quota for that: wait for the receive pool.
  [[nodiscard]] virtual bool lend_out(std::size_t place) noexcept = 0;
  virtual void give_back(std::size_t place) noexcept = 0;

 protected:
  const OfiParts parts_;
};

}  // namespace netio::detail
