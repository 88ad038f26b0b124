// netio's roles: Push and Pull, and two ends of a Pair, three of them also with loans; Request and
// Reply; Publish and Subscribe.
#pragma once

#include <chrono>
#include <future>
#include <type_traits>
#include <utility>

#include <netio/netio.hpp>

#include "worker/worker.hpp"

namespace netio::bench {

// The context and socket options that a worker's options ask for.
[[nodiscard]] ContextOptions context_options(const Options& options);
[[nodiscard]] SocketOptions socket_options(const Options& options);
[[nodiscard]] std::string address_of(const Options& options);
// Of a relay: the same of its receiver.
[[nodiscard]] Options receiver_of(const Options& options);
// Of where it was bound; 0 for a name, which has none.
[[nodiscard]] std::uint16_t port_of(const Options& options, const std::string& address);

// What one socket sends before the others, the loop and the order to stop get their turn: a
// receiver that keeps up never makes it wait.
inline constexpr std::size_t bytes_in_turn = 1U << 20U;

// From this size on messages are lent to the wire instead of copied; in shared memory none, as the
// user's memory is not seen there.
inline constexpr std::size_t lent_bytes_min = 64U << 10U;
// How many messages are lent at once: as many as the floor has under way.
[[nodiscard]] std::size_t lent_messages(const Options& options);

// Turns the loop until a peer is connected. Throws if a ring was asked for and the connection goes
// without one: its figures would be those of another engine.
void await_peer(Context& context, const Socket& socket);
// Connects, and awaits the peer.
void connect(Context& context, Socket& socket, const Options& options);

// When the worker is told to stop, the loop does. Before worker.ready().
void stop_with(Worker& worker, Context& context);

// The plan of event building: of its ends alone.
[[nodiscard]] BuildPlan plan_of(const Options& options);
// The options of the build end of this number, or for those who connect to it.
[[nodiscard]] Options options_of_build_end(const Options& options, std::uint32_t number);
// The options of the manage end, or for those who connect to it.
[[nodiscard]] Options options_of_manage_end(const Options& options);
// How long an event waits for a unit, and the manager for a unit that is behind. A machine that is
// busy may leave a process without a core for a second, the default of both.
inline constexpr std::chrono::seconds time_for_units{10};

// Calls `question` in the loop, and returns its answer to the control thread.
template <typename Question>
[[nodiscard]] auto ask_loop(Context& context, Question&& question) {
  std::promise<std::invoke_result_t<Question>> answer;
  context.loop().post([&] { answer.set_value(question()); });
  return answer.get_future().get();
}

// Runs the loop until it is stopped: inside Asio if that is what is measured.
void run(const Options& options, Context& context);

void receive(Worker& worker);
void send(Worker& worker);
void exchange(Worker& worker);  // both at once
void send_paced(Worker& worker);
void receive_paced(Worker& worker);
void reply(Worker& worker);
void request(Worker& worker);
void send_loans(Worker& worker);
void reply_loans(Worker& worker);
void request_loans(Worker& worker);
void publish(Worker& worker);
void subscribe(Worker& worker);
void relay(Worker& worker);
void build(Worker& worker);
void readout(Worker& worker);
void manage(Worker& worker);
void node(Worker& worker);
// By other surfaces (--api): one role each. Queues have no round trips.
void run_c(Worker& worker);
void run_coroutine(Worker& worker);
void run_blocking(Worker& worker);
void run_queued(Worker& worker);

}  // namespace netio::bench
