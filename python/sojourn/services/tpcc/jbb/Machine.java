import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

import com.sun.management.GarbageCollectionNotificationInfo;

/** The virtual machine itself: what its compiler and its collector have done so far. */
final class Machine {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
    private final AtomicLong pauses = new AtomicLong();
    private final AtomicLong pausedMs = new AtomicLong();
    private final AtomicLong longestMs = new AtomicLong();
    private volatile double warmedS;
    private volatile long lastMs;

    Machine() {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) bean).addNotificationListener((told, ignored) -> {
                CompositeData data = (CompositeData) told.getUserData();
                long ms = GarbageCollectionNotificationInfo.from(data).getGcInfo().getDuration();
                pauses.incrementAndGet();
                pausedMs.addAndGet(ms);
                longestMs.accumulateAndGet(ms, Math::max);
            }, null, null);
        }
    }

    /** CPU time of this thread, ns. */
    static long cpuNs() {
        return THREADS.getCurrentThreadCpuTime();
    }

    private long compiledMs() {
        return compiler == null ? 0 : compiler.getTotalCompilationTime();
    }

    /** Lets `threads` of them work for so long, and keeps what was compiled in the last second. */
    void warm(double seconds, int threads, Runnable work) throws InterruptedException {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        Thread[] all = new Thread[threads];
        for (int nth = 0; nth < threads; nth++) {
            all[nth] = new Thread(() -> {
                while (System.nanoTime() < end) {
                    work.run();
                }
            }, "warm-" + nth);
            all[nth].start();
        }
        Thread.sleep(Math.max(0, (long) (seconds * 1000) - 1000));
        long before = compiledMs();
        for (Thread one : all) {
            one.join();
        }
        warmedS = seconds;
        lastMs = compiledMs() - before;
    }

    /** Members of a JSON object. */
    String told() {
        return "\"warmed_s\":" + warmedS + ",\"jit_ms\":" + compiledMs() + ",\"jit_last_s_ms\":"
                + lastMs + ",\"gc_pauses\":" + pauses + ",\"gc_ms\":" + pausedMs
                + ",\"gc_longest_ms\":" + longestMs;
    }
}
