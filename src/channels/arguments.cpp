// The options of a command line that are about channels. FairMQ's programs have the same ones.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "channels/draft.hpp"
#include "channels/words.hpp"

namespace netio {

namespace {

struct Options {
  std::vector<std::string_view> texts;
  std::string_view file;
  std::string_view key;
  std::string_view id;
};

// Reads the words, and remembers which are none of its own.
class WordReader {
 public:
  WordReader(int argc, char** argv) : argv_(argv), end_(argc) {}

  Options read();
  // The words that are left, the program's name included.
  [[nodiscard]] const std::vector<char*>& rest() const noexcept { return rest_; }

 private:
  // The value of the option at hand: behind its '=', or the next word.
  std::string_view value_of(std::string_view option, std::string_view word);
  void take_texts(Options& options, std::string_view word);

  char** argv_;
  int end_;
  int at_ = 0;
  std::vector<char*> rest_;
};

bool is_option(std::string_view word, std::string_view option) {
  return word == option || (word.starts_with(option) && word[option.size()] == '=');
}

std::string_view WordReader::value_of(std::string_view option, std::string_view word) {
  if (word.size() > option.size()) return word.substr(option.size() + 1);
  if (at_ + 1 >= end_ || std::string_view(argv_[at_ + 1]).starts_with('-')) {
    throw Error(
        "read the command line", std::string(option) + " has no value",
        std::string("write ") + std::string(option) +
            (option == "--channel-config" ? " name=data,type=push,method=bind,address=tcp://*:5555"
                                          : " and the value behind it"));
  }
  return argv_[++at_];
}

void WordReader::take_texts(Options& options, std::string_view word) {
  options.texts.push_back(value_of("--channel-config", word));
  while (at_ + 1 < end_) {
    const std::string_view next = argv_[at_ + 1];
    if (next.starts_with('-') || next.find('=') == std::string_view::npos) return;
    options.texts.push_back(next);
    ++at_;
  }
}

Options WordReader::read() {
  Options options;
  if (end_ > 0) rest_.push_back(argv_[0]);
  const auto once = [this](std::string_view& target, std::string_view option,
                           std::string_view word) {
    if (!target.empty()) {
      throw Error("read the command line", std::string(option) + " is given twice",
                  "keep one of them");
    }
    target = value_of(option, word);
  };
  for (at_ = 1; at_ < end_; ++at_) {
    const std::string_view word = argv_[at_];
    if (word == "--") break;
    if (is_option(word, "--channel-config")) {
      take_texts(options, word);
    } else if (is_option(word, "--mq-config")) {
      once(options.file, "--mq-config", word);
    } else if (is_option(word, "--config-key")) {
      once(options.key, "--config-key", word);
    } else if (is_option(word, "--id")) {
      once(options.id, "--id", word);
    } else {
      rest_.push_back(argv_[at_]);
    }
  }
  for (; at_ < end_; ++at_) rest_.push_back(argv_[at_]);
  return options;
}

}  // namespace

std::vector<ChannelConfig> take_channels(int& argc, char** argv) {
  WordReader reader(argc, argv);
  const Options options = reader.read();
  std::vector<ChannelConfig> channels;
  if (!options.file.empty()) {
    channels =
        read_channels(std::string(options.file), options.key.empty() ? options.id : options.key);
  } else if (!options.key.empty()) {
    throw Error("read the command line", "--config-key is given without --mq-config",
                "it says which device of the file is meant");
  }
  for (const std::string_view text : options.texts) {
    std::vector<ChannelConfig> more = parse_channel(text);
    std::ranges::move(more, std::back_inserter(channels));
  }
  check_channels(channels);
  std::ranges::copy(reader.rest(), argv);
  argc = static_cast<int>(reader.rest().size());
  argv[argc] = nullptr;
  return channels;
}

}  // namespace netio
