// A network between two hosts that fails, without a proxy: two processes in network namespaces of
// their own, with a cable between them. The cable is pulled, one direction carries nothing, a
// process is stopped: for less and for more time than a silence may last. Both sides send all the
// time. Nothing is lost, nothing comes twice, everything in order. At last one is killed.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cuts/cuts.hpp"
#include "support/in_a_child.hpp"
#include "support/own_network.hpp"
#include "support/seen.hpp"

namespace netio::test {
namespace {

constexpr const char* cable_here = "nc0";
constexpr const char* cable_there = "nc1";
constexpr const char* address_there = "tcp://10.203.0.2:5000";

bool command(const std::string& words) {
  return std::system((words + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT: a test, one thread
}

bool plug_in(const std::string& cable, const std::string& number) {
  return command("ip addr add " + number + "/24 dev " + cable) &&
         command("ip link set " + cable + " up");
}

// Empty if there is no such interface.
std::string hardware_address(const std::string& cable) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  cable.copy(request.ifr_name, IFNAMSIZ - 1);
  const bool got = ::ioctl(fd, SIOCGIFHWADDR, &request) == 0;
  ::close(fd);
  std::string text;
  for (int i = 0; got && i < 6; ++i) {
    std::array<char, 4> byte{};
    (void)std::snprintf(
        byte.data(), byte.size(), "%02x",
        static_cast<unsigned>(static_cast<unsigned char>(request.ifr_hwaddr.sa_data[i])));
    text += (i == 0 ? "" : ":") + std::string(byte.data());
  }
  return text;
}

// What is sent to `number` leaves for nobody, while it lasts.
void send_astray(const std::string& cable, const std::string& number, const std::string& real,
                 bool astray) {
  (void)command("ip neigh replace " + number + " lladdr " + (astray ? "02:00:00:00:00:99" : real) +
                " nud permanent dev " + cable);
}

SocketOptions over_a_bad_network() {
  SocketOptions options = resuming(Mode::buffered, std::size_t{4} << 20U);
  options.heartbeat_after = std::chrono::milliseconds(40);
  return options;
}

// Numbered messages of one direction, sent as fast as they are taken.
class End {
 public:
  explicit End(Context& context) : pair(context, over_a_bad_network()) {
    pair.on_message([this](const MessageView& message) {
      if (message.tag() != taken || !is_payload(message.bytes(), taken)) ++wrong;
      ++taken;
    });
    pair.on_down([this](const PeerInfo& peer, const Down&) { lost += peer.was_up ? 1U : 0U; });
  }
  void send_some() {
    for (int i = 0; i < 20; ++i) {
      if (pair.send(payload(sent, sent * 37 % 3000), sent) != Status::ok) return;
      ++sent;
    }
  }
  Pair pair;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::uint64_t wrong = 0;
  std::uint64_t lost = 0;
};

// The other host sends and receives until its orders end. They are: s, stop sending; a and r, send
// packets astray, and right again; q, report.
struct Report {
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::uint64_t wrong = 0;
  std::uint64_t settled = 0;
};

int be_the_other(int orders, int reports) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char go = 0;
  if (::unshare(CLONE_NEWNET) != 0 || ::write(reports, &go, 1) != 1) return not_possible;
  std::string hardware;
  if (::read(orders, &go, 1) != 1 || !plug_in(cable_there, "10.203.0.2")) return not_possible;
  std::array<char, 18> text{};
  if (::read(orders, text.data(), 17) != 17) return not_possible;
  hardware = text.data();
  Context context(context_options());
  Pump pump{&context};
  End end(context);
  end.pair.bind(address_there);
  const std::string own = hardware_address(cable_there);
  if (::write(reports, own.data(), own.size()) != 17) return 1;
  (void)::fcntl(orders, F_SETFL, O_NONBLOCK);
  for (bool sending = true;;) {
    if (sending) end.send_some();
    pump.turn();
    char order = 0;
    const ssize_t got = ::read(orders, &order, 1);
    if (got == 0) return 0;
    if (got < 0) continue;
    if (order == 's') sending = false;
    if (order == 'a' || order == 'r') {
      send_astray(cable_there, "10.203.0.1", hardware, order == 'a');
    }
    if (order != 'q') continue;
    const Report report{end.sent, end.taken, end.wrong,
                        end.pair.books().acknowledged == end.sent ? 1U : 0U};
    if (::write(reports, &report, sizeof report) != sizeof report) return 1;
  }
}

class Hosts {
 public:
  // False if this machine lets no process have networks of its own, or has no command for them.
  bool begin() {
    std::array<int, 2> orders{};
    std::array<int, 2> reports{};
    if (!enter_own_network() || ::pipe(orders.data()) != 0 || ::pipe(reports.data()) != 0) {
      return false;
    }
    other_ = ::fork();
    if (other_ == 0) {
      ::close(orders[1]);
      ::close(reports[0]);
      ::_exit(be_the_other(orders[0], reports[1]));
    }
    ::close(orders[0]);
    ::close(reports[1]);
    orders_ = orders[1];
    reports_ = reports[0];
    char byte = 0;
    if (::read(reports_, &byte, 1) != 1) return false;
    const std::string here(cable_here);
    const bool cabled = command("ip link add " + here + " type veth peer name " + cable_there +
                                " netns " + std::to_string(other_)) &&
                        plug_in(here, "10.203.0.1");
    if (!cabled || ::write(orders_, &byte, 1) != 1) return false;
    const std::string hardware = hardware_address(here);
    std::array<char, 18> theirs{};
    if (::write(orders_, hardware.data(), 17) != 17 || ::read(reports_, theirs.data(), 17) != 17) {
      return false;
    }
    hardware_there_ = theirs.data();
    return true;
  }
  [[nodiscard]] const std::string& hardware_there() const noexcept { return hardware_there_; }
  void order(char what) const { (void)!::write(orders_, &what, 1); }
  [[nodiscard]] Report report() const {
    order('q');
    Report report;
    (void)!::read(reports_, &report, sizeof report);
    return report;
  }
  [[nodiscard]] pid_t other() const noexcept { return other_; }
  ~Hosts() {
    if (other_ <= 0) return;
    ::kill(other_, SIGKILL);
    ::waitpid(other_, nullptr, 0);
  }

 private:
  pid_t other_ = -1;
  int orders_ = -1;
  int reports_ = -1;
  std::string hardware_there_;
};

enum class Fault : std::uint8_t { cable, from_here, from_there, stopped, count_ };

class Trial {
 public:
  Trial() : end_(context_) {}

  bool run(std::uint64_t outages) {
    if (!hosts_.begin()) ::_exit(not_possible);
    end_.pair.connect(address_there);
    std::array<std::uint64_t, static_cast<std::size_t>(Fault::count_)> done{};
    for (std::uint64_t i = 0; i < outages; ++i) {
      if (!flow()) return fail("nothing arrives after outage " + std::to_string(i));
      const auto fault = static_cast<Fault>(i % done.size());
      ++done[i % done.size()];
      set(fault, true);
      run_for(std::chrono::milliseconds(10 + random_.below(400)));
      set(fault, false);
    }
    hosts_.order('s');
    Report there;
    const auto settled = [&] {
      there = hosts_.report();
      return there.settled != 0 && end_.pair.books().acknowledged == end_.sent;
    };
    if (!pump_.until(settled, "settled", soon_max)) return fail("it does not settle");
    if (there.wrong + end_.wrong != 0) return fail("messages are lost, or come twice");
    if (there.taken != end_.sent || end_.taken != there.sent) return fail("counts differ");
    std::printf(
        "cuts: two hosts: %llu outages (cable pulled, nothing from here, nothing from there, "
        "process stopped), %llu connections lost, %llu and %llu messages, none lost (seed %llu)\n",
        static_cast<unsigned long long>(outages), static_cast<unsigned long long>(end_.lost),
        static_cast<unsigned long long>(end_.sent), static_cast<unsigned long long>(there.sent),
        static_cast<unsigned long long>(seed()));
    return dies();
  }

 private:
  // Killed, it takes what was on its way along: that has its place.
  bool dies() {
    const auto up = [&] { return end_.pair.peers_connected() == 1; };
    if (!pump_.until(up, "connected", soon_max)) return fail("it does not come back");
    end_.send_some();
    end_.pair.flush();
    ::kill(hosts_.other(), SIGKILL);
    const auto gone = [&] { return end_.pair.peers_connected() == 0; };
    if (!pump_.until(gone, "lost", soon_max)) return fail("a killed peer is not told");
    const Books books = end_.pair.books();
    if (!add_up(books)) return fail("the books do not add up");
    end_.pair.close(std::chrono::milliseconds(0));
    return pump_.until([&] { return end_.pair.closed(); }, "closed", soon_max) &&
           add_up(end_.pair.books());
  }
  void set(Fault fault, bool on) {
    switch (fault) {
      case Fault::cable:
        (void)command(std::string("ip link set ") + cable_here + (on ? " down" : " up"));
        break;
      case Fault::from_here:
        send_astray(cable_here, "10.203.0.2", hosts_.hardware_there(), on);
        break;
      case Fault::from_there:
        hosts_.order(on ? 'a' : 'r');
        break;
      default:
        ::kill(hosts_.other(), on ? SIGSTOP : SIGCONT);
        break;
    }
  }
  void run_for(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      end_.send_some();
      pump_.turn();
    }
  }
  // In both directions, for a while.
  bool flow() {
    const std::uint64_t taken = end_.taken + 1000;
    const std::uint64_t acknowledged = end_.pair.books().acknowledged + 1000;
    const auto flows = [&] {
      end_.send_some();
      return end_.taken >= taken && end_.pair.books().acknowledged >= acknowledged;
    };
    return static_cast<bool>(pump_.until(flows, "data flows", soon_max));
  }

  Hosts hosts_;
  Context context_{context_options()};
  Pump pump_{&context_};
  End end_;
  Random random_{seed()};
};

TEST(TwoHosts, lose_nothing_whatever_the_network_does) {
  const int code = in_a_child([] { return Trial().run(cuts_wanted() >= 500 ? 100 : 12) ? 0 : 1; });
  if (code == not_possible) GTEST_SKIP() << "no networks of one's own here, or no command ip";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace netio::test
