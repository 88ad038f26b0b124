package netio.bench;

/**
 * What `netio bench` tells a worker on its command line, as far as this one can do it
 * (bench/worker/options.hpp has all of it).
 */
final class Options {
    String role = "";
    String name = "";
    int messageBytes = 64;
    String wait = "sleep";
    long connectionFirst = 0;
    double rate = 0;
    boolean verify = false;
    boolean idle = false;

    Options(String[] words) {
        if (words.length > 0) role = words[0];
        for (int at = 1; at < words.length; ++at) {
            if (words[at].equals("--verify")) verify = true;
            else if (words[at].equals("--idle")) idle = true;
            else if (at + 1 == words.length) throw new IllegalArgumentException(words[at] + " needs a value");
            else take(words[at], words[++at]);
        }
        if (name.isEmpty()) throw new IllegalArgumentException("aeron is measured in shared memory: --name");
        if (wait.equals("sleep")) throw new IllegalArgumentException("aeron has nothing that wakes who sleeps");
    }

    private void take(String word, String value) {
        switch (word) {
            case "--name" -> name = value;
            case "--size" -> messageBytes = Integer.parseInt(value);
            case "--wait" -> wait = value;
            case "--connection-first" -> connectionFirst = Long.parseLong(value);
            case "--rate" -> rate = Double.parseDouble(value);
            case "--mode", "--cpu" -> { }  // messages are handed over at once; its threads share all cores
            case "--connections" -> {
                if (!value.equals("1")) throw new IllegalArgumentException("one connection only");
            }
            default -> throw new IllegalArgumentException("aeron has no " + word);
        }
    }
}
