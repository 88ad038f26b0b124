// Request sockets and reply sockets on every wire: each request ends in one way, and that is told.
#include "check.h"

enum { many = 1000, large_bytes = 300000, open_most = 64 };

static struct netio_context here, there;
static struct netio_request_socket request;
static struct netio_reply_socket reply;
static const char* wire;
static unsigned char pattern[large_bytes + 512];
static uint64_t ids[many], answered, failed, available, requests_seen, closed;
static int last_outcome;
static uint64_t last_failed;
static struct netio_reply_to* open_ones[open_most];
static size_t open_count;
static struct netio_message kept;

static size_t size_of(uint64_t n) { return n % 100 == 99 ? large_bytes : (size_t)(n * 31 % 257); }
static const unsigned char* bytes_of(uint64_t n) { return pattern + n % 200; }
static int is_payload(const struct netio_message* message, uint64_t n) {
  return message->size == size_of(n) &&
         (message->size == 0 || memcmp(message->data, bytes_of(n), message->size) == 0);
}

static void on_room(struct netio_socket* socket) {
  (void)socket;
  ++available;
}
static void on_closed(struct netio_socket* socket, const struct netio_books* books) {
  (void)socket;
  (void)books;
  ++closed;
}
static void on_reply(struct netio_request_socket* socket, uint64_t id,
                     const struct netio_message* answer) {
  uint64_t n = 0;
  CHECK(socket == &request && socket->socket.data == &answered);
  while (n < many && ids[n] != id) ++n;
  CHECK(n < many && is_payload(answer, n + 1));
  ids[n] = 0;  // once
  ++answered;
}
static void on_failed(struct netio_request_socket* socket, uint64_t id, int outcome) {
  CHECK(socket == &request);
  last_failed = id;
  last_outcome = outcome;
  ++failed;
}
static void keep_open(struct netio_reply_socket* socket, const struct netio_message* message,
                      struct netio_reply_to* to) {
  CHECK(socket == &reply && message->data != NULL && open_count < open_most);
  open_ones[open_count++] = to;
}

// An answer in each of the ways to give one.
static void answer_next(struct netio_reply_socket* socket, const struct netio_message* message,
                        struct netio_reply_to* to) {
  const uint64_t n = requests_seen++;
  const size_t bytes = size_of(n + 1);
  struct netio_message made;
  void* room = NULL;
  CHECK(socket == &reply && is_payload(message, n));
  CHECK(netio_reply_to_wanted(to) && netio_reply_to_peer(to) == 1);
  CHECK(netio_sender_id(&socket->socket) == 1 && netio_reply_to_time_left_ns(to) == -1);
  if (n % 3 == 0 && netio_reply_to_allocate(to, bytes, &made, &room) == NETIO_OK) {
    if (bytes != 0) memcpy(room, bytes_of(n + 1), bytes);
    CHECK_OK(netio_reply_to_send_message(to, &made));
    CHECK(made.memory == NULL);
  } else {
    CHECK_OK(netio_reply_to_send(to, bytes_of(n + 1), bytes));
  }
}

static void begin_with(const struct netio_socket_options* options) {
  answered = failed = available = requests_seen = closed = last_failed = 0;
  open_count = 0;
  last_outcome = -1;
  memset(ids, 0, sizeof ids);
  memset(&request, 0, sizeof request);
  memset(&reply, 0, sizeof reply);
  make_context(&here);
  make_context(&there);
  CHECK_OK(netio_request_socket_init(&here, &request, options));
  request.socket.data = &answered;
  request.socket.cb_buffer_available = on_room;
  request.socket.cb_closed = on_closed;
  request.cb_reply_received = on_reply;
  request.cb_request_failed = on_failed;
  CHECK_OK(netio_reply_socket_init(&there, &reply, options));
  reply.cb_request_received = keep_open;
}
static void connect_both(void) {
  char address[64];
  snprintf(address, sizeof address, "%s",
           strcmp(wire, "tcp") == 0   ? "tcp://127.0.0.1:0"
           : strcmp(wire, "shm") == 0 ? "shm://*"
                                      : "inproc://c_api_request");
  CHECK_OK(netio_listen(&reply.socket, address));
  CHECK_OK(netio_connect(&request.socket, netio_address(&reply.socket)));
  TURN_UNTIL(here, there,
             netio_connections(&request.socket) == 1 && netio_connections(&reply.socket) == 1);
}
static void end_both(void) {
  struct netio_request_books asked;
  struct netio_reply_books replied;
  uint64_t ended = 0;
  CHECK_OK(netio_get_request_books(&request, &asked));
  for (int i = 0; i < 16; ++i) ended += asked.ended[i];
  CHECK(asked.asked == ended + asked.under_way);
  CHECK_OK(netio_get_reply_books(&reply, &replied));
  CHECK(replied.requests ==
        replied.answered + replied.not_answered + replied.unwanted + replied.open);
  CHECK_OK(netio_socket_free(&request.socket));
  CHECK_OK(netio_socket_free(&reply.socket));
  CHECK_OK(netio_context_free(&here));
  CHECK_OK(netio_context_free(&there));
}
// Asks, turning the loops as long as there is no room.
static uint64_t ask(const void* data, size_t bytes, const struct netio_ask* how) {
  uint64_t id = 0;
  int result = netio_request_send(&request, data, bytes, how, &id);
  while (result == NETIO_AGAIN || result == NETIO_NOT_CONNECTED) {
    CHECK_OK(netio_run_once(&here.evloop, 0));
    CHECK_OK(netio_run_once(&there.evloop, 0));
    result = netio_request_send(&request, data, bytes, how, &id);
  }
  CHECK_OK(result);
  CHECK(id != 0);
  return id;
}

static void each_request_gets_its_answer(int unbuffered) {
  struct netio_socket_options options;
  struct netio_request_books books;
  netio_socket_defaults(&options);
  options.unbuffered = unbuffered;
  begin_with(&options);
  reply.cb_request_received = answer_next;
  CHECK_FAILS(netio_request_send(&request, "early", 5, NULL, NULL), NETIO_NOT_CONNECTED);
  connect_both();
  for (uint64_t n = 0; n < many; ++n) {
    struct netio_message made;
    void* room = NULL;
    int taken = 0;
    if (n % 7 == 3 && netio_request_allocate(&request, size_of(n), &made, &room) == NETIO_OK) {
      if (made.size != 0) memcpy(room, bytes_of(n), made.size);
      taken = netio_request_send_message(&request, &made, NULL, &ids[n]) == NETIO_OK;
      CHECK((made.memory == NULL) == (taken != 0));
      if (!taken) CHECK_OK(netio_release(&made));
    }
    if (!taken) ids[n] = ask(bytes_of(n), size_of(n), NULL);
  }
  CHECK_OK(netio_flush(&request.socket));
  TURN_UNTIL(here, there, answered == many);
  CHECK_OK(netio_flush(&reply.socket));
  CHECK(failed == 0 && requests_seen == many && available >= 1);
  CHECK_OK(netio_get_request_books(&request, &books));
  CHECK(books.ended[NETIO_OUTCOME_ANSWERED] == many && books.under_way == 0);
  end_both();
}

static void each_other_end_is_told(void) {
  static const struct netio_ask soon = {.within_ns = 20000000};
  static const struct netio_ask never = {.within_ns = UINT64_MAX};
  static const struct netio_ask much_later = {.within_ns = 3600000000000};
  begin_with(NULL);
  connect_both();
  uint64_t id = ask("dropped", 7, NULL);
  TURN_UNTIL(here, there, open_count == 1);
  CHECK_OK(netio_reply_to_drop(open_ones[--open_count]));
  TURN_UNTIL(here, there, failed == 1);
  CHECK(last_failed == id && last_outcome == NETIO_OUTCOME_NOT_ANSWERED);
  id = ask("late", 4, &soon);
  TURN_UNTIL(here, there, failed == 2);
  CHECK(last_failed == id && last_outcome == NETIO_OUTCOME_TIMED_OUT);
  if (open_count == 1) {  // a slow machine may not deliver it in time
    TURN_UNTIL(here, there, !netio_reply_to_wanted(open_ones[0]));
    TURN_A_WHILE(here, there);
    CHECK_FAILS(netio_reply_to_send(open_ones[0], "?", 1), NETIO_NOT_CONNECTED);
    CHECK_OK(netio_reply_to_drop(open_ones[--open_count]));
  }
  id = ask("cancelled", 9, &much_later);
  TURN_UNTIL(here, there, open_count == 1);
  CHECK(netio_reply_to_time_left_ns(open_ones[0]) > 1000000000);
  CHECK_OK(netio_request_cancel(&request, id));
  CHECK_FAILS(netio_request_cancel(&request, id), NETIO_INVALID);
  TURN_UNTIL(here, there, !netio_reply_to_wanted(open_ones[0]));
  CHECK_OK(netio_reply_to_drop(open_ones[--open_count]));
  CHECK(failed == 2 && answered == 0);
  id = ask("closed", 6, &never);
  TURN_UNTIL(here, there, open_count == 1);
  CHECK_OK(netio_close(&request.socket, 60000));
  CHECK_FAILS(netio_request_send(&request, "closed", 6, NULL, &id), NETIO_CLOSED);
  TURN_UNTIL(here, there, closed == 1);
  CHECK(failed == 2);  // nobody is told of what is cancelled here
  CHECK_OK(netio_reply_to_drop(open_ones[--open_count]));
  end_both();
}

// One that is kept outlives its socket and its context.
static void the_right_to_answer_outlives_its_socket(void) {
  struct netio_socket_options options;
  netio_socket_defaults(&options);
  options.resume_within_ns = 50000000;  // so long the requests wait for the replier to come back
  begin_with(&options);
  connect_both();
  (void)ask("?", 1, NULL);
  (void)ask("?", 1, NULL);
  TURN_UNTIL(here, there, open_count == 2);
  CHECK_OK(netio_socket_free(&reply.socket));
  CHECK(!netio_reply_to_wanted(open_ones[0]) && netio_reply_to_peer(open_ones[0]) == 0);
  CHECK_FAILS(netio_reply_to_send(open_ones[0], "!", 1), NETIO_CLOSED);
  CHECK_OK(netio_reply_to_drop(open_ones[0]));
  TURN_UNTIL(here, there, failed == 2);
  CHECK(last_outcome == NETIO_OUTCOME_IN_DOUBT || last_outcome == NETIO_OUTCOME_NOT_ANSWERED);
  CHECK_OK(netio_context_free(&there));
  CHECK_OK(netio_reply_to_drop(open_ones[1]));
  CHECK_OK(netio_socket_free(&request.socket));
  CHECK_OK(netio_context_free(&here));
}

static void both_sides_are_bounded(void) {
  struct netio_socket_options options;
  netio_socket_defaults(&options);
  CHECK(options.pending_max == 65536 && options.open_max == 65536);
  options.pending_max = 20;
  options.open_max = 10;
  begin_with(&options);
  connect_both();
  for (int i = 0; i < 20; ++i) (void)ask("?", 1, NULL);
  CHECK_FAILS(netio_request_send(&request, "?", 1, NULL, NULL), NETIO_AGAIN);
  available = 0;
  TURN_UNTIL(here, there, open_count == 10);
  TURN_A_WHILE(here, there);
  CHECK(open_count == 10 && available == 0);
  for (int i = 0; i < 20; ++i) {
    TURN_UNTIL(here, there, open_count > 0);
    CHECK_OK(netio_reply_to_drop(open_ones[--open_count]));
  }
  TURN_UNTIL(here, there, failed == 20 && available == 1);
  end_both();
  options.pending_max = 0;
  make_context(&here);
  memset(&request, 0, sizeof request);
  CHECK_FAILS(netio_request_socket_init(&here, &request, &options), NETIO_ERROR);
  options.open_max = UINT64_MAX;
  memset(&reply, 0, sizeof reply);
  CHECK_FAILS(netio_reply_socket_init(&here, &reply, &options), NETIO_ERROR);
  CHECK_OK(netio_context_free(&here));
}

static void keep_request(struct netio_reply_socket* socket, const struct netio_message* message,
                         struct netio_reply_to* to) {
  CHECK_OK(netio_keep(message, &kept));
  open_ones[open_count++] = to;
  CHECK_OK(netio_pause(&socket->socket));
}

// Requests wait until there is a call-back, and while the socket is paused. What was kept goes
// back.
static void requests_wait_for_the_replier(void) {
  begin_with(NULL);
  reply.cb_request_received = NULL;
  connect_both();
  ids[0] = ask(bytes_of(1), size_of(1), NULL);  // the payload of its answer
  TURN_A_WHILE(here, there);
  reply.cb_request_received = keep_request;
  CHECK_OK(netio_resume(&reply.socket));
  TURN_UNTIL(here, there, open_count == 1);
  (void)ask("waits", 5, NULL);
  TURN_A_WHILE(here, there);
  CHECK(open_count == 1);
  CHECK_OK(netio_reply_to_send_message(open_ones[0], &kept));
  CHECK(kept.memory == NULL);
  TURN_UNTIL(here, there, answered == 1);
  reply.cb_request_received = NULL;  // from now on they are dropped
  CHECK_OK(netio_resume(&reply.socket));
  TURN_UNTIL(here, there, failed == 1);
  CHECK(last_outcome == NETIO_OUTCOME_NOT_ANSWERED);
  end_both();
}

static void free_in_reply(struct netio_request_socket* socket, uint64_t id,
                          const struct netio_message* answer) {
  (void)id;
  (void)answer;
  ++answered;
  CHECK_OK(netio_socket_free(&socket->socket));
}
static void free_in_failure(struct netio_request_socket* socket, uint64_t id, int outcome) {
  (void)id;
  (void)outcome;
  ++failed;
  CHECK_OK(netio_socket_free(&socket->socket));
}
static void free_in_request(struct netio_reply_socket* socket, const struct netio_message* message,
                            struct netio_reply_to* to) {
  (void)message;
  ++requests_seen;
  CHECK_OK(netio_socket_free(&socket->socket));
  CHECK_FAILS(netio_reply_to_send(to, "!", 1), NETIO_CLOSED);
  CHECK_OK(netio_reply_to_drop(to));
}

static void call_backs_may_free_their_socket(void) {
  for (int which = 0; which < 3; ++which) {
    begin_with(NULL);
    if (which == 0) request.cb_reply_received = free_in_reply;
    if (which == 1) request.cb_request_failed = free_in_failure;
    if (which == 2) reply.cb_request_received = free_in_request;
    connect_both();
    for (int i = 0; i < 10; ++i) (void)ask("?", 1, NULL);
    TURN_UNTIL(here, there, which == 2 ? requests_seen == 1 : open_count == 10);
    while (open_count > 0) {
      --open_count;
      if (which == 0) CHECK_OK(netio_reply_to_send(open_ones[open_count], "!", 1));
      if (which == 1) CHECK_OK(netio_reply_to_drop(open_ones[open_count]));
    }
    TURN_UNTIL(here, there, answered + failed + requests_seen > 0);
    TURN_A_WHILE(here, there);
    CHECK(which == 2 ? requests_seen == 1 : answered + failed == 1);
    CHECK_OK(netio_socket_free(which == 2 ? &request.socket : &reply.socket));
    CHECK_OK(netio_context_free(&here));
    CHECK_OK(netio_context_free(&there));
  }
}

static void what_makes_no_sense_is_refused(void) {
  struct netio_listen_socket in;
  struct netio_message message;
  struct netio_request_books asked;
  struct netio_reply_books replied;
  struct netio_request_socket* const wrong = (struct netio_request_socket*)&in;
  void* room = NULL;
  uint64_t id = 7;
  memset(&in, 0, sizeof in);
  memset(&message, 0, sizeof message);
  begin_with(NULL);
  connect_both();
  CHECK_OK(netio_listen_socket_init(&there, &in, NULL));
  CHECK_FAILS(netio_request_send(NULL, "x", 1, NULL, &id), NETIO_INVALID);
  CHECK_FAILS(netio_request_send(wrong, "x", 1, NULL, &id), NETIO_INVALID);
  CHECK_FAILS(netio_request_send(&request, NULL, 1, NULL, &id), NETIO_INVALID);
  CHECK_FAILS(netio_request_send_message(&request, &message, NULL, &id), NETIO_INVALID);
  CHECK_FAILS(netio_request_allocate(&request, 1, NULL, &room), NETIO_INVALID);
  CHECK_FAILS(netio_request_cancel(&request, 99), NETIO_INVALID);
  CHECK_FAILS(netio_get_request_books(wrong, &asked), NETIO_INVALID);
  CHECK_FAILS(netio_get_reply_books(&reply, NULL), NETIO_INVALID);
  CHECK_FAILS(netio_get_reply_books((struct netio_reply_socket*)&in, &replied), NETIO_INVALID);
  CHECK_FAILS(netio_reply_to_send(NULL, "x", 1), NETIO_INVALID);
  CHECK_FAILS(netio_reply_to_send_message(NULL, &message), NETIO_INVALID);
  CHECK_FAILS(netio_reply_to_drop(NULL), NETIO_INVALID);
  CHECK(!netio_reply_to_wanted(NULL) && netio_reply_to_peer(NULL) == 0);
  CHECK_FAILS(netio_send(&request.socket, "x", 1), NETIO_INVALID);
  CHECK_FAILS(netio_send(&reply.socket, "x", 1), NETIO_INVALID);
  CHECK_FAILS(netio_pause(&request.socket), NETIO_INVALID);
  CHECK_FAILS(netio_pause_peer(&reply.socket, 1), NETIO_INVALID);
  CHECK(id == 7);
  CHECK(strcmp(netio_outcome_name(NETIO_OUTCOME_TIMED_OUT), "timed out") == 0);
  CHECK(strcmp(netio_outcome_name(NETIO_OUTCOME_IN_DOUBT), "in doubt") == 0);
  CHECK(strcmp(netio_outcome_name(99), "unknown") == 0);
  CHECK_OK(netio_socket_free(&in.socket));
  end_both();
}

int main(void) {
  static const char* const wires[] = {"tcp", "shm", "inproc"};
  begin_tests();
  for (size_t i = 0; i < sizeof pattern; ++i) pattern[i] = (unsigned char)(i * 167 + i / 251);
  for (size_t i = 0; i < 3; ++i) {
    wire = wires[i];
    each_request_gets_its_answer(0);
    each_request_gets_its_answer(1);
    each_other_end_is_told();
    the_right_to_answer_outlives_its_socket();
    both_sides_are_bounded();
    requests_wait_for_the_replier();
    call_backs_may_free_their_socket();
    what_makes_no_sense_is_refused();
  }
  return 0;
}
