import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/**
 * SPECjbb's shape: an order service in a Java virtual machine. One thread reads requests into one
 * line, N threads called worker-0, worker-1, … take them from it, and each warehouse serves one of
 * them at a time; there are as many warehouses as workers, whatever the load (PAPERS P11).
 *
 * The life of it: rehearse on a company of its own until the compiler is done, build the real one,
 * listen, serve until SIGTERM, report.
 *
 * Reading order: Draw (what is asked), Told, Warehouse, Company, Http, Front, Notes, Machine.
 */
public final class Jbb {
    private static final Http.Request HOME = new Http.Request(0, Http.NONE, true);

    private final Options options;
    private final Company company;
    private final Machine machine;
    private final List<Notes> notes = new ArrayList<>();
    private final List<Thread> workers = new ArrayList<>();

    private Jbb(Options options, Machine machine) {
        this.options = options;
        this.machine = machine;
        company = new Company(options);
        if (options.isSpoilt) {
            company.spoil();
        }
    }

    public static void main(String[] words) throws Exception {
        Options options;
        try {
            options = new Options(words);
        } catch (IllegalArgumentException mistake) {
            System.err.println("error: " + mistake.getMessage());
            System.exit(2);
            return;
        }
        Machine machine = new Machine();
        rehearse(options, machine);
        System.gc(); // what the rehearsal left is no part of what is measured
        Jbb service = new Jbb(options, machine);
        if (options.measure > 0) {
            service.measure();
        } else {
            service.serve();
        }
    }

    /** Lets the compiler see the work, on a company that is thrown away. */
    private static void rehearse(Options options, Machine machine) throws InterruptedException {
        Company one = new Company(options);
        machine.warm(options.warm, options.threads, () -> rehearse(one, options.queries));
    }

    private static void rehearse(Company one, long queries) {
        long query = (long) (Math.random() * queries);
        byte[] bytes = ("GET /q/" + query + " HTTP/1.1\r\nHost: warm\r\n\r\n").getBytes();
        Http.reply("200 OK", one.answer(Http.parse(bytes, bytes.length).query()));
    }

    /** One query after the other in this thread: what one thread can do without a socket. */
    private void measure() throws IOException {
        notes.add(new Notes());
        long end = System.nanoTime() + (long) (options.measure * 1e9);
        for (long query = 0; System.nanoTime() < end; query = (query + 1) % options.queries) {
            answer(query, notes.get(0));
        }
        report();
    }

    private void serve() throws IOException {
        Front front = new Front(options.host, options.port);
        for (int nth = 0; nth < options.threads; nth++) {
            Notes own = new Notes();
            notes.add(own);
            workers.add(new Thread(() -> work(front, own), "worker-" + nth));
        }
        workers.forEach(Thread::start);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(front), "end"));
        System.out.println("{\"listening\":\"" + options.host + ":" + front.port()
                + "\",\"port\":" + front.port() + ",\"work\":\"specjbb\"}");
        System.out.flush();
        try {
            front.run();
        } catch (ClosedSelectorException over) {
            // The end has come; the hook does the rest.
        }
    }

    /** Sends all workers home, then reports: nobody is at work any more. */
    private void end(Front front) {
        try {
            front.close();
            front.line.clear();
            workers.forEach(worker -> front.line.add(new Front.Job(null, HOME)));
            for (Thread worker : workers) {
                worker.join();
            }
            report();
            if (check().contains("\"broken\"")) {
                System.err.println("error: the data do not hold together: " + check());
                Runtime.getRuntime().halt(1);
            }
        } catch (IOException | InterruptedException failed) {
            System.err.println("error: the report cannot be written: " + failed);
        }
    }

    private void work(Front front, Notes own) {
        while (true) {
            Front.Job job;
            try {
                job = front.line.take();
            } catch (InterruptedException over) {
                return;
            }
            if (job.from() == null) {
                return;
            }
            job.from().reply(reply(job.request().query(), own), job.request().isLast());
        }
    }

    private byte[] reply(long asked, Notes own) {
        if (asked == Http.CHECK) {
            return Http.reply("200 OK", check() + "\n");
        }
        if (asked >= 0 && asked < options.queries) {
            try {
                return Http.reply("200 OK", answer(asked, own));
            } catch (RuntimeException broken) {
                System.err.println("query " + asked + ": " + broken);
                own.refused();
                return Http.reply("500 Internal Server Error", "the data are broken\n");
            }
        }
        own.refused();
        if (asked == Http.NOT_GET) {
            return Http.reply("405 Method Not Allowed", "ask GET /q/{n}\n");
        }
        String why = asked >= 0 ? "there is no query " + asked : "ask GET /q/{n}";
        return Http.reply("404 Not Found", why + "\n");
    }

    private String answer(long query, Notes own) {
        long began = System.nanoTime();
        long cpuNs = Machine.cpuNs();
        String body = company.answer(query);
        own.answered(System.nanoTime() - began, Machine.cpuNs() - cpuNs);
        return body;
    }

    private String check() {
        return "{" + company.check() + "," + machine.told() + "}";
    }

    private void report() throws IOException {
        String text = "{\"schema\":\"sojourn.query.report/1\",\"program\":\"specjbb on Java "
                + Runtime.version() + "\",\"settings\":" + options.settings() + ","
                + Notes.report(notes) + ",\"check\":" + check() + "}\n";
        if (options.json.isEmpty()) {
            System.out.print(text);
            System.out.flush();
            return;
        }
        Path path = Path.of(options.json);
        Path beside = Path.of(options.json + ".part");
        Files.writeString(beside, text);
        Files.move(beside, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
}
