// Loans: messages in the wire's own memory. Round trips of loans that neither end touches; and one
// way, the user's data copied into each.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "systems/netio/netio.hpp"

namespace netio::bench {

namespace {

// The first loans take their memory from the system, which for large ones is slow: by then each end
// has those that it takes turns with.
constexpr std::uint64_t trips_before_ready = 4;

// Otherwise it waits for what never comes.
void expect_writable_later(Status status) {
  if (status == Status::again || status == Status::not_connected) return;
  throw std::runtime_error("cannot allocate a loan: " + std::string(to_string(status)));
}

// What one end passes to the other.
class UntouchedLoans {
 public:
  UntouchedLoans(Pair& pair, Worker& worker)
      : pair_(pair), worker_(worker), stamp_(0, worker.options.verify) {
    pair_.on_writable([this] { owed_ = owed_ && !try_send(); });
  }
  UntouchedLoans(const UntouchedLoans&) = delete;
  UntouchedLoans& operator=(const UntouchedLoans&) = delete;

  // One; at once, or as soon as it can be.
  void send() {
    due_ns_ = now_ns();
    owed_ = !try_send();
  }
  [[nodiscard]] std::int64_t due_ns() const noexcept { return due_ns_; }

  void take(const MessageView& loan) noexcept {
    if (worker_.options.verify) return worker_.tally.take(loan.bytes());
    worker_.tally.take_untouched(loan.size());
  }

 private:
  bool try_send() {
    Status status = Status::ok;
    Message loan = pair_.allocate(worker_.options.message_bytes, status);
    if (!loan) {
      expect_writable_later(status);
      return false;
    }
    if (worker_.options.verify) stamp_.write(loan.writable_bytes());
    if (pair_.send(std::move(loan)) != Status::ok) return false;
    stamp_.advance();
    return true;
  }

  Pair& pair_;
  Worker& worker_;
  Stamp stamp_;
  std::int64_t due_ns_ = 0;
  bool owed_ = false;
};

// Copies the user's data into one loan after the other.
class CopyingSender {
 public:
  CopyingSender(Push& push, const Options& options)
      : push_(push), data_(options.message_bytes), stamp_(0, options.verify) {}

  // False once the socket takes no more.
  bool send_one() {
    if (!loan_ && !write_next()) return false;
    if (push_.send(std::move(loan_)) != Status::ok) return false;
    stamp_.advance();
    return true;
  }

 private:
  bool write_next() {
    Status status = Status::ok;
    loan_ = push_.allocate(data_.size(), status);
    if (!loan_) {
      expect_writable_later(status);
      return false;
    }
    const std::span<std::byte> bytes = loan_.writable_bytes();
    std::memcpy(bytes.data(), data_.data(), bytes.size());
    stamp_.write(bytes);
    return true;
  }

  Push& push_;
  const std::vector<std::byte> data_;
  Stamp stamp_;
  Message loan_;  // written, and not sent so far
};

}  // namespace

void reply_loans(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pair pair(context, socket_options(worker.options));
  UntouchedLoans loans(pair, worker);
  pair.on_message([&](const MessageView& loan) {
    loans.take(loan);
    loans.send();
  });
  worker.ready(port_of(worker.options, pair.bind(address_of(worker.options))));
  context.run();
  worker.join();
}

void request_loans(Worker& worker) {
  Context context(context_options(worker.options));
  stop_with(worker, context);
  Pair pair(context, socket_options(worker.options));
  UntouchedLoans loans(pair, worker);
  pair.on_message([&](const MessageView& loan) {
    const std::int64_t now = now_ns();
    worker.round_trip(now - loans.due_ns());
    loans.take(loan);
    loans.send();
  });
  connect(context, pair, worker.options);
  loans.send();
  while (worker.tally.messages() < trips_before_ready) {
    context.loop().run_once(std::chrono::seconds(1));
  }
  worker.ready();
  context.run();
  worker.join();
}

void send_loans(Worker& worker) {
  const Options& options = worker.options;
  Context context(context_options(options));
  stop_with(worker, context);
  Push push(context, socket_options(options));
  CopyingSender sender(push, options);
  bool writable = false;
  push.on_up([&](const PeerInfo&) { writable = true; });
  push.on_writable([&] { writable = true; });
  push.connect(address_of(options));
  while (!writable) context.loop().run_once(std::chrono::seconds(1));
  worker.ready();
  const std::size_t in_turn = std::max<std::size_t>(1, bytes_in_turn / options.message_bytes);
  while (!worker.stopping()) {
    for (std::size_t i = 0; writable && i < in_turn; ++i) writable = sender.send_one();
    context.loop().run_once(std::chrono::seconds(writable ? 0 : -1));
  }
  worker.join();
}

}  // namespace netio::bench
