//! The native form: messages of `io.prometheus.client`, each with its length before it.
//!
//! A histogram has both kinds of buckets, so a Prometheus without native histograms loses nothing.
//! Source: `metrics.proto` of Prometheus' `client_model`; the numbers below are its field numbers.

use super::buckets::{SCHEMA, number};
use super::{ABOUT, COUNTS, Seen, TIMES};

/// What the answer is called in its head.
pub(super) const KIND: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

const COUNTER: u64 = 0;
const GAUGE: u64 = 1;
const HISTOGRAM: u64 = 4;

/// All numbers of a run as messages.
pub(super) fn body(seen: &Seen) -> Vec<u8> {
    let mut all = Vec::new();
    for ((name, is_counter, about), count) in COUNTS.iter().zip(seen.counts()) {
        let mut value = Message::default();
        value.double(1, count as f64);
        // As in the text form: there the name of a counter's value ends with `_total`.
        let (kind, field, suffix) =
            if *is_counter { (COUNTER, 3, "_total") } else { (GAUGE, 2, "") };
        let mut metric = Message::default();
        metric.inner(field, &value);
        family(&mut all, &format!("sojourn_load_{name}{suffix}"), about, kind, &metric);
    }
    let mut metric = Message::default();
    metric.inner(7, &histogram(seen));
    family(&mut all, TIMES, ABOUT, HISTOGRAM, &metric);
    all
}

fn family(all: &mut Vec<u8>, name: &str, about: &str, kind: u64, metric: &Message) {
    let mut family = Message::default();
    family.bytes(1, name.as_bytes());
    family.bytes(2, about.as_bytes());
    family.varint(3, kind);
    family.inner(4, metric);
    varint(all, family.0.len() as u64);
    all.extend(family.0);
}

fn histogram(seen: &Seen) -> Message {
    let mut made = Message::default();
    made.varint(1, seen.replies());
    made.double(2, seen.sum_ns as f64 / 1e9);
    for (upper_s, total) in seen.classic() {
        let mut bucket = Message::default();
        bucket.varint(1, total);
        bucket.double(2, upper_s);
        made.inner(3, &bucket);
    }
    made.varint(5, zigzag(i64::from(SCHEMA)));
    made.double(6, 0.0); // threshold of the bucket of zero, in which no reply is
    made.varint(7, 0);
    let mut deltas = Vec::new();
    let (mut before, mut after) = (0_i64, None);
    for span in spans(&seen.times) {
        let mut message = Message::default();
        // The first offset counts from bucket 0, each other from the end of the span before.
        let start = i64::from(number(span.start));
        let offset = start - after.unwrap_or(0);
        message.varint(1, zigzag(offset));
        message.varint(2, span.len() as u64);
        after = Some(start + span.len() as i64);
        made.inner(12, &message);
        for &count in &seen.times[span] {
            varint(&mut deltas, zigzag(count as i64 - before));
            before = count as i64;
        }
    }
    if deltas.is_empty() {
        // A span without buckets marks a histogram as native although nothing was counted.
        let mut message = Message::default();
        message.varint(1, 0);
        message.varint(2, 0);
        made.inner(12, &message);
    } else {
        made.bytes(13, &deltas);
    }
    made
}

/// Stretches of buckets of which none is empty.
fn spans(times: &[u64]) -> Vec<std::ops::Range<usize>> {
    let mut spans: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in times.iter().enumerate().filter(|(_, count)| **count > 0) {
        match spans.last_mut() {
            Some(last) if last.end == index => last.end = index + 1,
            _ => spans.push(index..index + 1),
        }
    }
    spans
}

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, field: u64, value: u64) {
        varint(&mut self.0, field << 3);
        varint(&mut self.0, value);
    }

    fn double(&mut self, field: u64, value: f64) {
        varint(&mut self.0, field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        varint(&mut self.0, field << 3 | 2);
        varint(&mut self.0, value.len() as u64);
        self.0.extend(value);
    }

    fn inner(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Small for small numbers of either sign.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_the_format_has_them() {
        let mut bytes = Vec::new();
        for value in [0, 127, 128, 300] {
            varint(&mut bytes, value);
        }
        assert_eq!(bytes, [0, 127, 0x80, 1, 0xAC, 2]);
        assert_eq!([0, -1, 1, -2, 5].map(zigzag), [0, 1, 2, 3, 10]);
    }

    #[test]
    fn neighbouring_buckets_make_one_span() {
        assert_eq!(spans(&[0, 3, 1, 0, 0, 7]), [1..3, 5..6]);
        assert!(spans(&[0, 0]).is_empty());
    }

    #[test]
    fn a_histogram_has_the_bytes_of_the_format() {
        let mut seen = Seen { times: vec![0; super::super::LEN], ..Seen::default() };
        let zero = (-number(0)) as usize; // the bucket that ends at 1 s
        seen.times[zero] = 3;
        seen.times[zero + 1] = 1;
        seen.times[zero + 4] = 2;
        let Message(bytes) = histogram(&seen);
        // Span (offset 0, length 2), span (offset 2, length 1), then deltas 3, -2, 1.
        let tail = [0x62, 4, 8, 0, 16, 2, 0x62, 4, 8, 4, 16, 1, 0x6A, 3, 6, 3, 2];
        assert!(bytes.ends_with(&tail), "{bytes:02x?}");
        assert_eq!(bytes[..2], [8, 6], "six replies");
    }
}
