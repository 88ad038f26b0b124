// How much memory of a context a builder unit needs, and for what.
#pragma once

#include <cstddef>

#include <netio/builder_unit.hpp>
#include <netio/context.hpp>
#include <netio/options.hpp>

#include "build/managed_builder.hpp"

namespace netio::detail {

// The options of a builder unit as its parts need them.
struct BuilderParts {
  ManagedBuilderSettings settings;  // without a manager only what is for building counts
  SocketOptions socket;
  std::size_t spare_bytes = 0;  // of the receive pool: what windows and kept events do not need
};

// Throws Error if the options make no sense, or if the memory of the context is too small for them.
[[nodiscard]] BuilderParts parts_of(const BuilderOptions& options, const ContextOptions& memory);

// The options of the context with enough memory. Throws Error if those of the builder make no
// sense.
[[nodiscard]] ContextOptions with_memory_for(const BuilderOptions& options, ContextOptions memory);

}  // namespace netio::detail
