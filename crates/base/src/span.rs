//! A summary of many times: the object that stands under `sojourn_ns`, `wire_ns` and `send_lag_ns`.
//!
//! A request that never completed counts as +infinity: it is in `lost` and in `count`, above every
//! finite time in the order. A quantile that falls among them is `null` (infinite), never dropped.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Significant digits of every histogram: values are kept to one part in a thousand.
pub const DIGITS: u8 = 3;
/// Largest time a histogram holds, ns: one hour. Longer times saturate there.
pub const MAX_NS: u64 = 3_600_000_000_000;
/// Bytes that the counts of a histogram have at most; one of an hour with three digits has 400 kB.
const PAYLOAD_MAX: u32 = 8 << 20;
/// How a compressed histogram of version 2 begins.
const COMPRESSED: u32 = 0x1c84_9314;

crate::with_quantiles! {
    /// Quantiles of a set of times, ns, with the histogram they come from. A quantile is `null` where it
    /// falls among lost requests.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Span of u64 {
        /// Mean of the finite times, ns; `null` without any.
        pub mean: Option<f64>,
    } and then {
        /// Largest finite time, ns.
        pub max: Option<u64>,
        /// Requests counted, lost ones included.
        pub count: u64,
        /// Requests that never completed: +infinity in the order.
        pub lost: u64,
        /// Finite times as a compressed `HdrHistogram` V2 (3 digits), base64.
        pub hdr: String,
    }
}

/// Times on their way to a [`Span`]. Recording never allocates.
#[derive(Clone, Debug)]
pub struct Times {
    finite: Histogram<u64>,
    sum_ns: f64,
    lost: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

impl Times {
    /// An empty set; allocates about 350 kB once.
    pub fn new() -> Self {
        let finite =
            Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("constant bounds are valid");
        Self { finite, sum_ns: 0.0, lost: 0 }
    }

    /// Finite times in bins: a time of each, ns, and how many there are; the sum of all, ns.
    pub fn counted(bins: impl Iterator<Item = (u64, u64)>, sum_ns: f64) -> Self {
        let mut times = Self { sum_ns, ..Self::new() };
        bins.for_each(|(ns, count)| times.finite.saturating_record_n(ns, count));
        times
    }

    /// Adds one finite time, ns.
    pub fn add(&mut self, ns: u64) {
        self.finite.saturating_record(ns);
        self.sum_ns += ns as f64;
    }

    /// Adds one request that never completed.
    pub fn add_lost(&mut self) {
        self.lost += 1;
    }

    /// Adds all of `other`. Commutative and lossless.
    pub fn merge(&mut self, other: &Self) {
        self.finite.add(&other.finite).expect("all histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.lost += other.lost;
    }

    /// Requests counted, lost ones included.
    pub fn count(&self) -> u64 {
        self.finite.len() + self.lost
    }

    /// The value at rank ceil(q · count), ns; `None` if that request was lost or there is none.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        // A hair less, or 0.55 · 100 is 55.000000000000007, whose rank would be 56.
        let rank = ((q * self.count() as f64 - 1e-9).ceil() as u64).max(1);
        let finite = self.finite.len();
        if finite == 0 || rank > finite {
            return None;
        }
        // The library multiplies by the count again and rounds up: half a rank less is no other rank.
        Some(self.finite.value_at_quantile((rank as f64 - 0.5) / finite as f64))
    }

    /// Requests above `ns` in the order, lost ones included; exact if `ns` came from a quantile.
    pub fn above(&self, ns: u64) -> u64 {
        self.finite.count_between(ns.saturating_add(1), u64::MAX) + self.lost
    }

    /// How many requests never completed: +∞ in the order statistics.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The finite times, for writers of interval logs.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.finite
    }

    /// Mean of the finite times, ns; `None` without any.
    pub fn mean_ns(&self) -> Option<f64> {
        let finite = self.finite.len();
        (finite > 0).then(|| self.sum_ns / finite as f64)
    }

    /// The summary that goes into a result.
    pub fn span(&self) -> Span {
        let finite = self.finite.len();
        let span = Span {
            mean: self.mean_ns(),
            max: (finite > 0).then(|| self.finite.max()),
            count: self.count(),
            lost: self.lost,
            hdr: encode(&self.finite),
            ..Span::default()
        };
        span.with_quantiles(|quantile| self.quantile(quantile.q))
    }
}

/// Compressed, for that is the form that the libraries of Python, Java and Go read.
fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    let mut writer = V2DeflateSerializer::new();
    writer.serialize(histogram, &mut bytes).expect("writing to memory cannot fail");
    STANDARD.encode(bytes)
}

/// The histogram inside a [`Span`]; `None` if the text is not one, or says that it is larger than any here.
pub fn decode(hdr: &str) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(hdr).ok()?;
    if announced(&bytes)? > PAYLOAD_MAX {
        return None;
    }
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// How many bytes the counts have, by the head: the library takes that much memory before it reads them.
fn announced(bytes: &[u8]) -> Option<u32> {
    let (cookie, rest) = bytes.split_first_chunk::<4>()?;
    let mut head = [0; 8];
    if u32::from_be_bytes(*cookie) == COMPRESSED {
        ZlibDecoder::new(rest.get(4..)?).read_exact(&mut head).ok()?;
    } else {
        head.copy_from_slice(bytes.get(..8)?);
    }
    Some(u32::from_be_bytes(*head.last_chunk::<4>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantiles::{QUANTILES, Quantile};

    #[test]
    fn a_head_that_announces_gigabytes_takes_none() {
        let own = Times::new().span().hdr;
        assert!(decode(&own).is_some());
        let mut bytes = STANDARD.decode(own).unwrap();
        let mut head = Vec::new();
        head.extend_from_slice(&0x1c84_9313_u32.to_be_bytes());
        head.extend_from_slice(&u32::MAX.to_be_bytes());
        assert!(decode(&STANDARD.encode(&head)).is_none(), "not compressed");
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &head).unwrap();
        let packed = packed.finish().unwrap();
        bytes.truncate(4);
        bytes.extend_from_slice(&(packed.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&packed);
        assert!(decode(&STANDARD.encode(&bytes)).is_none(), "compressed");
        for text in ["", "AAAA", "HISTFAAAA", &STANDARD.encode(&bytes[..6])] {
            assert!(decode(text).is_none());
        }
    }

    #[test]
    fn lost_requests_are_infinite_in_the_order() {
        let mut times = Times::new();
        (1..=98).for_each(|ns| times.add(ns * 1000));
        times.add_lost();
        times.add_lost();
        let span = times.span();
        assert_eq!((span.count, span.lost), (100, 2));
        assert!(span.p95.is_some());
        assert_eq!(span.p99, None, "rank 99 of 100 is a lost request");
    }

    /// The median of 29 is the 15th, though 15/29 · 29 is more than 15 as computers count.
    #[test]
    fn a_quantile_is_the_order_statistic_of_its_rank_whatever_the_count() {
        let mut times = Times::new();
        for n in 1..=1000_u64 {
            times.add(n);
            for percent in 1..=100 {
                let rank = (percent * n).div_ceil(100);
                assert_eq!(
                    times.quantile(percent as f64 / 100.0),
                    Some(rank),
                    "{percent} % of {n}"
                );
            }
        }
    }

    #[test]
    fn quantiles_are_monotone_and_within_one_in_a_thousand() {
        let mut times = Times::new();
        (1..=100_000_u64).for_each(|ns| times.add(ns * 10));
        let span = times.span();
        let got = span.quantiles().map(|v| v.unwrap() as f64);
        assert!(got.windows(2).all(|pair| pair[0] <= pair[1]));
        for (value, Quantile { q, .. }) in got.iter().zip(QUANTILES) {
            assert!((value / (q * 1e6) - 1.0).abs() < 1e-3, "q {q}: {value}");
        }
    }

    #[test]
    fn merge_is_commutative_and_the_histogram_survives_encoding() {
        let (mut a, mut b) = (Times::new(), Times::new());
        a.add(100);
        b.add(5_000);
        b.add_lost();
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab.span(), ba.span());
        assert_eq!(decode(&ab.span().hdr).unwrap().len(), 2);
        assert!(ab.span().hdr.starts_with("HISTF"), "V2 compressed: what libraries read");
    }

    #[test]
    fn a_hundredth_lies_above_p99() {
        let mut times = Times::new();
        (1..=10_000_u64).for_each(|ns| times.add(ns * 1000));
        let above = times.above(times.quantile(0.99).unwrap());
        assert!((90..=100).contains(&above), "bins are 0.1 % wide: {above}");
        times.add_lost();
        assert_eq!(times.above(u64::MAX - 1), 1);
    }

    #[test]
    fn nothing_measured_has_no_quantiles() {
        let span = Times::new().span();
        assert_eq!((span.mean, span.p99, span.count), (None, None, 0));
    }
}
