// Coroutines on a netio loop: tasks, sockets that are awaited, and the loop's other events.
#pragma once

#include <netio/co/builder_unit.hpp>
#include <netio/co/events.hpp>
#include <netio/co/readout_unit.hpp>
#include <netio/co/receiving.hpp>
#include <netio/co/reply.hpp>
#include <netio/co/request.hpp>
#include <netio/co/socket.hpp>
#include <netio/co/task.hpp>
