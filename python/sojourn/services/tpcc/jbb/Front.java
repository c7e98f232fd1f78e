import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * One thread reads requests into the line; workers take them from it, answer, and write.
 *
 * A connection has at most one request in the line or in service: the next one that has already been
 * read goes to the end of the line when its reply is written. So replies keep their order.
 */
final class Front implements AutoCloseable {
    private static final int READ_BYTES_MAX = 1 << 16;
    private static final long PATIENCE_NS = 1_000_000_000;

    record Job(Connection from, Http.Request request) {}

    final LinkedBlockingQueue<Job> line = new LinkedBlockingQueue<>();
    private final Selector selector = Selector.open();
    private final ServerSocketChannel listener = ServerSocketChannel.open();

    Front(String host, int port) throws IOException {
        listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
        listener.bind(new InetSocketAddress(host, port), 4096);
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
    }

    int port() throws IOException {
        return ((InetSocketAddress) listener.getLocalAddress()).getPort();
    }

    /** Serves until it is closed. */
    void run() throws IOException {
        ByteBuffer room = ByteBuffer.allocateDirect(READ_BYTES_MAX);
        while (selector.isOpen()) {
            selector.select(key -> {
                if (key.isAcceptable()) {
                    accept();
                } else if (!((Connection) key.attachment()).take(room)) {
                    key.cancel();
                    shut((SocketChannel) key.channel());
                }
            });
        }
    }

    private void accept() {
        try {
            for (SocketChannel one = listener.accept(); one != null; one = listener.accept()) {
                one.configureBlocking(false);
                one.setOption(StandardSocketOptions.TCP_NODELAY, true);
                one.register(selector, SelectionKey.OP_READ, new Connection(one));
            }
        } catch (IOException gone) {
            // Who hung up before it was let in is not missed.
        }
    }

    private static void shut(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException gone) {
            // It is closed either way.
        }
    }

    @Override
    public void close() throws IOException {
        selector.close();
        listener.close();
    }

    /** Known to the reader, and to the worker that serves it. */
    final class Connection {
        private final SocketChannel channel;
        private byte[] input = new byte[512];
        private int length;
        private boolean isServed;

        Connection(SocketChannel channel) {
            this.channel = channel;
        }

        /** Reads what has come; false if there will be no more. */
        private synchronized boolean take(ByteBuffer room) {
            try {
                room.clear();
                int count = channel.read(room);
                room.flip();
                if (count < 0 || length + count > READ_BYTES_MAX) {
                    return false;
                }
                if (length + count > input.length) {
                    input = Arrays.copyOf(input, 2 * (length + count));
                }
                room.get(input, length, count);
                length += count;
                return isServed || advance();
            } catch (IOException gone) {
                return false;
            }
        }

        /** Puts the next request that was read into the line; false if it cannot be understood. */
        private boolean advance() {
            try {
                Http.Request request = Http.parse(input, length);
                if (request != null) {
                    length -= request.used();
                    System.arraycopy(input, request.used(), input, 0, length);
                    isServed = true;
                    line.add(new Job(this, request));
                }
                return true;
            } catch (IllegalArgumentException broken) {
                return false;
            }
        }

        /** Writes all of a reply; afterwards the next request of it may come. */
        void reply(byte[] bytes, boolean isLast) {
            boolean isTaken = put(ByteBuffer.wrap(bytes));
            synchronized (this) {
                isServed = false;
                if (isLast || !isTaken || !advance()) {
                    shut(channel);
                }
            }
        }

        private boolean put(ByteBuffer reply) {
            long end = System.nanoTime() + PATIENCE_NS;
            try {
                while (reply.hasRemaining()) {
                    if (channel.write(reply) == 0) {
                        if (System.nanoTime() > end) {
                            return false;
                        }
                        LockSupport.parkNanos(50_000);
                    }
                }
                return true;
            } catch (IOException gone) {
                return false;
            }
        }
    }
}
