#include "systems/fabric/completion_queue.hpp"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "systems/fabric/connection.hpp"

namespace netio::bench::fabric {

namespace {

// How receives are given back, and how sends fail, when the other end has gone.
bool is_end(int error) noexcept {
  return error == FI_ECANCELED || error == FI_ENOTCONN || error == FI_ECONNRESET ||
         error == FI_ESHUTDOWN || error == EPIPE;
}

}  // namespace

CompletionQueue::CompletionQueue(fid_domain& domain, std::size_t entries, bool sleeps) {
  fi_cq_attr attributes{};
  attributes.size = entries;
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = sleeps ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* queue = nullptr;
  check(fi_cq_open(&domain, &attributes, &queue, nullptr), "fi_cq_open");
  queue_.reset(queue);
  gathered_.reserve(entries);
  returned_.reserve(entries);
}

std::span<const Completion> CompletionQueue::read() {
  returned_.clear();
  if (!gathered_.empty()) {
    returned_.swap(gathered_);
  } else {
    read_into(returned_);
  }
  return returned_;
}

void CompletionQueue::gather() { read_into(gathered_); }

void CompletionQueue::read_into(std::vector<Completion>& completions) {
  std::array<fi_cq_data_entry, batch_max> entries;
  const ssize_t count = fi_cq_read(queue_.get(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) return;
  if (count == -FI_EAVAIL) return take_error();
  check(count, "fi_cq_read");
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
      completions.push_back(written_to_->written(entry.data, entry.op_context != nullptr));
    } else {
      completions.push_back({static_cast<Slot*>(entry.op_context), entry.len});
    }
  }
}

void CompletionQueue::take_error() {
  fi_cq_err_entry error{};
  const ssize_t count = fi_cq_readerr(queue_.get(), &error, 0);
  if (count == -FI_EAGAIN) return;
  check(count, "fi_cq_readerr");
  if (!is_end(error.err)) {
    fail(std::string("a transfer failed (") +
             fi_cq_strerror(queue_.get(), error.prov_errno, error.err_data, nullptr, 0) + ")",
         error.err);
  }
  if (error.op_context != nullptr) static_cast<Slot*>(error.op_context)->connection->end();
}

int CompletionQueue::wait_fd() const {
  int fd = -1;
  check(fi_control(&queue_->fid, FI_GETWAIT, &fd), "FI_GETWAIT of the completion queue");
  return fd;
}

}  // namespace netio::bench::fabric
