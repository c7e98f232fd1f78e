//! A quantile as people write it.

/// `p99`, `p99.9` or `0.99` as a number; `None` if it is none.
pub fn read(text: &str) -> Option<f64> {
    match text.strip_prefix('p') {
        Some(percent) => percent.parse().ok().map(|percent: f64| (percent * 1e6).round() / 1e8),
        None => text.parse().ok(),
    }
}
