// The peer's memory as this side sees it: mapped read-only, and a block for each page that is out.
// A block that comes home is given back to the peer. Outlives its link until the last one is home.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/file_descriptor.hpp"
#include "base/fork_watch.hpp"
#include "memory/shared_memory.hpp"
#include "memory/store.hpp"
#include "transport/shm/address_space.hpp"
#include "transport/shm/board.hpp"
#include "transport/shm/first_looks.hpp"

namespace netio::detail {

class ShmPeerMemory final : public Store {
 public:
  using Ptr = std::unique_ptr<ShmPeerMemory, Store::Retire>;
  [[nodiscard]] bool peer_writes() const noexcept override { return true; }
  class Owner {
   public:
    // A page was given back; the peer may have to be told.
    virtual void on_page_returned() noexcept = 0;

   protected:
    ~Owner() = default;
  };

  // What a peer passes.
  struct Passed {
    PeerAddressSpace space;  // of memory, which goes first
    SharedMemory memory;
    FileDescriptor lifeline;  // closed when nothing of the memory is used here any more
  };
  // Throws Error.
  static Ptr create(Passed passed, std::shared_ptr<EmptyMemory> empty, ShmBoard& ours, Owner& owner,
                    Store::Owner thread = OwnerThread::calling()) {
    return Ptr(
        new ShmPeerMemory(std::move(passed), std::move(empty), ours, owner, std::move(thread)));
  }
  // The link is gone: nobody is told any more.
  void forget_owner() noexcept {
    owner_ = nullptr;
    ours_ = nullptr;
  }

  // `bytes` at `place`, known to the peer as `page`; null if they are there and not out already, or
  // what is wrong. They may be read then.
  const char* look(std::uint64_t page, std::uint64_t place, std::size_t bytes,
                   std::span<const std::byte>& found) noexcept;
  // After a look(): it goes out, charged to `quota`; or back to the peer at once.
  Lease take(std::uint64_t page, std::span<const std::byte> found, Quota* quota) noexcept;
  void pass_back(std::uint64_t page) noexcept;

 private:
  struct Page {
    std::optional<Block> block;
    bool out = false;
  };
  ShmPeerMemory(Passed passed, std::shared_ptr<EmptyMemory> empty, ShmBoard& ours, Owner& owner,
                Store::Owner thread);
  ~ShmPeerMemory() override = default;
  void recycle(Block& block) noexcept override;
  void discard(Block&) noexcept override {}  // goes with the mapping
  void forget_quotas() noexcept override;

  Passed passed_;
  FirstLooks looks_;
  ShmBoard* ours_;
  Owner* owner_;
  unsigned made_at_ = fork_depth();
  std::unique_ptr<Page[]> pages_;
  std::uint64_t returned_ = 0;
};

}  // namespace netio::detail
