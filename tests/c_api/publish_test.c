// Publish and subscribe: sets of tags before there is a publisher, the cache, what a subscriber
// that is slow misses, and a publisher that comes back.
#include "check.h"

static struct netio_context here, there;
static struct netio_publish_socket publisher;
static struct netio_subscribe_socket subscriber;
static uint64_t counts[16], received;
static int answers, gained, lost, closed;
static uint64_t gaps;

static uint64_t content_of(uint64_t tag, uint64_t n) { return tag * 1000003 + n; }

static void on_message(struct netio_socket* socket, const struct netio_message* message) {
  uint64_t content = 0;
  (void)socket;
  CHECK(message->tag < 16 && message->size == sizeof content);
  memcpy(&content, message->data, sizeof content);
  CHECK(content == content_of(message->tag, counts[message->tag]));
  ++counts[message->tag];
  ++received;
}
static void on_answer(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                      const struct netio_subscription* answer) {
  CHECK(socket == &subscriber && peer->id != 0);
  CHECK(!answer->refused && answer->policy == NETIO_POLICY_BLOCK && answer->revision != 0);
  ++answers;
}
static void on_gained(struct netio_publish_socket* socket, const struct netio_peer* peer,
                      const struct netio_tags* tags, size_t ranges) {
  CHECK(socket == &publisher && peer->id != 0);
  for (size_t i = 0; i < ranges; ++i) gained += (int)(tags[i].last - tags[i].first + 1);
}
static void on_lost(struct netio_publish_socket* socket, const struct netio_peer* peer,
                    const struct netio_tags* tags, size_t ranges) {
  CHECK(socket == &publisher && peer->id != 0);
  for (size_t i = 0; i < ranges; ++i) lost += (int)(tags[i].last - tags[i].first + 1);
}
static void on_closed(struct netio_socket* socket, const struct netio_books* books) {
  (void)socket;
  CHECK(books->sent == books->acknowledged + books->dropped && books->unacknowledged == 0);
  ++closed;
}

static void publish_each_tag_once(uint64_t n, struct netio_subscription_cache* caches) {
  for (uint64_t tag = 0; tag < 16; ++tag) {
    const uint64_t content = content_of(tag, n);
    int result = NETIO_AGAIN;
    while (result == NETIO_AGAIN) {
      result = netio_publish(&publisher, tag, &content, sizeof content,
                             caches != NULL ? &caches[tag % 3] : NULL);
      if (result == NETIO_AGAIN) TURN_A_WHILE(here, there);
    }
    CHECK_OK(result);
  }
}

static void make_publisher(const char* address) {
  memset(&publisher, 0, sizeof publisher);
  CHECK_OK(netio_publish_socket_init(&here, &publisher, NULL));
  publisher.cb_subscribed = on_gained;
  publisher.cb_unsubscribed = on_lost;
  publisher.socket.cb_closed = on_closed;
  CHECK_OK(netio_listen(&publisher.socket, address));
}

static void tags_decide_who_gets_what(const char* address, int unbuffered) {
  struct netio_socket_options options;
  struct netio_subscription_cache caches[3];  // 16 tags share 3: they fit themselves each time
  struct netio_books books;
  struct netio_counters counters;
  char bound[128];
  memset(&subscriber, 0, sizeof subscriber);
  memset(caches, 0, sizeof caches);
  memset(counts, 0, sizeof counts);
  received = 0;
  answers = gained = lost = closed = 0;
  make_context(&here);
  make_context(&there);
  make_publisher(address);
  snprintf(bound, sizeof bound, "%s", netio_address(&publisher.socket));
  netio_socket_defaults(&options);
  options.policy = NETIO_POLICY_BLOCK;
  options.unbuffered = unbuffered;
  CHECK_OK(netio_subscribe_socket_init(&there, &subscriber, &options));
  subscriber.cb_subscribed = on_answer;
  subscriber.socket.cb_msg_received = on_message;
  CHECK_OK(netio_subscribe(&subscriber, 3));  // before there is a connection
  CHECK_OK(netio_subscribe_range(&subscriber, 7, 9));
  CHECK_FAILS(netio_subscribe_range(&subscriber, 9, 7), NETIO_ERROR);
  publish_each_tag_once(1000, NULL);  // nobody wants them
  CHECK_OK(netio_connect(&subscriber.socket, bound));
  TURN_UNTIL(here, there, answers == 1 && gained == 4);
  for (uint64_t n = 0; n < 100; ++n) publish_each_tag_once(n, n % 2 == 0 ? caches : NULL);
  TURN_UNTIL(here, there, received == 400);
  CHECK(counts[3] == 100 && counts[7] == 100 && counts[8] == 100 && counts[9] == 100);
  CHECK_OK(netio_unsubscribe_range(&subscriber, 8, 9));
  CHECK_OK(netio_unsubscribe(&subscriber, 3));
  TURN_UNTIL(here, there, answers == 2 && lost == 3);
  publish_each_tag_once(100, caches);
  TURN_UNTIL(here, there, received == 401);
  CHECK(counts[7] == 101);
  CHECK_OK(netio_get_counters(&publisher.socket, &counters));
  CHECK(counters.published == 102 * 16 && counters.unwanted == 16 + 100 * 12 + 15);
  // The publisher goes, and another one takes its place: it is given the same set.
  CHECK_OK(netio_close(&publisher.socket, 60000));
  TURN_UNTIL(here, there, closed == 1);
  CHECK_FAILS(netio_publish(&publisher, 7, "x", 1, NULL), NETIO_CLOSED);
  CHECK_OK(netio_socket_free(&publisher.socket));
  CHECK_OK(netio_subscribe(&subscriber, 1));
  make_publisher(bound);
  TURN_UNTIL(here, there, answers == 3 && gained == 6);
  counts[7] = counts[1] = 0;
  publish_each_tag_once(0, caches);  // they know the publisher that is gone
  TURN_UNTIL(here, there, received == 403);
  CHECK(counts[7] == 1 && counts[1] == 1);
  CHECK_OK(netio_get_books(&subscriber.socket, &books));
  CHECK(books.delivered == 403 && books.missed == 0);
  CHECK_OK(netio_socket_free(&publisher.socket));
  CHECK_OK(netio_socket_free(&subscriber.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static void on_gap(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                   const struct netio_gap* gap) {
  CHECK(socket == &subscriber && peer->id != 0 && gap->count > 0);
  CHECK(strcmp(netio_drop_reason_name(gap->reason), "dropped as new") == 0);
  gaps += gap->count;
}
static void count_only(struct netio_socket* socket, const struct netio_message* message) {
  (void)socket, (void)message;
  ++received;
}

static void what_a_slow_subscriber_misses_is_told_and_counted(void) {
  static const char filler[32768];
  struct netio_socket_options options;
  struct netio_books books;
  uint64_t published = 0;
  memset(&subscriber, 0, sizeof subscriber);
  received = gaps = 0;
  gained = 0;
  make_context(&here);
  make_context(&there);
  make_publisher("tcp://127.0.0.1:0");
  netio_socket_defaults(&options);
  options.behind_bytes_max = 1U << 20U;
  CHECK_OK(netio_subscribe_socket_init(&there, &subscriber, &options));
  subscriber.cb_gap = on_gap;
  subscriber.socket.cb_msg_received = count_only;
  CHECK_OK(netio_subscribe_range(&subscriber, 0, UINT64_MAX));
  CHECK_OK(netio_connect(&subscriber.socket, netio_address(&publisher.socket)));
  TURN_UNTIL(here, there, gained != 0 || netio_connections(&publisher.socket) == 1);
  TURN_A_WHILE(here, there);
  CHECK_OK(netio_pause(&subscriber.socket));
  do {  // until its wire and its queue are full
    CHECK_OK(netio_publish(&publisher, 5, filler, sizeof filler, NULL));
    ++published;
    CHECK_OK(netio_run_once(&here.evloop, 0));
    CHECK_OK(netio_get_books(&publisher.socket, &books));
  } while (books.dropped < 10);
  CHECK(books.dropped_by[NETIO_DROP_NEW_ONES] == books.dropped);
  CHECK_OK(netio_resume(&subscriber.socket));
  TURN_UNTIL(here, there, received + gaps == published);
  CHECK_OK(netio_get_books(&subscriber.socket, &books));
  CHECK(books.delivered == received && books.missed == gaps && gaps >= 10);
  CHECK_OK(netio_socket_free(&publisher.socket));
  CHECK_OK(netio_socket_free(&subscriber.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

static int writable;
static void on_room(struct netio_socket* socket) {
  CHECK(socket == &publisher.socket);
  ++writable;
}

static void nothing_is_published_before_a_builder_is_there(const char* address) {
  struct netio_socket_options options;
  struct netio_counters counters;
  memset(&publisher, 0, sizeof publisher);
  memset(&subscriber, 0, sizeof subscriber);
  received = 0;
  writable = 0;
  make_context(&here);
  make_context(&there);
  netio_socket_defaults(&options);
  CHECK(options.subscribers_min == 0);
  CHECK(options.block_for_max_ns == 10000000000U);
  options.ranges_all_max = 0;
  CHECK_FAILS(netio_publish_socket_init(&here, &publisher, &options), NETIO_ERROR);
  netio_socket_defaults(&options);
  options.subscribers_min = 1;
  options.block_allowed = 0;
  CHECK_FAILS(netio_publish_socket_init(&here, &publisher, &options), NETIO_ERROR);
  options.block_allowed = 1;
  CHECK_OK(netio_publish_socket_init(&here, &publisher, &options));
  publisher.socket.cb_buffer_available = on_room;
  CHECK_OK(netio_listen(&publisher.socket, address));
  CHECK(netio_publish(&publisher, 7, "x", 1, NULL) == NETIO_AGAIN);
  CHECK(netio_fill(&publisher.socket) == 1.0);
  netio_socket_defaults(&options);
  options.policy = NETIO_POLICY_BLOCK;
  CHECK_OK(netio_subscribe_socket_init(&there, &subscriber, &options));
  subscriber.socket.cb_msg_received = count_only;
  CHECK_OK(netio_subscribe(&subscriber, 7));
  CHECK_OK(netio_connect(&subscriber.socket, netio_address(&publisher.socket)));
  TURN_UNTIL(here, there, writable == 1);
  CHECK(netio_fill(&publisher.socket) < 0.25);
  CHECK_OK(netio_publish(&publisher, 7, "x", 1, NULL));
  TURN_UNTIL(here, there, received == 1);
  CHECK_OK(netio_socket_free(&subscriber.socket));
  TURN_UNTIL(here, there, netio_connections(&publisher.socket) == 0);
  CHECK(netio_publish(&publisher, 7, "x", 1, NULL) == NETIO_AGAIN);
  CHECK_OK(netio_get_counters(&publisher.socket, &counters));
  CHECK(counters.unwanted == 0);
  CHECK_OK(netio_socket_free(&publisher.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}

// Each is freed in a call-back of its own, and no other one comes.
enum { on_gaining, on_losing, on_answering, on_missing, kinds };
static int freed_in;
static struct netio_socket* gone;

static int free_here(struct netio_socket* socket, int where) {
  CHECK(socket != gone);
  if (where != freed_in) return 0;
  CHECK_OK(netio_socket_free(socket));
  gone = socket;
  return 1;
}
static void gained_and_freed(struct netio_publish_socket* socket, const struct netio_peer* peer,
                             const struct netio_tags* tags, size_t ranges) {
  free_here(&socket->socket, on_gaining);
  CHECK(peer->id != 0 && ranges == 1 && tags->first == 5);
}
static void lost_and_freed(struct netio_publish_socket* socket, const struct netio_peer* peer,
                           const struct netio_tags* tags, size_t ranges) {
  free_here(&socket->socket, on_losing);
  CHECK(peer->id != 0 && ranges == 1 && tags->first == 5);
}
static void answered_and_freed(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                               const struct netio_subscription* answer) {
  if (free_here(&socket->socket, on_answering)) return;
  CHECK(peer->id != 0 && !answer->refused);
  ++answers;
}
static void missed_and_freed(struct netio_subscribe_socket* socket, const struct netio_peer* peer,
                             const struct netio_gap* gap) {
  free_here(&socket->socket, on_missing);
  CHECK(peer->id != 0 && gap->count > 0);
}

static void each_may_be_freed_in_its_own_call_backs(const char* address) {
  static const char filler[32768];
  struct netio_socket_options options;
  netio_socket_defaults(&options);
  options.behind_bytes_max = 64U << 10U;
  for (freed_in = 0; freed_in < kinds; ++freed_in) {
    gone = NULL;
    answers = 0;
    make_context(&here);
    make_context(&there);
    make_publisher(address);
    publisher.cb_subscribed = gained_and_freed;
    publisher.cb_unsubscribed = lost_and_freed;
    memset(&subscriber, 0, sizeof subscriber);
    CHECK_OK(netio_subscribe_socket_init(&there, &subscriber, &options));
    subscriber.cb_subscribed = answered_and_freed;
    subscriber.cb_gap = missed_and_freed;
    subscriber.socket.cb_msg_received = count_only;
    CHECK_OK(netio_subscribe(&subscriber, 5));
    CHECK_OK(netio_connect(&subscriber.socket, netio_address(&publisher.socket)));
    TURN_UNTIL(here, there, gone != NULL || answers == 1);
    if (freed_in == on_losing) CHECK_OK(netio_unsubscribe(&subscriber, 5));
    if (freed_in == on_missing) {
      struct netio_books books;
      CHECK_OK(netio_pause(&subscriber.socket));
      do {
        CHECK_OK(netio_publish(&publisher, 5, filler, sizeof filler, NULL));
        CHECK_OK(netio_run_once(&here.evloop, 0));
        CHECK_OK(netio_get_books(&publisher.socket, &books));
      } while (books.dropped < 10);
      CHECK_OK(netio_resume(&subscriber.socket));
    }
    TURN_UNTIL(here, there, gone != NULL);
    TURN_A_WHILE(here, there);
    CHECK_OK(netio_socket_free(gone == &publisher.socket ? &subscriber.socket : &publisher.socket));
    CHECK_OK(netio_context_free(&here));
    CHECK_OK(netio_context_free(&there));
  }
}

// Casts between sockets are common in C, and one to the wrong kind compiles.
static void a_socket_of_another_kind_is_told_apart(void) {
  static struct netio_context ctx;
  static struct netio_send_socket out;
  static struct netio_recv_socket in;
  static struct netio_publish_socket publishes;
  struct netio_subscription_cache cache = {0};
  CHECK_OK(netio_init(&ctx));
  CHECK_OK(netio_send_socket_init(&ctx, &out, NULL));
  CHECK_OK(netio_recv_socket_init(&ctx, &in, NULL));
  CHECK_OK(netio_publish_socket_init(&ctx, &publishes, NULL));
  CHECK_FAILS(netio_publish((struct netio_publish_socket*)&out, 1, "x", 1, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_publish((struct netio_publish_socket*)&in, 1, "x", 1, &cache), NETIO_INVALID);
  CHECK_FAILS(netio_subscribe((struct netio_subscribe_socket*)&in, 1), NETIO_INVALID);
  CHECK_FAILS(netio_unsubscribe((struct netio_subscribe_socket*)&publishes, 1), NETIO_INVALID);
  CHECK_OK(netio_socket_free(&publishes.socket));
  CHECK_OK(netio_socket_free(&in.socket));
  CHECK_OK(netio_socket_free(&out.socket));
  CHECK_OK(netio_context_free(&ctx));
}

int main(void) {
  begin_tests();
  a_socket_of_another_kind_is_told_apart();
  tags_decide_who_gets_what("tcp://127.0.0.1:0", 0);
  tags_decide_who_gets_what("shm://*", 1);
  tags_decide_who_gets_what("inproc://c_api_publish", 0);
  what_a_slow_subscriber_misses_is_told_and_counted();
  nothing_is_published_before_a_builder_is_there("tcp://127.0.0.1:0");
  nothing_is_published_before_a_builder_is_there("shm://*");
  each_may_be_freed_in_its_own_call_backs("tcp://127.0.0.1:0");
  each_may_be_freed_in_its_own_call_backs("shm://*");
  return 0;
}
