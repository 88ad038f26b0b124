// The public Context: a thin front of ContextCore.
#include <netio/context.hpp>

#include "socket/context_core.hpp"

namespace netio {

Context::Context(const ContextOptions& options)
    : core_(std::make_unique<detail::ContextCore>(options)) {}
Context::~Context() = default;

Loop& Context::loop() noexcept { return core_->loop; }
void Context::run() { core_->loop.run(); }
void Context::stop() noexcept { core_->loop.stop(); }

}  // namespace netio
