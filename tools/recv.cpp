#include "recv.hpp"

#include <string_view>

#include <netio/pull.hpp>

#include "receiving_session.hpp"
#include "session_options.hpp"

namespace netio::cli {

namespace {

class RecvSession final : public ReceivingSession {
 public:
  explicit RecvSession(const RecvArguments& arguments)
      : ReceivingSession(arguments, "recv", "sender", Verifier::Begin::at_zero),
        pull_(context_, socket_options(arguments.peer, Mode::buffered)) {
    use(pull_, pull_);
  }

 private:
  void judge() override {
    fail_for_lost(pull_.books().missed, "lost while a sender was disconnected");
  }
  [[nodiscard]] std::string_view advice_for(const Verification& checked) const override;
  void complete(Summary& summary) const override { summary.kind = Summary::Kind::received; }

  Pull pull_;
};

std::string_view RecvSession::advice_for(const Verification& checked) const {
  if (checked.unstamped_senders != 0) {
    return "the first message of a sender bears no checksum: it was started without --verify";
  }
  if (checked.gaps != 0) {
    return "numbers are skipped by a sender that has several receivers, or was joined in "
           "mid-stream: say --shared";
  }
  return {};
}

}  // namespace

ExitCode run_recv(const RecvArguments& arguments) { return RecvSession(arguments).run(); }

}  // namespace netio::cli
