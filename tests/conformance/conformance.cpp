#include "conformance/conformance.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <regex.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "support/raw_tcp.hpp"

namespace netio::test {

namespace {

std::string never_absent() { return {}; }

std::string why_no_ipv6() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::string("no IPv6 here: ") + std::strerror(errno);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const int answer =
      ::bind(fd, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);  // NOLINT
  const int error = errno;
  ::close(fd);
  if (answer != 0) return std::string("no address ::1 here: ") + std::strerror(error);
  return {};
}

std::string why_no_fabric() {
#ifdef NETIO_WITH_FABRIC
  return {};
#else
  return "built without libfabric";
#endif
}

std::string why_no_fabric_on_ipv6() {
  const std::string why = why_no_fabric();
  return why.empty() ? why_no_ipv6() : why;
}

// An RDMA device is where the environment says: its address, a number.
std::string why_no_verbs() {
  const std::string why = why_no_fabric();
  if (!why.empty()) return why;
  return std::getenv("NETIO_TEST_VERBS") != nullptr
             ? ""
             : "NETIO_TEST_VERBS names no RDMA device's address (tests/rdma/ runs with one)";
}

// NETIO_TEST_ROWS, an extended regular expression, names the rows to run; without it all rows run.
// Every suite asks for its rows when the program starts: under a sanitizer, std::regex takes a
// second of that.
class WantedRows {
 public:
  WantedRows() : given_(std::getenv("NETIO_TEST_ROWS")) {
    if (given_ != nullptr && ::regcomp(&pattern_, given_, REG_EXTENDED | REG_NOSUB) != 0) {
      throw std::invalid_argument(std::string("NETIO_TEST_ROWS is no regular expression: ") +
                                  given_);
    }
  }
  ~WantedRows() {
    if (given_ != nullptr) ::regfree(&pattern_);
  }
  WantedRows(const WantedRows&) = delete;
  WantedRows& operator=(const WantedRows&) = delete;

  [[nodiscard]] bool have(const Row& row) const {
    return given_ == nullptr || ::regexec(&pattern_, row.name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  const char* given_;
  regex_t pattern_{};
};

bool is_wanted(const Row& row) {
  static const WantedRows wanted;
  return wanted.have(row);
}

std::string verbs_address() {
  const char* const host = std::getenv("NETIO_TEST_VERBS");
  return "verbs://" + std::string(host != nullptr ? host : "127.0.0.1") + ":0";
}

std::vector<Row> transports() {
  std::vector<Row> rows = {
      {"tcp_ipv4", "tcp://" + own_host() + ":0", never_absent, false},
      {"tcp_ipv6", "tcp://[::1]:0", why_no_ipv6, true},
      {"tcp_name", "tcp://localhost:0", never_absent, true},
      {.name = "ofi_tcp",
       .address = "ofi+tcp://" + own_host() + ":0",
       .why_absent = why_no_fabric,
       .pages_per_connection = 6},
      {.name = "ofi_tcp_ipv6",
       .address = "ofi+tcp://[::1]:0",
       .why_absent = why_no_fabric_on_ipv6,
       .spelling = true,
       .pages_per_connection = 6},
      {.name = "ofi_tcp_name",
       .address = "ofi+tcp://localhost:0",
       .why_absent = why_no_fabric,
       .spelling = true,
       .pages_per_connection = 6},
  };
  rows.push_back({.name = "ofi_tcp_ring",
                  .address = "ofi+tcp://" + own_host() + ":0?engine=ring&slots=32",
                  .why_absent = why_no_fabric,
                  .two_modes = true,
                  .takes_much = true,
                  .pages_per_connection = 6});
  rows.push_back(
      {.name = "shm", .address = "shm://*", .why_absent = never_absent, .read_in_place = true});
  rows.push_back({.name = "inproc",
                  .address = "inproc://*",
                  .why_absent = never_absent,
                  .one_mode = true,
                  .read_in_place = true});
  // What it goes over on one host.
  rows.push_back({.name = "netio",
                  .address = "netio://" + own_host() + ":0",
                  .why_absent = never_absent,
                  .one_mode = true,
                  .read_in_place = true});
  if (why_no_verbs().empty()) {
    rows.push_back({.name = "verbs",
                    .address = verbs_address(),
                    .why_absent = never_absent,
                    .pages_per_connection = 6});
    rows.push_back({.name = "verbs_ring",
                    .address = verbs_address() + "?engine=ring&slots=32",
                    .why_absent = never_absent,
                    .two_modes = true,
                    .takes_much = true,
                    .pages_per_connection = 6});
  }
  return rows;
}

TEST(Rows, verbs_is_one_of_them) {
  const std::string why = why_no_verbs();
  if (!why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(std::ranges::count(transports(), "verbs", &Row::name), 1);
}

}  // namespace

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::vector<Row> every_transport() {
  std::vector<Row> rows = transports();
  std::erase_if(rows, [](const Row& row) { return row.spelling || !is_wanted(row); });
  return rows;
}

std::vector<Row> every_mode() {
  std::vector<Row> rows = every_mode_and_spelling();
  std::erase_if(rows, [](const Row& row) { return row.spelling; });
  return rows;
}

std::vector<Row> every_mode_and_spelling() {
  std::vector<Row> rows;
  for (const Row& transport : transports()) {
    if (transport.spelling || transport.one_mode) {
      rows.push_back(transport);
      continue;
    }
    for (const Mode mode : {Mode::buffered, Mode::unbuffered}) {
      for (const std::size_t page_kib : {4U, 64U}) {
        if (transport.two_modes && (mode == Mode::buffered) == (page_kib == 4)) continue;
        Row row = transport;
        row.name += mode == Mode::buffered ? "_buffered_" : "_unbuffered_";
        row.name += std::to_string(page_kib) + "k";
        row.mode = mode;
        row.page_bytes = page_kib << 10U;
        rows.push_back(row);
      }
    }
  }
  std::erase_if(rows, [](const Row& row) { return !is_wanted(row); });
  return rows;
}

std::vector<Row> every_mode_of_tcp() {
  std::vector<Row> rows = every_mode();
  std::erase_if(rows, [](const Row& row) { return !row.name.starts_with("tcp_ipv4"); });
  return rows;
}

std::string row_name(const testing::TestParamInfo<Row>& info) { return info.param.name; }

ContextOptions small_context(std::size_t page_bytes, std::size_t pool_bytes) {
  ContextOptions options;
  options.page_bytes = page_bytes;
  options.send_pool_bytes = options.receive_pool_bytes = pool_bytes;
  return options;
}

// Room for the connections of the tests that have most of them.
ContextOptions small_context(const Row& row, std::size_t pool_bytes) {
  constexpr std::size_t connections_most = 48;
  ContextOptions options = small_context(row.page_bytes, pool_bytes);
  options.receive_pool_bytes =
      std::max(pool_bytes, connections_most * row.pages_per_connection * row.page_bytes);
  return options;
}

Conformance::Conformance(std::size_t pool_bytes)
    : here_(small_context(GetParam(), pool_bytes)),
      there_(small_context(GetParam(), pool_bytes)),
      pump_{&here_, &there_} {}

void Conformance::SetUp() {
  const std::string why = GetParam().why_absent();
  if (!why.empty()) GTEST_SKIP() << why;
}

std::string Conformance::bind(Socket& socket) const {
  const std::string bound = socket.bind(GetParam().address);
  // The row's own spelling of the host, with the port that was found.
  const std::string& asked = GetParam().address;
  if (asked.ends_with("/*")) return bound;
  const std::string options = asked.substr(std::min(asked.find('?'), asked.size()));
  return asked.substr(0, asked.rfind(':')) + bound.substr(bound.rfind(':')) + options;
}

void Conformance::join(Socket& bound, Socket& connecting) {
  const std::size_t bound_peers = bound.peers_connected();
  const std::size_t connecting_peers = connecting.peers_connected();
  connecting.connect(bind(bound));
  ASSERT_SOON(pump_, bound.peers_connected() == bound_peers + 1 &&
                         connecting.peers_connected() == connecting_peers + 1);
}

Status Conformance::send(Sending& socket, std::span<const std::byte> message, std::uint64_t tag) {
  Status status = Status::again;
  EXPECT_SOON(pump_, (status = socket.send(message, tag)) != Status::again &&
                         status != Status::not_connected);
  return status;
}

void Conformance::send_numbered(Sending& socket, std::uint64_t first, std::uint64_t last,
                                const std::function<std::size_t(std::uint64_t)>& size_of) {
  std::vector<std::byte> message;
  for (std::uint64_t number = first; number < last; ++number) {
    message.resize(size_of(number));
    fill_payload(message, number);
    ASSERT_EQ(send(socket, message), Status::ok) << "message " << number;
  }
}

// The kernel's buffers grow while the peer does not read: fill until nothing moves any more. A
// sender is told of room only when a third of its buffer is free, which may take many turns.
std::uint64_t Conformance::count_until_again(const std::function<Status(std::uint64_t)>& send) {
  std::uint64_t taken = 0;
  int refusals = 0;
  while (refusals < 20) {
    const Status status = send(taken);
    if (status == Status::ok) {
      ++taken;
      refusals = 0;
    } else {
      EXPECT_EQ(status, Status::again);
      if (status != Status::again) break;
      ++refusals;
      pump_.turns(8);
      pump_.turn();
    }
  }
  return taken;
}

std::uint64_t Conformance::send_until_again(Sending& socket, std::size_t size) {
  std::vector<std::byte> message(size);
  return count_until_again([&](std::uint64_t number) {
    fill_payload(message, number);
    return socket.send(message);
  });
}

void Conformance::settle(const Socket& socket) {
  ASSERT_SOON(pump_, socket.books().unsettled() == 0) << testing::PrintToString(socket.books());
}

SocketOptions Conformance::options() const {
  SocketOptions options;
  options.mode = GetParam().mode;
  return options;
}

SocketOptions Conformance::eager(SocketOptions options) {
  options.reconnect_after_min = 2ms;
  options.reconnect_after_max = 20ms;
  return options;
}

SocketOptions Conformance::patient(SocketOptions options) {
  options.flush_when_idle = false;
  options.flush_after = 1h;
  return options;
}

SocketOptions Conformance::keeping(std::size_t resume_bytes_max) const {
  SocketOptions options = eager();
  options.resume_bytes_max = resume_bytes_max;
  return options;
}

std::size_t Conformance::size_of(std::uint64_t number) {
  if (number % 200 == 99) return 150'000;
  if (number % 50 == 20) return 30'000;
  return 10 + number * 31 % 900;
}

}  // namespace netio::test
