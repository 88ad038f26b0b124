#include "event_files.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <sys/file.h>
#include <system_error>

#include <fmt/format.h>

#include "exit_code.hpp"

namespace netio::cli {

namespace {

std::string cell(const EventFragment& fragment, std::size_t bytes) {
  if (!fragment.here) {
    return fragment.missing == Missing::no ? "none" : std::string(to_string(fragment.missing));
  }
  std::string text = std::to_string(bytes);
  if (fragment.status != FragmentStatus::good)
    text += fmt::format(":{}", to_string(fragment.status));
  return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return cells;
}

// False if it does not begin with a number.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

void cut_off(const std::string& path, std::uintmax_t bytes) {
  std::error_code error;
  std::filesystem::resize_file(path, bytes, error);
  if (error) throw Failure(fmt::format("cannot cut off {}: {}", path, error.message()));
}

}  // namespace

EventFiles::EventFiles(const std::string& folder, std::uint32_t builder, std::uint32_t sources,
                       bool append)
    : folder_(folder), builder_(builder), sizes_(sources) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw Failure(fmt::format("cannot make the folder {}: {}", folder_, error.message()));
  for (std::uint32_t source = 0; source < sources; ++source) {
    paths_.push_back(path(fmt::format("source-{}.dat", source)));
  }
  const std::string index = path("events.tsv");
  lock(index);
  if (append) {
    if (std::filesystem::file_size(index, error) != 0 && !error) go_on_behind(index);
  } else {
    refuse_old(index);
    for (const std::string& each : paths_) refuse_old(each);
  }
  for (const std::string& each : paths_) {
    sources_.push_back(std::make_unique<Output>(each, Output::Begin::at_end));
  }
  const bool is_new = std::filesystem::file_size(index, error) == 0 || error;
  index_ = std::make_unique<Output>(index, Output::Begin::at_end);
  if (!is_new) return;
  const std::string text = header();
  index_->append(std::as_bytes(std::span(text)));
  index_->flush();
}

std::string EventFiles::path(const std::string& what) const {
  return (std::filesystem::path(folder_) / fmt::format("builder-{}-{}", builder_, what)).string();
}

std::string EventFiles::header() const {
  std::string text = "run\tevent\tstate";
  for (std::size_t source = 0; source < paths_.size(); ++source) {
    text += fmt::format("\tsource-{}", source);
  }
  return text + "\n";
}

// Before anything is looked at, so that of two builders which begin at once one is refused. Where
// the file system has no locks, there is none.
void EventFiles::lock(const std::string& index) {
  lock_ = Descriptor(::open(index.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (lock_.get() < 0) {
    throw Failure(fmt::format("cannot open {} for writing: {}", index, std::strerror(errno)));
  }
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Failure(fmt::format("another process writes {}", index),
                "end it (lslocks shows which), or name another folder or builder");
}

void EventFiles::refuse_old(const std::string& file) const {
  std::error_code error;
  if (std::filesystem::file_size(file, error) == 0 || error) return;
  throw Failure(fmt::format("{} is there from an earlier run", file),
                "name another folder, or go on behind its events with --append");
}

// Cuts off what was being written when the earlier run was killed: its event comes again.
void EventFiles::go_on_behind(const std::string& index) {
  std::vector<std::uint64_t> bytes(paths_.size());
  std::ifstream file(index, std::ios::binary);
  std::uintmax_t whole = 0;
  bool first = true;
  for (std::string line; std::getline(file, line) && !file.eof(); whole += line.size() + 1) {
    if (first) {
      if (line + "\n" != header())
        throw Failure(index + " is of another plan, or no index of events");
      first = false;
      continue;
    }
    const std::vector<std::string_view> cells = cells_of(line);
    EventId id;
    if (cells.size() != 3 + paths_.size() || !read_number(cells[0], id.run) ||
        !read_number(cells[1], id.number)) {
      throw Failure(fmt::format("{} has a line that is not one of an event: {}", index, line));
    }
    for (std::size_t source = 0; source < bytes.size(); ++source) {
      std::uint64_t of_fragment = 0;
      if (read_number(cells[3 + source], of_fragment)) bytes[source] += of_fragment;
    }
    if (!written_.contains(id)) written_.insert(id);
    ++events_there_;
  }
  cut_off(index, whole);
  for (std::size_t source = 0; source < bytes.size(); ++source) {
    std::error_code error;
    const std::uintmax_t there = std::filesystem::file_size(paths_[source], error);
    if (error || there < bytes[source]) {
      throw Failure(fmt::format("{} has less than {} says", paths_[source], index));
    }
    cut_off(paths_[source], bytes[source]);
  }
}

std::string EventFiles::line(const Event& event) const {
  std::string text =
      fmt::format("{}\t{}\t{}{}", event.id().run, event.id().number,
                  event.complete() ? "complete" : "incomplete", event.again() ? " again" : "");
  for (std::size_t source = 0; source < event.size(); ++source) {
    text += "\t" + cell(event[source], sizes_[source]);
  }
  return text + "\n";
}

// The index last: an event that it lists is whole.
void EventFiles::write(const Event& event) {
  if (state() != Output::State::open) return;
  if (written_.contains(event.id())) return;
  std::ranges::fill(sizes_, 0U);
  for (std::size_t source = 0; source < event.size(); ++source) {
    const EventFragment fragment = event[source];
    if (!fragment.here) continue;
    const std::span<const std::byte> bytes = payload_.of(fragment.message);
    sizes_[source] = bytes.size();
    sources_[source]->append(bytes);
    sources_[source]->flush();
    if (sources_[source]->state() != Output::State::open) return;
  }
  const std::string text = line(event);
  index_->append(std::as_bytes(std::span(text)));
  index_->flush();
  if (index_->state() != Output::State::open) return;
  written_.insert(event.id());
  ++events_;
  for (const std::size_t each : sizes_) bytes_ += each;
}

// Null: none.
const Output* EventFiles::failed() const noexcept {
  for (const auto& each : sources_) {
    if (each->state() != Output::State::open) return each.get();
  }
  return index_->state() != Output::State::open ? index_.get() : nullptr;
}

Output::State EventFiles::state() const noexcept {
  const Output* const output = failed();
  return output == nullptr ? Output::State::open : output->state();
}

std::string EventFiles::error() const {
  const Output* const output = failed();
  if (output == nullptr) return {};
  return fmt::format("cannot write to {}: {}", output->name(), output->error());
}

}  // namespace netio::cli
