package netio.bench;

/** Times by three significant digits: the steps are those of bench/worker/histogram.hpp. */
final class Histogram {
    private static final int EXACT_BITS = 11;
    private static final int EXACT_COUNT = 1 << EXACT_BITS;
    private static final int HALF_COUNT = EXACT_COUNT / 2;

    private final long[] counts = new long[EXACT_COUNT + (64 - EXACT_BITS) * HALF_COUNT];

    void add(long ns) {
        ++counts[indexOf(ns)];
    }

    /** Each step that has any, its lowest time and how many, as JSON. */
    String toJson() {
        final StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < counts.length; ++i) {
            if (counts[i] == 0) continue;
            if (text.length() > 1) text.append(',');
            text.append('[').append(lowest(i)).append(',').append(counts[i]).append(']');
        }
        return text.append(']').toString();
    }

    private static int indexOf(long ns) {
        if (ns < EXACT_COUNT) return (int) ns;
        final int shift = Long.SIZE - Long.numberOfLeadingZeros(ns) - EXACT_BITS;
        return shift * HALF_COUNT + (int) (ns >>> shift);
    }

    private static long lowest(int index) {
        if (index < EXACT_COUNT) return index;
        final int shift = index / HALF_COUNT - 1;
        return (long) (index - shift * HALF_COUNT) << shift;
    }
}
