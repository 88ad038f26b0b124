// A victim that asks, and one that answers: each request ends, in one way, and the books add up.
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "failing_allocator/scene.hpp"

namespace netio::test {
namespace {

// Those of a Request, by either end.
class Asker {
 public:
  // `victim`: memory fails while it asks.
  Asker(Request& request, bool victim) : request_(request), victim_(victim) {
    request.on_reply(disarmed([this](std::uint64_t id, const MessageView& answer) {
      if (answer.size() != small_message.size() && answer.size() != large_message.size() &&
          answer.segments().size() != 2) {
        give_up("an answer of another size");
      }
      end(id);
      ++answered;
    }));
    request.on_failed(disarmed([this](std::uint64_t id, Outcome) { end(id); }));
    request.on_writable(disarmed([] {}));
    request.on_down(disarmed([](const PeerInfo&, const Down&) {}));
  }

  void ask(int count) {
    for (int i = 0; i < count; ++i) {
      Ask how;
      if (i % 3 == 1) how.within = 2s;
      how.idempotent = i % 4 == 2;
      std::uint64_t id = 0;
      Status status = Status::ok;
      {
        const Armed while_asking(victim_);
        status = i % 5 == 4
                     ? request_.send_segments(
                           {std::string_view("head"), std::string_view(large_message)}, id, how)
                     : request_.send(i % 4 == 3 ? large_message : small_message, id, how);
      }
      if (status == Status::ok) open_.push_back(id);
      if (status == Status::ok && i % 7 == 6) cancel(id);
    }
  }
  void ask_all(int count) {
    for (int i = 0; i < count; ++i) {
      Ask how;
      if (i % 2 == 1) how.within = 2s;
      how.idempotent = i % 3 == 1;
      ToAll answer;
      {
        const Armed while_asking(victim_);
        answer = request_.send_to_all(i % 4 == 3 ? large_message : small_message, asked_, how);
      }
      if (asked_.size() != answer.peers) give_up("not as many were asked as the answer says");
      for (const PeerRequest& each : asked_) open_.push_back(each.id);
    }
  }
  // All have ended.
  [[nodiscard]] bool idle() const noexcept { return open_.empty(); }
  void check() const {
    const RequestBooks books = request_.requests();
    std::uint64_t all = books.under_way;
    for (const std::uint64_t ended : books.ended) all += ended;
    if (books.asked != all || books.under_way != open_.size()) {
      give_up("the books of requests do not add up");
    }
  }

  std::uint64_t answered = 0;

 private:
  void cancel(std::uint64_t id) {
    const Armed while_asking(victim_);
    if (request_.cancel(id) == Status::ok) {
      const Armed no_more(false);
      end(id);
    }
  }
  void end(std::uint64_t id) {
    if (std::erase(open_, id) != 1) give_up("a request ended that was not under way");
  }

  Request& request_;
  bool victim_;
  std::vector<std::uint64_t> open_;
  std::vector<PeerRequest> asked_;
};

// Answers some at once, some later, and gives some up.
class Answerer {
 public:
  Answerer(Reply& reply, bool victim) : victim_(victim) {
    reply.on_request(disarmed([this](const MessageView& request, ReplyTo to) {
      ++count_;
      if (count_ % 6 == 5) return;  // given up
      if (count_ % 3 == 2) return kept_.push_back({std::move(to), request.size()});
      answer(to, request.size());
      // It may have lacked memory.
      if (to) kept_.push_back({std::move(to), request.size()});
    }));
    reply.on_writable(disarmed([] {}));
    reply.on_down(disarmed([](const PeerInfo&, const Down&) {}));
  }
  void answer_kept() {
    for (auto& [to, bytes] : kept_) answer(to, bytes);
    std::erase_if(kept_, [](const auto& kept) { return !kept.first || !kept.first.wanted(); });
  }

 private:
  void answer(ReplyTo& to, std::size_t bytes) {
    const Armed while_answering(victim_);
    const Status status =
        bytes > large_message.size()
            ? to.send_segments({std::string_view("head"), std::string_view(large_message)})
            : to.send(
                  std::string_view(bytes == small_message.size() ? small_message : large_message));
    if (status == Status::ok && to) give_up("an answer was taken, and may be given again");
  }

  bool victim_;
  std::uint64_t count_ = 0;
  std::vector<std::pair<ReplyTo, std::size_t>> kept_;
};

void exchange(Scene& scene, Asker& asker, Answerer& answerer) {
  for (int i = 0; i < 3; ++i) {
    asker.ask(8);
    asker.ask_all(4);
    scene.turns(2);
    answerer.answer_kept();
    scene.turn();
  }
  asker.check();
}

// With all memory there is, everything ends, and what is asked afterwards is answered.
void finish(Scene& scene, Asker& asker, Answerer& answerer) {
  scene.relent();
  const auto goes_on = [&] {
    answerer.answer_kept();
    return asker.idle();
  };
  scene.must(goes_on, "all requests end");
  const std::uint64_t before = asker.answered;
  scene.must(
      [&] {
        if (asker.idle()) asker.ask(2);
        answerer.answer_kept();
        return asker.answered > before;
      },
      "a request is answered");
  scene.must(goes_on, "the last requests end");
  asker.check();
}

}  // namespace

void ask(Scene& scene) {
  auto reply = std::make_unique<Reply>(scene.other, ReplyOptions{}, hasty());
  auto answerer = std::make_unique<Answerer>(*reply, false);
  const std::string address = reply->bind(scene.address);
  Request request(scene.victim, {}, hasty());
  Asker asker(request, true);
  while (!scene.call([&] { request.connect(address); })) {
  }
  scene.must([&] { return request.peers_connected() == 1; }, "it is connected");
  exchange(scene, asker, *answerer);
  answerer.reset();
  reply.reset();
  scene.turns(10);
  asker.ask(4);
  reply = std::make_unique<Reply>(scene.other, ReplyOptions{}, hasty());
  answerer = std::make_unique<Answerer>(*reply, false);
  (void)reply->bind(address);
  scene.must([&] { return request.peers_connected() == 1; }, "it is back");
  exchange(scene, asker, *answerer);
  finish(scene, asker, *answerer);
  scene.check(request);
}

void answer(Scene& scene) {
  Reply reply(scene.victim, {}, hasty());
  Answerer answerer(reply, true);
  const std::string address = reply.bind(scene.address);
  Request good(scene.other, {}, hasty());
  Asker asker(good, false);
  good.connect(address);
  scene.must([&] { return good.peers_connected() == 1; }, "it is connected");
  exchange(scene, asker, answerer);
  {
    Request passing(scene.other, {}, hasty());
    Asker another(passing, false);
    passing.connect(address);
    scene.must([&] { return passing.peers_connected() == 1 && good.peers_connected() == 1; },
               "both are connected");
    exchange(scene, another, answerer);
    exchange(scene, asker, answerer);
  }
  scene.turns(20);
  finish(scene, asker, answerer);
  const ReplyBooks books = reply.requests();
  if (books.requests != books.answered + books.not_answered + books.unwanted + books.open) {
    give_up("the books of answers do not add up");
  }
  scene.check(reply);
}

}  // namespace netio::test
