// UCX over shared memory: an active message each, handed to the receiver where it lies, or fetched
// if UCX thinks it large; up to `window` under way. Default settings otherwise.
#include <algorithm>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>
#include <vector>

#include "worker/descriptors.hpp"
#include "worker/unix_name.hpp"
#include "worker/worker.hpp"

namespace netio::bench {

namespace {

constexpr unsigned message_id = 1;

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK)
    throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

std::string name_of(const Options& options) { return "netio-bench-ucx/" + options.name; }

// A worker of UCX, and its one peer. What comes is given to `on_message`, in order.
class Ucx {
 public:
  using OnMessage = std::function<void(std::span<const std::byte>)>;

  explicit Ucx(const Options& options, OnMessage on_message)
      : on_message_(std::move(on_message)), sleeps_(options.wait == Wait::sleep) {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    check(ucp_config_modify(config, "TLS", "shm,self"), "ucp_config_modify");
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = UCP_FEATURE_AM | (sleeps_ ? UCP_FEATURE_WAKEUP : 0);
    const ucs_status_t made = ucp_init(&wanted, config, &context_);
    ucp_config_release(config);
    check(made, "ucp_init");
    ucp_worker_params_t how{};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &how, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = message_id;
    handler.cb = &Ucx::came;
    handler.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
  }
  Ucx(const Ucx&) = delete;
  Ucx& operator=(const Ucx&) = delete;

  // Tells the other end our address over the socket, and learns its own. The socket is taken.
  void meet(int socket) {
    ucp_address_t* ours = nullptr;
    std::size_t bytes = 0;
    check(ucp_worker_get_address(worker_, &ours, &bytes), "ucp_worker_get_address");
    if (::send(socket, ours, bytes, MSG_NOSIGNAL) < 0) fail("send");
    ucp_worker_release_address(worker_, ours);
    std::vector<std::byte> theirs(1U << 16U);
    if (recv(socket, theirs.data(), theirs.size(), 0) <= 0) {
      throw std::runtime_error("the other end is gone");
    }
    close(socket);
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address = reinterpret_cast<const ucp_address_t*>(theirs.data());
    check(ucp_ep_create(worker_, &to, &peer_), "ucp_ep_create");
  }

  // True if `message` is free again at once; else `free_again` is counted up when it is.
  bool send(std::span<const std::byte> message, std::size_t& free_again) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.send = [](void* request, ucs_status_t status, void* count) {
      check(status, "ucp_am_send_nbx");
      ++*static_cast<std::size_t*>(count);
      ucp_request_free(request);
    };
    how.user_data = &free_again;
    void* const request =
        ucp_am_send_nbx(peer_, message_id, nullptr, 0, message.data(), message.size(), &how);
    if (request == nullptr) return true;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "ucp_am_send_nbx");
    return false;
  }

  // Does what there is to do; then sleeps, if it is to, until there is more or somebody wakes it.
  void progress() {
    if (ucp_worker_progress(worker_) == 0 && sleeps_) ucp_worker_wait(worker_);
  }
  void poll() { ucp_worker_progress(worker_); }
  // From any thread.
  void wake() noexcept {
    if (sleeps_) ucp_worker_signal(worker_);
  }

 private:
  // A large message on its way here.
  struct Fetch {
    std::vector<std::byte> bytes;
    bool done = false;
    Ucx* owner = nullptr;
  };

  static ucs_status_t came(void* self, const void*, std::size_t, void* data, std::size_t bytes,
                           const ucp_am_recv_param_t* how) {
    auto& ucx = *static_cast<Ucx*>(self);
    if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      ucx.fetch(data, bytes);
      return UCS_INPROGRESS;
    }
    ucx.on_message_({static_cast<const std::byte*>(data), bytes});
    return UCS_OK;
  }

  void fetch(void* description, std::size_t bytes) {
    Fetch& fetch = fetches_.emplace_back();
    fetch.owner = this;
    if (!spare_.empty()) {
      fetch.bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    fetch.bytes.resize(bytes);
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* of) {
      check(status, "ucp_am_recv_data_nbx");
      ucp_request_free(request);
      auto& done = *static_cast<Fetch*>(of);
      done.done = true;
      done.owner->deliver();
    };
    how.user_data = &fetch;
    void* const request =
        ucp_am_recv_data_nbx(worker_, description, fetch.bytes.data(), bytes, &how);
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "ucp_am_recv_data_nbx");
    if (request != nullptr) return;
    fetch.done = true;
    deliver();
  }

  // They may be done in another order.
  void deliver() {
    while (!fetches_.empty() && fetches_.front().done) {
      on_message_(fetches_.front().bytes);
      spare_.push_back(std::move(fetches_.front().bytes));
      fetches_.pop_front();
    }
  }

  OnMessage on_message_;
  bool sleeps_;
  ucp_context_h context_ = nullptr;  // none is destroyed: the process ends
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h peer_ = nullptr;
  std::deque<Fetch> fetches_;
  std::vector<std::vector<std::byte>> spare_;
};

// The one peer's connection; -1 if the worker is to stop first.
int accept_one(int listener, Worker& worker) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  if (fd < 0 && !worker.stopping()) fail("accept");
  return fd;
}

void bind_and_run(Worker& worker, Ucx& ucx, const std::function<void()>& turn) {
  const int listener = listen_at_name(name_of(worker.options));
  worker.on_stop([&ucx, listener] {
    (void)shutdown(listener, SHUT_RDWR);  // ends an accept
    ucx.wake();
  });
  worker.ready();
  const int fd = accept_one(listener, worker);
  if (fd >= 0) {
    ucx.meet(fd);
    while (!worker.stopping()) turn();
  }
  worker.join();
}

void receive(Worker& worker) {
  Ucx ucx(worker.options, [&worker](std::span<const std::byte> m) { worker.tally.take(m); });
  bind_and_run(worker, ucx, [&ucx] { ucx.progress(); });
}

void send(Worker& worker) {
  const Options& options = worker.options;
  constexpr std::size_t messages_max = 64;
  constexpr std::size_t bytes_max = 4U << 20U;
  Ucx ucx(options, [](std::span<const std::byte>) {});
  worker.on_stop([&ucx] { ucx.wake(); });
  ucx.meet(connect_to_name(name_of(options)));
  worker.ready();
  Stamp stamp(options.connection_first, options.verify);
  std::vector<std::vector<std::byte>> messages(
      std::clamp<std::size_t>(bytes_max / options.message_bytes, 1, messages_max));
  for (auto& message : messages) message.resize(options.message_bytes);
  std::size_t sent = 0;  // of those that were not done at once
  std::size_t done = 0;
  while (!worker.stopping()) {
    if (options.idle || sent - done == messages.size()) {
      ucx.progress();
      continue;
    }
    std::vector<std::byte>& message = messages[sent % messages.size()];
    stamp.write(message);
    stamp.advance();
    if (!ucx.send(message, done)) ++sent;
    ucx.poll();
  }
  // The receiver may still read what is under way from this process.
  constexpr std::int64_t wait_ns_max = 5'000'000'000;
  for (const std::int64_t end = now_ns() + wait_ns_max; done != sent && now_ns() < end;) ucx.poll();
  worker.join();
}

void reply(Worker& worker) {
  std::vector<std::byte> back;
  bool owed = false;
  std::size_t sent = 0;
  std::size_t done = 0;
  Ucx ucx(worker.options, [&](std::span<const std::byte> message) {
    worker.tally.take(message);
    back.assign(message.begin(), message.end());
    owed = true;
  });
  bind_and_run(worker, ucx, [&] {
    ucx.progress();
    if (!owed) return;
    owed = false;
    if (!ucx.send(back, done)) ++sent;
    while (done != sent) ucx.poll();
  });
}

// In turns: an open loop's late request counts from its intended time.
void request(Worker& worker) {
  const Options& options = worker.options;
  bool returned = false;
  Ucx ucx(options, [&](std::span<const std::byte> message) {
    worker.tally.take(message);
    returned = true;
  });
  worker.on_stop([&ucx] { ucx.wake(); });
  ucx.meet(connect_to_name(name_of(options)));
  worker.ready();
  Stamp stamp(0, options.verify);
  std::vector<std::byte> message(options.message_bytes);
  const Pace pace(options.rate);
  std::size_t waiting = 0;
  std::size_t done = 0;
  for (std::uint64_t sent = 0; !worker.stopping(); ++sent) {
    const std::int64_t begin = pace.wait(sent, options.wait == Wait::sleep);
    stamp.write(message);
    stamp.advance();
    returned = false;
    if (!ucx.send(message, done)) ++waiting;
    while ((!returned || done != waiting) && !worker.stopping()) ucx.progress();
    if (returned) worker.round_trip(now_ns() - begin);
  }
  worker.join();
}

void run(Worker& worker) {
  if (worker.options.name.empty())
    throw std::runtime_error("ucx is measured in shared memory: --name");
  if (worker.options.connections != 1) throw std::runtime_error("one connection only");
  switch (worker.options.role) {
    case Role::receive:
      return receive(worker);
    case Role::send:
      return send(worker);
    case Role::reply:
      return reply(worker);
    case Role::request:
      return request(worker);
    case Role::publish:
    case Role::subscribe:
    case Role::relay:
    case Role::build:
    case Role::readout:
    case Role::manage:
    case Role::node:
      return;  // refused before
  }
}

}  // namespace

}  // namespace netio::bench

int main(int argc, char** argv) {
  return netio::bench::worker_main(argc, argv, "ucx", netio::bench::run, {.memory = true});
}
