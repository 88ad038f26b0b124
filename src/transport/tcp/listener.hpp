// Accepts TCP connections at one address, or at all addresses of a name. Owner thread only.
#pragma once

#include <memory>

#include "base/url.hpp"
#include "transport/tcp/link.hpp"

namespace netio::detail {

// A host name is looked up here and now: binding is set-up. Throws Error. Its address has the
// number of the host, or what was written if there are several.
std::unique_ptr<Listener> listen_on_tcp(TcpShared& shared, const Url& url,
                                        const LinkOptions& options, ListenerEvents& events);

}  // namespace netio::detail
