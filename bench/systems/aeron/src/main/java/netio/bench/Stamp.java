package netio.bench;

import org.agrona.MutableDirectBuffer;

/** Writes the next message of one connection, as bench/worker/tally.hpp. */
final class Stamp {
    static final int SEQUENCE_BITS = 40;

    private final boolean fill;
    private long word;

    Stamp(long connection, boolean fill) {
        this.word = connection << SEQUENCE_BITS;
        this.fill = fill;
    }

    /** Without `fill` all but its number stays as it is. */
    void write(MutableDirectBuffer buffer, int at, int bytes) {
        buffer.putLong(at, word);
        if (!fill) return;
        for (int i = 8; i < bytes; ++i) buffer.putByte(at + i, filler(word, i));
    }

    /** It was sent. */
    void advance() {
        ++word;
    }

    static byte filler(long word, int at) {
        return (byte) ((word + at) * 0x9e3779b97f4a7c15L >>> 56);
    }
}
