package netio.bench;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.FragmentHandler;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * One direction between the two processes, over aeron:ipc: what is sent, or what comes. Messages
 * that fit a fragment are written where the other end reads them; larger ones are copied.
 */
final class Channel {
    private static final int FRAGMENTS_MAX = 256;  // that one look takes, as in Aeron's own measurements
    // The driver lets a sender be half a term ahead, and looks at it now and then: a term of 16 MiB
    // is some milliseconds of small messages. A message takes an eighth of a term at most.
    private static final int TERM_BYTES_MIN = 16 << 20;
    private static final int TERM_BYTES_MAX = 128 << 20;
    private static final int MTU_BYTES = 65504;  // the largest that there is

    private Channel() { }

    static String uri(int messageBytes) {
        int term = TERM_BYTES_MIN;
        while (term < TERM_BYTES_MAX && term / 8 < messageBytes) term *= 2;
        return "aeron:ipc?term-length=" + term + "|mtu=" + MTU_BYTES;
    }

    static final class Outlet {
        private final ExclusivePublication publication;
        private final BufferClaim claim = new BufferClaim();
        private final UnsafeBuffer large;
        private final int bytes;

        Outlet(Aeron aeron, int stream, int bytes) {
            publication = aeron.addExclusivePublication(uri(bytes), stream);
            large = bytes <= publication.maxPayloadLength() ? null : new UnsafeBuffer(new byte[bytes]);
            this.bytes = bytes;
        }

        void close() {
            publication.close();
        }

        /** False if it is to be tried again: the other end is half a term behind. */
        boolean trySend(Stamp stamp) {
            final long position;
            if (large == null) {
                position = publication.tryClaim(bytes, claim);
                if (position > 0) {
                    stamp.write(claim.buffer(), claim.offset(), bytes);
                    claim.commit();
                }
            } else {
                stamp.write(large, 0, bytes);
                position = publication.offer(large, 0, bytes);
            }
            if (position > 0) stamp.advance();
            return taken(position);
        }

        boolean trySend(DirectBuffer message, int at) {
            if (large != null) return taken(publication.offer(message, at, bytes));
            final long position = publication.tryClaim(bytes, claim);
            if (position > 0) {
                claim.putBytes(message, at, bytes);
                claim.commit();
            }
            return taken(position);
        }

        /** Who is gone takes nothing, as who is slow: the command tells us when to stop. */
        private static boolean taken(long position) {
            if (position == Publication.CLOSED || position == Publication.MAX_POSITION_EXCEEDED) {
                throw new IllegalStateException("the publication has ended: " + position);
            }
            return position > 0;
        }
    }

    static final class Inlet {
        private final Subscription subscription;
        private final FragmentAssembler assembler;
        private final IdleStrategy idle;

        Inlet(Aeron aeron, int stream, int bytes, IdleStrategy idle, FragmentHandler onMessage) {
            subscription = aeron.addSubscription(uri(bytes), stream);
            assembler = new FragmentAssembler(onMessage);
            this.idle = idle;
        }

        void close() {
            subscription.close();
        }

        /** Hands over what has come; idles if that was nothing. */
        void poll() {
            idle.idle(subscription.poll(assembler, FRAGMENTS_MAX));
        }
    }
}
