// Many requests under way: contexts of req0 ask, contexts of rep0 answer.
#pragma once

#include "worker/worker.hpp"

namespace netio::bench {

void answer_many(Worker& worker);
void ask_many(Worker& worker);

}  // namespace netio::bench
