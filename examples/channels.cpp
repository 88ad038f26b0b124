// Moves ten messages over a channel that the command line describes, as it does for FairMQ's
// devices:
//   channels --channel-config name=data,type=pull,method=bind,address=tcp://*:5555
//   channels --channel-config name=data,type=push,method=connect,address=tcp://localhost:5555
#include <cstdio>
#include <string>

#include <netio/channels.hpp>

int main(int argc, char** argv) try {
  netio::Context context;
  netio::Channels channels(context, netio::take_channels(argc, argv));
  for (const netio::ChannelConfig& channel : channels.configs()) {
    for (const auto& remark : channel.remarks) std::fprintf(stderr, "%s\n", remark.text.c_str());
  }
  if (channels.configs().at(0).pattern == netio::ChannelPattern::pull) {
    netio::Pull& pull = channels.pull("data");
    std::printf("pulling at %s\n", channels.addresses("data").front().c_str());
    std::fflush(stdout);
    pull.on_message([count = 0, &context](const netio::MessageView& message) mutable {
      std::printf("%s\n", std::string(message.text()).c_str());
      if (++count == 10) context.close();
    });
    context.run();
  } else {
    netio::Push& push = channels.push("data");
    push.on_up([&](const netio::PeerInfo&) {
      for (int i = 0; i < 10; ++i) (void)push.send("event " + std::to_string(i));
      context.close();
    });
    context.run();
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
