// Many requests under way: DEALER asks, ROUTER answers.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench {

void answer_many(Worker& worker, void* context);
void ask_many(Worker& worker, void* context);

}  // namespace netio::bench
