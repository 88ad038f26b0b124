// Whatever a peer writes into the memory it shares, while the attacked loop turns: no crash, no
// read outside of that memory, that connection ended, and good peers served before and after.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <netio/netio.hpp>

#include "base/file_descriptor.hpp"
#include "base/url.hpp"
#include "memory/shared_memory.hpp"
#include "transport/shm/board.hpp"
#include "transport/shm/unix_socket.hpp"
#include "wire/control.hpp"
#include "wire/frame.hpp"
#include "wire/hello.hpp"

namespace {

using namespace std::chrono_literals;
using namespace netio::detail;

constexpr std::size_t memory_bytes = 64U << 10U;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "shm_fuzz: %s\n", what);
  std::abort();
}

// What is left of the input; zeros when it is spent.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool spent() const { return size_ == 0; }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    copy_to(&value, bytes);
    return value;
  }
  void copy_to(void* to, std::size_t bytes) {
    bytes = std::min(bytes, size_);
    std::memcpy(to, data_, bytes);
    data_ += bytes;
    size_ -= bytes;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// The attacker's end: what it shares, and what it sees of the other's.
class Attacker {
 public:
  Attacker(const std::string& address, WirePattern pattern, std::uint64_t session)
      : socket_(make_unix_socket()),
        board_(SharedMemory::create("fuzz board", sizeof(ShmBoard), sizeof(ShmBoard))),
        memory_(SharedMemory::create("fuzz pages", memory_bytes, memory_bytes)),
        ours_(*reinterpret_cast<ShmBoard*>(board_.bytes().data())) {
    const UnixAddress to = UnixAddress::of("fuzz", parse_url(address, UrlForm::name));
    require(connect(socket_.get(), to.get(), to.bytes) == 0, "cannot connect");
    std::array<int, 2> ends{};
    require(pipe(ends.data()) == 0, "no pipe");
    const FileDescriptor reading(ends[0]);
    const FileDescriptor writing(ends[1]);
    hello_.pattern = pattern;
    hello_.page_bytes_max = 64U << 10U;
    hello_.message_bytes_max = 1U << 20U;
    hello_.run.fill(1);
    hello_.stream.fill(2);
    std::memcpy(hello_.run.data(), &session, sizeof session);
    std::memcpy(hello_.stream.data(), &session, sizeof session);
    hello_.epoch = 1;
    const std::array<int, 3> passed{board_.fd(), memory_.fd(), writing.get()};
    say_hello(passed);
  }

  [[nodiscard]] bool answered() {
    if (their_board_) return true;
    std::array<std::byte, hello_bytes_max> bytes;
    UnixMessage message;
    if (receive_message(socket_.get(), bytes, message, 3) != 0) return false;
    require(message.passed.size() == 3, "not greeted");
    their_board_.emplace(
        SharedMemory::open(std::move(message.passed[0]), sizeof(ShmBoard), 2 * sizeof(ShmBoard)));
    say_hello({});  // the third of the greeting
    Hello theirs;
    require(parse({bytes.data(), message.bytes}, theirs).state == HelloParse::done, "no hello");
    confirm(theirs.nonce);
    return true;
  }

  // One thing that a peer can do, as the input says.
  void act(Input& input) {
    switch (input.number(1) % 10) {
      case 0:
        post_sound(input.number(2));
        break;
      case 1:
        post_anything(input);
        break;
      case 2: {
        const std::size_t at = input.number(2) % (sizeof(ShmBoard) / 8) * 8;
        input.copy_to(board_.bytes().data() + at, 8);
        break;
      }
      case 3: {
        const std::size_t at = input.number(2) % (memory_bytes / 8) * 8;
        input.copy_to(memory_.bytes().data() + at, 8);
        break;
      }
      case 4:
        ours_.sleep.store(static_cast<std::uint32_t>(input.number(4)));
        break;
      case 5:
        ours_.consumed.store(input.number(8));
        break;
      case 6:
        ours_.returns[input.number(2) % shm_pages].store(
            static_cast<std::uint32_t>(input.number(4)));
        break;
      case 7:
        ours_.returned.store(input.number(8));
        break;
      case 8:
        take_one(true);
        break;
      default:
        take_one(false);
        break;
    }
    const std::byte ring{};
    (void)!send(socket_.get(), &ring, sizeof ring, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

 private:
  void say_hello(std::span<const int> passed) {
    std::array<std::byte, hello_bytes_max> bytes;
    const std::size_t encoded = encode(hello_, bytes);
    require(send_message(socket_.get(), {bytes.data(), encoded}, passed) == 0, "hello not taken");
  }
  // Where it stands: with that it is up.
  void confirm(std::uint64_t nonce) {
    PageHeader header;
    header.bytes = frame_word_bytes + confirm_bytes;
    header.flags = page_flag::control;
    ShmSlot& slot = next_slot();
    const auto kind = static_cast<std::uint32_t>(ControlKind::confirm);
    store_u64(slot.body.data(),
              frame_word(confirm_bytes, frame_flag::control | (kind << frame_flag::control_shift)));
    encode(ConfirmFrame{.nonce = nonce}, std::span(slot.body).subspan(frame_word_bytes));
    store(slot.header.data(), header);
    slot.place = ShmSlot::inline_body;
    slot.turn.store(++sent_, std::memory_order_release);
    const std::byte ring{};
    (void)!send(socket_.get(), &ring, sizeof ring, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  ShmSlot& next_slot() { return ours_.slots[sent_ % shm_slots]; }

  // A page of one message, as a good peer would send it.
  void post_sound(std::size_t bytes) {
    bytes = std::min<std::size_t>(bytes, memory_bytes / 2);
    PageHeader header;
    header.bytes = static_cast<std::uint32_t>(frame_word_bytes + wire_padded(bytes));
    header.messages = 1;
    header.sequence = messages_++;
    ShmSlot& slot = next_slot();
    const bool fits = header.bytes <= slot.body.size();
    std::byte* const body = fits ? slot.body.data() : memory_.bytes().data();
    store_u64(body, frame_word(static_cast<std::uint32_t>(bytes), 0));
    store(slot.header.data(), header);
    slot.place = fits ? ShmSlot::inline_body : 0;
    if (!fits) store_u64(slot.body.data(), sent_ % shm_pages);
    slot.turn.store(++sent_, std::memory_order_release);
  }

  void post_anything(Input& input) {
    ShmSlot& slot = next_slot();
    slot.place = 0;
    input.copy_to(slot.header.data(), slot.header.size());
    const std::uint64_t place = input.number(4);
    slot.place = place == 0xffffffff ? ShmSlot::inline_body : place;
    const std::uint64_t page = input.number(2);
    input.copy_to(slot.body.data(), slot.body.size());
    if (slot.place != ShmSlot::inline_body) store_u64(slot.body.data(), page);
    slot.turn.store(++sent_, std::memory_order_release);
  }

  // Reads the next page as a good peer would, and gives it back, or keeps it.
  void take_one(bool give_back) {
    const auto& theirs = *reinterpret_cast<const ShmBoard*>(their_board_->bytes().data());
    const ShmSlot& slot = theirs.slots[taken_ % shm_slots];
    if (slot.turn.load() != taken_ + 1) return;
    if (give_back && slot.place != ShmSlot::inline_body) {
      ours_.returns[returned_ % shm_pages].store(
          static_cast<std::uint32_t>(load_u64(slot.body.data())));
      ours_.returned.store(++returned_);
    }
    ours_.consumed.store(++taken_);
  }

  FileDescriptor socket_;
  SharedMemory board_;
  SharedMemory memory_;
  Hello hello_;
  std::optional<SharedMemory> their_board_;
  ShmBoard& ours_;
  std::uint64_t sent_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t returned_ = 0;
};

netio::ContextOptions small_context() {
  netio::ContextOptions options;
  options.send_pool_bytes = options.receive_pool_bytes = 4U << 20U;
  options.large_bytes_max = 64U << 20U;
  return options;
}

netio::SocketOptions small_messages() {
  netio::SocketOptions options;
  options.message_bytes_max = 1U << 20U;
  return options;
}

// A Pull and a Push to attack, each with a good peer, in one context, there for all inputs.
class Scene {
 public:
  Scene() {
    const auto count = [this](const netio::MessageView& message) {
      // Every byte is looked at, so that a view outside of its page is seen by the sanitizer.
      for (const std::byte byte : message.bytes()) sum_ += static_cast<std::uint64_t>(byte);
      if (message.text() == "good") ++good_received_;
    };
    pull_.on_message(count);
    good_pull_.on_message(count);
    const auto over = [this](const netio::PeerInfo&, const netio::Down&) { attack_over_ = true; };
    pull_.on_down(over);
    push_.on_down(over);
    pull_at_ = pull_.bind("shm://*");
    push_at_ = push_.bind("shm://*");
    good_push_.connect(pull_at_);
    good_pull_.connect(push_at_);
    turn_until([this] { return good_push_.peers_connected() + good_pull_.peers_connected() == 2; },
               "the good peers cannot connect");
  }

  void attack(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const bool receives = input.number(1) % 2 != 0;
    attack_over_ = false;
    {
      Attacker attacker(receives ? push_at_ : pull_at_,
                        receives ? WirePattern::pull : WirePattern::push, ++attacks_);
      turn_until([&] { return attacker.answered(); }, "the attacker is not greeted");
      while (!input.spent() && !attack_over_) {
        const std::uint64_t what = input.number(1);
        if (receives && (what & 1U) != 0) send_some(what);
        attacker.act(input);
        if ((what & 2U) != 0) context_.loop().run_once(0ns);
      }
    }
    turn_until([this] { return attack_over_; }, "the attacker's connection does not end");
  }

  void serve_good_peers() {
    const std::uint64_t wanted = good_received_ + 1;
    require(good_push_.send("good") == netio::Status::ok, "the good sender cannot send");
    turn_until([&] { return good_received_ >= wanted; }, "the good sender is not served");
    const std::uint64_t more = good_received_ + 1;
    turn_until([&] { return push_.send("good") == netio::Status::ok; }, "no room again");
    turn_until([&] { return good_received_ >= more; }, "the good receiver is not served");
  }

 private:
  void send_some(std::uint64_t what) {
    static const std::array<std::byte, 40'000> zeros{};
    (void)push_.send(std::span(zeros).first(what * what % zeros.size()));
  }

  template <typename Condition>
  void turn_until(Condition condition, const char* what) {
    const auto give_up = std::chrono::steady_clock::now() + 10s;
    while (!condition()) {
      context_.loop().run_once(1ms);
      require(std::chrono::steady_clock::now() < give_up, what);
    }
  }

  netio::Context context_{small_context()};
  netio::Pull pull_{context_, small_messages()};
  netio::Push push_{context_, small_messages()};
  netio::Push good_push_{context_};
  netio::Pull good_pull_{context_};
  std::string pull_at_;
  std::string push_at_;
  std::uint64_t attacks_ = 0;
  std::uint64_t good_received_ = 0;
  std::uint64_t sum_ = 0;
  bool attack_over_ = false;
};

}  // namespace

// The first byte says whether the attacker receives; then comes what it does, each with a byte
// before it that says whether the attacked loop sends before and turns after.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Scene scene;
  if (size == 0) return 0;
  scene.attack(data, size);
  scene.serve_good_peers();
  return 0;
}
