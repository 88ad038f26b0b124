// A program that speaks libfabric and not netio (connected endpoints over provider tcp): what evil
// peers at ofi+tcp addresses are played with. Each look at it makes progress; nothing blocks. One
// thread. Throws netio::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/domain.hpp"
#include "fabric/memory_region.hpp"

struct fid_cq;
struct fid_ep;
struct fid_eq;
struct fid_pep;

namespace netio::test {

using Bytes = std::vector<std::byte>;

class RawFabric {
 public:
  // Begins to connect to "ofi+tcp://127.0.0.1:port", with receives of 64 KiB posted.
  explicit RawFabric(std::string_view address);
  // Takes a request that came to `listening`.
  RawFabric(const detail::Fabric& fabric, const detail::Info& request);
  RawFabric(const RawFabric&) = delete;
  RawFabric& operator=(const RawFabric&) = delete;
  ~RawFabric();

  static constexpr std::size_t receives = 256;

  // Makes progress, as every look does.
  void turn();
  [[nodiscard]] bool connected();
  // The peer ended the connection, refused it, or it broke.
  [[nodiscard]] bool ended();
  // One message of these bytes, which are copied. False if the connection takes none any more.
  bool send(std::span<const std::byte> bytes);
  bool send(std::string_view text) { return send(std::as_bytes(std::span(text))); }
  // Each message that came so far.
  const std::deque<Bytes>& received();

  // Where the peer can read these bytes, which must stay.
  struct Place {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
  };
  Place lend(std::span<const std::byte> bytes);
  // Where the peer can write to these.
  Place open_to_writes(std::span<std::byte> bytes);
  // Writes a copy of these to the peer's memory, and tells it `word`. As send().
  bool write(Place to, std::span<const std::byte> bytes, std::uint32_t word);
  // The words that came with writes of the peer's.
  const std::deque<std::uint32_t>& words();

 private:
  void open(const detail::Info& info);
  void read_events();

  std::optional<detail::Fabric> own_fabric_;
  const detail::Fabric* fabric_;
  std::optional<detail::Domain> domain_;
  detail::FabricHandle<fid_eq> events_;
  detail::FabricHandle<fid_cq> completions_;
  std::deque<detail::MemoryRegion> lent_;
  std::deque<Bytes> sent_;
  std::vector<Bytes> buffers_;
  std::deque<Bytes> received_;
  std::deque<std::uint32_t> words_;
  detail::FabricHandle<fid_ep> endpoint_;
  bool connected_ = false;
  bool ended_ = false;
};

class RawFabricListener {
 public:
  RawFabricListener();
  ~RawFabricListener();
  RawFabricListener(const RawFabricListener&) = delete;
  RawFabricListener& operator=(const RawFabricListener&) = delete;

  [[nodiscard]] std::string address() const;
  // A connection that waits, if there is one.
  std::unique_ptr<RawFabric> accept();

 private:
  std::optional<detail::Fabric> fabric_;
  detail::FabricHandle<fid_eq> events_;
  detail::FabricHandle<fid_pep> endpoint_;
};

}  // namespace netio::test
