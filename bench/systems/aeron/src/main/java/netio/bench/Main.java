package netio.bench;

import io.aeron.Aeron;
import io.aeron.CommonContext;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.BusySpinIdleStrategy;
import org.agrona.concurrent.IdleStrategy;

/**
 * Aeron between two processes: aeron:ipc, an exclusive publication each way. The media driver is a
 * thread of the end that binds. It is not on the messages' way, so it is one thread that backs off
 * (SHARED): with one that spins, three threads would spin on the two cores of a small machine.
 */
final class Main {
    private static final int THERE = 1;
    private static final int BACK = 2;
    // Each end's own, to have its code compiled before it says that it is ready.
    private static final int WARM_UP_BINDER = 3;
    private static final int WARM_UP_DIALER = 4;
    private static final long WARM_UP_NS = 1_000_000_000L;

    private final Worker worker;
    private final Options options;
    private final Aeron aeron;

    private Main(Worker worker, Aeron aeron) {
        this.worker = worker;
        this.options = worker.options;
        this.aeron = aeron;
    }

    private IdleStrategy idle() {
        return options.wait.equals("spin") ? BusySpinIdleStrategy.INSTANCE : new BackoffIdleStrategy();
    }

    /** Sends to itself what it will send, and takes and times it as it will. */
    private void warmUp(int stream) {
        final Tally tally = new Tally(options.messageBytes, options.verify);
        final Histogram times = new Histogram();
        final Stamp stamp = new Stamp(0, options.verify);
        final var inlet = new Channel.Inlet(aeron, stream, options.messageBytes, BusySpinIdleStrategy.INSTANCE,
            (buffer, at, bytes, header) -> tally.take(buffer, at, bytes));
        final var outlet = new Channel.Outlet(aeron, stream, options.messageBytes);
        final long begin = System.nanoTime();
        for (long now = begin; now - begin < WARM_UP_NS; now = System.nanoTime()) {
            for (int i = 0; i < 100; ++i) outlet.trySend(stamp);
            inlet.poll();
            times.add(now - begin);
        }
        inlet.close();
        outlet.close();
    }

    private void receive() {
        final var inlet = new Channel.Inlet(aeron, THERE, options.messageBytes, idle(),
            (buffer, at, bytes, header) -> worker.tally.take(buffer, at, bytes));
        warmUp(WARM_UP_BINDER);
        worker.ready();
        while (!worker.stopping()) inlet.poll();
    }

    private void send() {
        warmUp(WARM_UP_DIALER);
        final var outlet = new Channel.Outlet(aeron, THERE, options.messageBytes);
        final Stamp stamp = new Stamp(options.connectionFirst, options.verify);
        final IdleStrategy idle = idle();
        worker.ready();
        while (!worker.stopping()) idle.idle(!options.idle && outlet.trySend(stamp) ? 1 : 0);
    }

    private void reply() {
        final var outlet = new Channel.Outlet(aeron, BACK, options.messageBytes);
        final var inlet = new Channel.Inlet(aeron, THERE, options.messageBytes, idle(),
            (buffer, at, bytes, header) -> sendBack(outlet, buffer, at, bytes));
        warmUp(WARM_UP_BINDER);
        worker.ready();
        while (!worker.stopping()) inlet.poll();
    }

    private void sendBack(Channel.Outlet outlet, DirectBuffer buffer, int at, int bytes) {
        worker.tally.take(buffer, at, bytes);
        while (!outlet.trySend(buffer, at) && !worker.stopping()) Thread.onSpinWait();
    }

    private long returned = 0;

    /** In turns: an open loop's late request counts from its intended time. */
    private void request() {
        final var inlet = new Channel.Inlet(aeron, BACK, options.messageBytes, idle(),
            (buffer, at, bytes, header) -> {
                worker.tally.take(buffer, at, bytes);
                ++returned;
            });
        warmUp(WARM_UP_DIALER);
        final var outlet = new Channel.Outlet(aeron, THERE, options.messageBytes);
        final Stamp stamp = new Stamp(0, options.verify);
        worker.ready();
        final long first = System.nanoTime();
        for (long sent = 0; !worker.stopping(); ++sent) {
            final long begin = worker.await(sent, first);
            while (!outlet.trySend(stamp) && !worker.stopping()) Thread.onSpinWait();
            while (returned <= sent && !worker.stopping()) inlet.poll();
            if (returned > sent) worker.roundTrip(System.nanoTime() - begin);
        }
    }

    private void run() {
        switch (options.role) {
            case "receive" -> receive();
            case "send" -> send();
            case "reply" -> reply();
            case "request" -> request();
            default -> throw new IllegalArgumentException("the first word is receive, send, reply or request");
        }
        worker.finish();
    }

    private static MediaDriver driver(String folder) {
        return MediaDriver.launch(new MediaDriver.Context()
            .aeronDirectoryName(folder)
            .dirDeleteOnShutdown(true)
            .threadingMode(ThreadingMode.SHARED)
            .sharedIdleStrategy(new BackoffIdleStrategy())
            .termBufferSparseFile(false));
    }

    private static void run(String[] words) {
        final Options options = new Options(words);
        final String folder = CommonContext.getAeronDirectoryName() + "-netio-bench-" + options.name;
        final boolean binds = options.role.equals("receive") || options.role.equals("reply");
        try (MediaDriver driver = binds ? driver(folder) : null;
             Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(folder))) {
            new Main(new Worker(options), aeron).run();
        }
    }

    public static void main(String[] words) {
        try {
            run(words);
        } catch (RuntimeException error) {
            Worker.answer("{\"error\":\"" + String.valueOf(error.getMessage()).replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"}");
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0);
    }
}
