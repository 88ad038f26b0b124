package netio.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One end of a measurement. The system runs on the main thread; another obeys the lines on
 * standard input: snap, record, stop (bench/worker/worker.hpp).
 */
final class Worker {
    private static final long PAGE_BYTES = 4096;

    final Options options;
    final Tally tally;
    private final Histogram roundTrips = new Histogram();
    private volatile boolean stopping = false;
    private volatile boolean recording = false;

    Worker(Options options) {
        this.options = options;
        this.tally = new Tally(options.messageBytes, options.verify);
    }

    /** Bound or connected: the other end may be started, or the clock. */
    void ready() {
        answer("{\"ready\":true,\"port\":0}");
        final Thread control = new Thread(this::obey, "control");
        control.setDaemon(true);
        control.start();
    }

    boolean stopping() {
        return stopping;
    }

    void roundTrip(long ns) {
        if (recording) roundTrips.add(Math.max(ns, 0));
    }

    void finish() {
        final String times = options.role.equals("request") ? ",\"round_trips\":" + roundTrips.toJson() : "";
        answer("{\"end\":true,\"faults\":" + tally.faults.get() + times + "}");
    }

    static void answer(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private void obey() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = lines.readLine(); line != null && !line.equals("stop"); line = lines.readLine()) {
                if (line.equals("record")) recording = true;
                answer(line.equals("snap") ? usage() : "{}");
            }
        } catch (IOException error) {
            answer("{\"error\":\"standard input cannot be read\"}");
        }
        stopping = true;
    }

    private String usage() throws IOException {
        final var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        final String[] pages = Files.readString(Path.of("/proc/self/statm")).split(" ");
        return String.format(
            "{\"ns\":%d,\"cpu_ns\":%d,\"switches\":%d,\"resident_bytes\":%d,\"messages\":%d,\"faults\":%d}",
            System.nanoTime(), system.getProcessCpuTime(), switches(),
            Long.parseLong(pages[1]) * PAGE_BYTES, tally.messages.get(), tally.faults.get());
    }

    /** Of all threads that there are: none ends while it is measured. */
    private static long switches() throws IOException {
        long count = 0;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks) {
                for (String line : Files.readAllLines(task.resolve("status"))) {
                    if (line.contains("ctxt_switches:")) count += Long.parseLong(line.split("\\s+")[1]);
                }
            }
        }
        return count;
    }

    /** Until it is time for request `number`, if there is a rate; says from when it counts. */
    long await(long number, long first) {
        if (options.rate <= 0) return System.nanoTime();
        final long due = first + (long) (1e9 / options.rate * number);
        while (System.nanoTime() < due) Thread.onSpinWait();
        return due;
    }
}
