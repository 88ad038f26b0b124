// Runs a netio loop inside an Asio io_context: standalone Asio, or Boost's with NETIO_BOOST_ASIO
// defined. This is the only public header that includes another library.
#pragma once

#ifdef NETIO_BOOST_ASIO
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#else
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#endif
#include <chrono>
#include <memory>

#include <netio/context.hpp>
#include <netio/loop.hpp>

namespace netio {
namespace detail {
#ifdef NETIO_BOOST_ASIO
namespace asio_library = ::boost::asio;
using AsioError = ::boost::system::error_code;
#else
namespace asio_library = ::asio;
using AsioError = ::asio::error_code;
#endif
}  // namespace detail

// Two classes under one name: one program may have parts with standalone Asio and parts with
// Boost's.
#ifdef NETIO_BOOST_ASIO
inline namespace boost_asio {
#else
inline namespace standalone_asio {
#endif

// While it lives, the call-backs of the loop run in io_context.run(), each turn as one handler.
// Nothing else may run the loop then, and one thread runs the io_context. The driver waits for the
// descriptor of the loop, which is readable for timers and for every transport. So the io_context
// does not run out of work before stop(), loop.stop(), or the end of the driver. Destroy the driver
// before the loop and, like every I/O object, before the io_context. An IdlePolicy has no effect:
// Asio decides when to sleep.
class AsioDriver {
 public:
  // Drives the loop from now on. Throws the error of Asio if the descriptor cannot be waited for:
  AsioDriver(detail::asio_library::io_context& io_context, Loop& loop)
      : state_(std::make_shared<State>(io_context, loop)) {
    state_->wait(state_);
  }
  AsioDriver(detail::asio_library::io_context& io_context, Context& context)
      : AsioDriver(io_context, context.loop()) {}
  ~AsioDriver() { stop(); }
  AsioDriver(const AsioDriver&) = delete;
  AsioDriver& operator=(const AsioDriver&) = delete;

  // Runs no more turns. May be called in a call-back of the loop.
  void stop() noexcept { state_->stop(); }

 private:
  // Shared with the one handler that is under way. That handler may be called after the end of the
  // driver.
  struct State {
    State(detail::asio_library::io_context& io_context, Loop& driven)
        : loop(&driven), descriptor(io_context, driven.fd()) {}
    ~State() { stop(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void wait(const std::shared_ptr<State>& self) {
      descriptor.async_wait(detail::asio_library::posix::stream_descriptor::wait_read,
                            [self](const detail::AsioError& error) {
                              if (!error && self->loop != nullptr) self->turn(self);
                            });
    }
    void turn(const std::shared_ptr<State>& self) {
      loop->run_once(std::chrono::nanoseconds(0));
      if (loop == nullptr) return;
      if (loop->stopped()) {
        loop->run();  // only takes note of the stop: the next driver, or run(), goes on
        return stop();
      }
      wait(self);
    }
    // The descriptor belongs to the loop: it is given back, not closed.
    void stop() noexcept {
      if (loop == nullptr) return;
      loop = nullptr;
      descriptor.release();
    }

    Loop* loop;  // null once stopped
    detail::asio_library::posix::stream_descriptor descriptor;
  };

  std::shared_ptr<State> state_;
};

}  // namespace boost_asio or standalone_asio
}  // namespace netio
