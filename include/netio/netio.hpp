// All of netio.
#pragma once

#if __cplusplus < 202002L
#error "netio needs C++20: compile with -std=c++20 or newer"
#endif

#include <netio/answer.hpp>
#include <netio/books.hpp>
#include <netio/builder_unit.hpp>
#include <netio/context.hpp>
#include <netio/event_building.hpp>
#include <netio/event_manager.hpp>
#include <netio/fabrics.hpp>
#include <netio/forward.hpp>
#include <netio/loop.hpp>
#include <netio/memory_limit.hpp>
#include <netio/message.hpp>
#include <netio/not_there_yet.hpp>
#include <netio/options.hpp>
#include <netio/pair.hpp>
#include <netio/peer.hpp>
#include <netio/probe.hpp>
#include <netio/publish.hpp>
#include <netio/pull.hpp>
#include <netio/push.hpp>
#include <netio/readout_unit.hpp>
#include <netio/reply.hpp>
#include <netio/request.hpp>
#include <netio/status.hpp>
#include <netio/subscribe.hpp>
#include <netio/subscription.hpp>
