import java.nio.ByteBuffer;
import java.util.Base64;
import org.HdrHistogram.Histogram;

/** Prints count and 99th percentile of the histogram in the first argument, base64. */
class Read {
    public static void main(String[] words) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(words[0]));
        Histogram histogram = Histogram.decodeFromCompressedByteBuffer(bytes, 0);
        System.out.println(histogram.getTotalCount() + " " + histogram.getValueAtPercentile(99));
    }
}
