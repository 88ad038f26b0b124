#!/bin/sh
# bench-aeron: runs what Maven has built, with the options that Aeron's own measurements are run
# with: no checks of bounds, memory taken at the start, few pauses.
here=$(dirname "$0")/aeron
exec java -XX:+UseSerialGC -Xms128m -Xmx128m -XX:+AlwaysPreTouch -XX:-UsePerfData \
  -XX:+UnlockDiagnosticVMOptions -XX:GuaranteedSafepointInterval=300000 \
  --add-opens java.base/jdk.internal.misc=ALL-UNNAMED --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
  -Dagrona.disable.bounds.checks=true \
  -cp "$here/target/bench-aeron.jar:$here/target/dependency/*" netio.bench.Main "$@"
