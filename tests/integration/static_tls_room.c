// A library that takes 64 bytes of the room for static thread-local memory, as libgomp, Mesa and
// jemalloc take theirs. The test loads copies of it until no more go in.
static __thread char room[64] __attribute__((tls_model("initial-exec")));
char* static_tls_room(void);
char* static_tls_room(void) { return room; }
