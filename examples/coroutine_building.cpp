// Event building by coroutines: two read-out units and a builder, on one thread.
#include <cstdio>
#include <span>
#include <string>

#include <netio/coroutine.hpp>

netio::Task<> build(netio::co::BuilderUnit& builder) {
  std::size_t bytes = 0;
  netio::co::Built built = co_await builder.receive();
  for (; built; built = co_await builder.receive()) bytes += built->bytes();
  if (built.run == nullptr) co_return;  // the builder was closed
  std::printf("run 1: %zu events, %zu bytes\n", built.run->complete, bytes);
}

netio::Task<> read_out(netio::co::ReadoutUnit& unit, netio::Context& context, int& left) {
  for (netio::EventId event{1, 0}; event.number < 1000; event = event.next()) {
    const std::string hits = "hits of event " + std::to_string(event.number);
    if (co_await unit.send(event, std::as_bytes(std::span(hits))) != netio::Status::ok) co_return;
  }
  unit.advance(netio::end_of_run(1));  // the builder need not wait for more
  const netio::ReadoutBooks books = co_await unit.finish();
  std::printf("%zu of %zu settled\n", books.settled, books.sent);
  if (--left == 0) context.stop();
}

int main() {
  netio::Context context;
  const netio::BuildPlan plan{.sources = 2};
  netio::co::BuilderUnit builder(context, {.plan = plan});
  netio::co::ReadoutUnit first(context, {.plan = plan, .source = 0});
  netio::co::ReadoutUnit second(context, {.plan = plan, .source = 1});
  const std::string address = builder.bind("tcp://127.0.0.1:0");
  for (auto* unit : {&first, &second}) unit->connect(0, address);
  netio::spawn(context, build(builder));
  int left = 2;
  netio::spawn(context, read_out(first, context, left));
  netio::spawn(context, read_out(second, context, left));
  context.run();
}
