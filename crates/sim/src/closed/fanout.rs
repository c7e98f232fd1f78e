//! Fan-out: a request is done when the slowest of its parts is (C26: 0.99⁵ = 0.95).

/// Quantile `q` of the largest of `parts` independent times with quantile function `quantile`.
pub fn max_of(parts: u32, q: f64, quantile: impl Fn(f64) -> f64) -> f64 {
    quantile(q.powf(1.0 / f64::from(parts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_parts_at_p95_need_each_part_at_p99() {
        let exponential = |q: f64| -(-q).ln_1p();
        assert!((max_of(5, 0.95, exponential) - exponential(0.95_f64.powf(0.2))).abs() < 1e-12);
        assert!((0.99_f64.powi(5) - 0.951).abs() < 1e-3);
        assert!((max_of(1, 0.95, exponential) - exponential(0.95)).abs() < 1e-12);
    }
}
