// Where `netio build builder` writes events: a file for each source, which has its fragments one
// behind the other, and an index with a line for each event. What write() has returned for is in
// the files. Owner thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <netio/builder_unit.hpp>

#include "descriptor.hpp"
#include "event_set.hpp"
#include "output.hpp"
#include "payload.hpp"

namespace netio::cli {

class EventFiles {
 public:
  // Makes the folder if it is missing. Files of an earlier run are an error, unless `append`: then
  // what the index does not list is cut off. Events that it lists are not written again.
  // Throws Failure, also while another process writes there.
  EventFiles(const std::string& folder, std::uint32_t builder, std::uint32_t sources, bool append);

  // Does nothing once the state is not open any more.
  void write(const Event& event);

  [[nodiscard]] Output::State state() const noexcept;
  // "cannot write to FILE: no space left on device"
  [[nodiscard]] std::string error() const;
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::uint64_t events_written() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_; }
  // Events that were there from an earlier run.
  [[nodiscard]] std::uint64_t events_there() const noexcept { return events_there_; }

 private:
  [[nodiscard]] std::string path(const std::string& what) const;
  [[nodiscard]] std::string header() const;
  void lock(const std::string& index);
  void go_on_behind(const std::string& index);
  void refuse_old(const std::string& file) const;
  [[nodiscard]] std::string line(const Event& event) const;
  [[nodiscard]] const Output* failed() const noexcept;

  std::string folder_;
  std::uint32_t builder_;
  Descriptor lock_;
  std::vector<std::string> paths_;  // by source
  std::vector<std::unique_ptr<Output>> sources_;
  std::unique_ptr<Output> index_;
  std::vector<std::size_t> sizes_;  // of the fragments of the event at hand
  Payload payload_;
  EventSet written_;  // before, or now
  std::uint64_t events_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t events_there_ = 0;
};

}  // namespace netio::cli
