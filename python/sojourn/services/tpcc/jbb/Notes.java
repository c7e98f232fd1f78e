import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Service times of one worker in the making, and the report of all; as crates/query/src/report.rs. */
final class Notes {
    /** Consecutive services whose mean is taken as one independent number. */
    private static final int BATCH = 64;
    private static final int BATCHES_MIN = 8;
    /** Student's 97.5 % for 7 degrees of freedom: never too narrow for eight batches or more. */
    private static final double STUDENT = 2.365;
    /** Bits of a time that are counted by: one part in 512, as in install/sources/notes.hpp. */
    private static final int BITS = 9;

    private final long[] times = new long[64 << BITS];
    private final List<Double> means = new ArrayList<>();
    private double batchNs;
    private double sumNs;
    private long cpuNs;
    private long longestNs;
    private long answered;
    private long refused;

    synchronized void answered(long ns, long cpu) {
        times[slot(ns)]++;
        longestNs = Math.max(longestNs, ns);
        answered++;
        cpuNs += cpu;
        sumNs += ns;
        batchNs += ns;
        if (answered % BATCH == 0) {
            means.add(batchNs / BATCH);
            batchNs = 0;
        }
    }

    synchronized void refused() {
        refused++;
    }

    /** Where a time is counted: its highest bit, and the nine below that. */
    static int slot(long ns) {
        int high = 63 - Long.numberOfLeadingZeros(Math.max(1, ns));
        int shift = Math.max(0, high - BITS);
        return (shift << BITS) + (int) (ns >>> shift);
    }

    /** The longest time that is counted there. */
    static long most(int slot) {
        int shift = Math.max(0, (slot >> BITS) - 1);
        return ((long) (slot - (shift << BITS) + 1) << shift) - 1;
    }

    /** What all workers noted, as members of a JSON object. */
    static String report(List<Notes> all) {
        long[] times = new long[64 << BITS];
        List<Double> means = new ArrayList<>();
        StringBuilder byWorker = new StringBuilder();
        long answered = 0;
        long refused = 0;
        double sumNs = 0;
        double cpuNs = 0;
        long longestNs = 0;
        for (Notes one : all) {
            synchronized (one) {
                for (int slot = 0; slot < times.length; slot++) {
                    times[slot] += one.times[slot];
                }
                means.addAll(one.means);
                answered += one.answered;
                refused += one.refused;
                sumNs += one.sumNs;
                cpuNs += one.cpuNs;
                longestNs = Math.max(longestNs, one.longestNs);
                byWorker.append(byWorker.isEmpty() ? "" : ",").append(one.answered);
            }
        }
        double many = Math.max(1, answered);
        return "\"answered\":" + answered + ",\"refused\":" + refused
                + ",\"service_ns\":" + bounded(means, sumNs / many, answered)
                + ",\"service\":" + quantiles(times, answered, longestNs)
                + ",\"cpu_ns\":" + number(cpuNs / many) + ",\"by_worker\":[" + byWorker + "]";
    }

    /** The mean of all with Student's interval from the means of batches (M9). */
    private static String bounded(List<Double> means, double mean, long count) {
        String ends = "null,\"hi\":null";
        if (means.size() >= BATCHES_MIN) {
            double n = means.size();
            double middle = means.stream().mapToDouble(one -> one).sum() / n;
            double square = means.stream().mapToDouble(one -> (one - middle) * (one - middle)).sum();
            double half = STUDENT * Math.sqrt(square / (n - 1) / n);
            ends = number(mean - half) + ",\"hi\":" + number(mean + half);
        }
        return "{\"mean\":" + number(mean) + ",\"lo\":" + ends + ",\"count\":" + count + "}";
    }

    /** Quantiles by the upper ends of where they are counted: no tail looks shorter than it is. */
    private static String quantiles(long[] times, long count, long longestNs) {
        String[] names = {"p50", "p90", "p95", "p99", "p999"};
        double[] shares = {0.5, 0.9, 0.95, 0.99, 0.999};
        StringBuilder text = new StringBuilder("{");
        for (int nth = 0; nth < names.length; nth++) {
            long wanted = (long) Math.ceil(shares[nth] * count);
            long seen = 0;
            int slot = 0;
            while (slot < times.length && (seen += times[slot]) < Math.max(1, wanted)) {
                slot++;
            }
            String value = count == 0 ? "null" : Long.toString(Math.min(most(slot), longestNs));
            text.append('"').append(names[nth]).append("\":").append(value).append(',');
        }
        String longest = count == 0 ? "null" : Long.toString(longestNs);
        return text.append("\"max\":" + longest + ",\"count\":" + count + '}').toString();
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
