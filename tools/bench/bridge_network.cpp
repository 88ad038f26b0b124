#include "bench/bridge_network.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "descriptor.hpp"

namespace netio::cli {

namespace {

constexpr const char* bridge = "bridge";
constexpr const char* interface_of_end = "eth0";

bool write_whole(const char* path, const std::string& text) {
  const Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.get() >= 0 && ::write(file.get(), text.data(), text.size()) == std::ssize(text);
}

std::string error_in(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

Descriptor any_socket() { return Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

bool ask(unsigned long what, ifreq& request) {
  return ::ioctl(any_socket().get(), what, &request) == 0;
}

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  return request;
}

bool set_up(const std::string& name) {
  ifreq request = request_for(name);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ask(SIOCSIFFLAGS, request);
}

bool add_to_bridge(const std::string& name) {
  ifreq request = request_for(bridge);
  request.ifr_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  return request.ifr_ifindex != 0 && ask(SIOCBRADDIF, request);
}

// A request to the kernel with attributes in attributes.
class LinkRequest {
 public:
  LinkRequest() {
    header().nlmsg_type = RTM_NEWLINK;
    header().nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK;
    header().nlmsg_len = NLMSG_LENGTH(0);
    add_interface();
  }

  // All interfaces begin with these bytes, which say nothing here.
  void add_interface() {
    const ifinfomsg nothing{};
    append(&nothing, sizeof nothing);
  }
  void add(unsigned short type, std::string_view text) {
    const std::size_t begin = begin_of(type);
    append(text.data(), text.size());
    constexpr char end_of_text = 0;
    append(&end_of_text, 1);
    end(begin);
  }
  void add(unsigned short type, std::uint32_t number) {
    const std::size_t begin = begin_of(type);
    append(&number, sizeof number);
    end(begin);
  }
  // Begins an attribute that has others. The answer is for end().
  [[nodiscard]] std::size_t begin_of(unsigned short type) {
    const std::size_t begin = header().nlmsg_len;
    const nlattr attribute{0, type};
    append(&attribute, sizeof attribute);
    return begin;
  }
  void end(std::size_t begin) {
    const auto bytes = static_cast<unsigned short>(header().nlmsg_len - begin);
    std::memcpy(bytes_.data() + begin, &bytes, sizeof bytes);
    header().nlmsg_len = NLMSG_ALIGN(header().nlmsg_len);
  }

  // 0, or the error of the kernel.
  [[nodiscard]] int send() const {
    const Descriptor kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (::send(kernel.get(), bytes_.data(), header().nlmsg_len, 0) < 0) return errno;
    alignas(nlmsghdr) std::array<char, 4096> answer{};
    const ssize_t bytes = ::recv(kernel.get(), answer.data(), answer.size(), 0);
    if (bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) return EPROTO;
    nlmsgerr error{};
    std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof error);
    return -error.error;
  }

 private:
  [[nodiscard]] nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(bytes_.data()); }
  [[nodiscard]] const nlmsghdr& header() const {
    return *reinterpret_cast<const nlmsghdr*>(bytes_.data());
  }
  void append(const void* from, std::size_t bytes) {
    std::memcpy(bytes_.data() + header().nlmsg_len, from, bytes);
    header().nlmsg_len += static_cast<unsigned>(bytes);
  }

  alignas(nlmsghdr) std::array<char, 512> bytes_{};
};

// A pair of interfaces: `name` here, and the other one in the namespace of this process.
int add_pair(const std::string& name, pid_t process) {
  LinkRequest request;
  request.add(IFLA_IFNAME, name);
  const std::size_t info = request.begin_of(IFLA_LINKINFO);
  request.add(IFLA_INFO_KIND, "veth");
  const std::size_t data = request.begin_of(IFLA_INFO_DATA);
  const std::size_t peer = request.begin_of(VETH_INFO_PEER);
  request.add_interface();
  request.add(IFLA_IFNAME, interface_of_end);
  request.add(IFLA_NET_NS_PID, static_cast<std::uint32_t>(process));
  request.end(peer);
  request.end(data);
  request.end(info);
  return request.send();
}

// The interface of a process that is gone is not removed at once, so each has a name of its own.
std::string next_name() {
  static unsigned count = 0;
  return fmt::format("end{}", count++);
}

}  // namespace

std::string enter_network_of_bridge() {
  const uid_t user = ::getuid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
    if (!write_whole("/proc/self/setgroups", "deny") ||
        !write_whole("/proc/self/uid_map", fmt::format("0 {} 1", user))) {
      return error_in("no user namespace");
    }
  } else if (const int error = errno; ::unshare(CLONE_NEWNET) != 0) {
    // With CAP_SYS_ADMIN no user namespace is needed.
    errno = error;
    return error_in("no user namespace");
  }
  if (::ioctl(any_socket().get(), SIOCBRADDBR, bridge) != 0) return error_in("no bridge");
  if (!set_up(bridge)) return error_in("no bridge");
  const std::string name = next_name();
  if (const int error = add_pair(name, ::getpid()); error != 0) {
    errno = error;
    return error_in("no virtual interfaces");
  }
  return add_to_bridge(name) ? std::string() : error_in("no interface on a bridge");
}

ExitCode skip_without_namespaces(Report& report, const std::string& why) {
  const std::string text = fmt::format("this machine permits no network namespaces: {}", why);
  const std::string advice =
      "Permit namespaces (sysctl user.max_user_namespaces, user.max_net_namespaces, "
      "kernel.unprivileged_userns_clone), "
      "in a container allow SYS_ADMIN; or leave out --namespaces.";
  report.publish(fmt::format("SKIPPED: {}\n  {}\n", text, advice), [&] {
    return nlohmann::ordered_json{{"complete", false}, {"skipped", text}, {"advice", advice}}.dump(
               2) +
           "\n";
  });
  return ExitCode::done;
}

std::unique_ptr<End> NetworkPlace::start(const std::string& name, const std::string& system,
                                         const std::vector<std::string>& arguments) {
  auto end = here_.start(name, system, arguments);
  const pid_t process = end->answer().at("namespace").get<pid_t>();
  const std::string here = next_name();
  if (const int error = add_pair(here, process); error != 0) {
    throw EndFailure(fmt::format("{}: no interface: {}", name, std::strerror(error)));
  }
  if (!add_to_bridge(here) || !set_up(here)) {
    throw EndFailure(fmt::format("{}: {}", name, error_in("no interface on the bridge")));
  }
  end->say("go on");
  return end;
}

}  // namespace netio::cli
