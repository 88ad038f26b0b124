package netio.bench;

import java.util.concurrent.atomic.AtomicLong;
import org.agrona.DirectBuffer;

/** Counts and checks on the receiving thread; another may read the counts at any time. */
final class Tally {
    private static final int LINE_BYTES = 64;

    final AtomicLong messages = new AtomicLong();
    final AtomicLong faults = new AtomicLong();
    private final int messageBytes;
    private final boolean verify;
    private long next = 0;
    private long count = 0;
    private long touched = 0;  // a sum, so that reading is not left out

    Tally(int messageBytes, boolean verify) {
        this.messageBytes = messageBytes;
        this.verify = verify;
    }

    void take(DirectBuffer buffer, int at, int bytes) {
        if (bytes != messageBytes) {
            faults.incrementAndGet();
            return;
        }
        final long word = buffer.getLong(at);
        if (word != next++) faults.incrementAndGet();
        long sum = 0;
        for (int i = LINE_BYTES; i < bytes; i += LINE_BYTES) sum += buffer.getByte(at + i);
        touched += sum;
        if (verify) check(buffer, at, word);
        messages.lazySet(++count);
    }

    private void check(DirectBuffer buffer, int at, long word) {
        for (int i = 8; i < messageBytes; ++i) {
            if (buffer.getByte(at + i) == Stamp.filler(word, i)) continue;
            faults.incrementAndGet();
            return;
        }
    }
}
