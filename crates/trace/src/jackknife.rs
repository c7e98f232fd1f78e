//! Standard errors from a number's values without one piece of the data each.

/// Standard error of a number whose values without each piece in turn are `left_out`; infinite for fewer
/// than two pieces. Source: Efron, The Jackknife, the Bootstrap and Other Resampling Plans (1982), ch. 3.
pub fn error(left_out: &[f64]) -> f64 {
    let n = left_out.len() as f64;
    if n < 2.0 {
        return f64::INFINITY;
    }
    let mean = left_out.iter().sum::<f64>() / n;
    let squares: f64 = left_out.iter().map(|value| (value - mean).powi(2)).sum();
    (squares * (n - 1.0) / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a mean it is the textbook's s / sqrt(n).
    #[test]
    fn of_a_mean_it_is_its_standard_error() {
        let values = [2.0, 4.0, 4.0, 5.0, 10.0];
        let (n, sum) = (5.0, 25.0);
        let left_out: Vec<f64> = values.iter().map(|value| (sum - value) / (n - 1.0)).collect();
        assert!((error(&left_out) - (36.0_f64 / 4.0 / 5.0).sqrt()).abs() < 1e-12);
        assert!(error(&left_out[..1]).is_infinite());
    }
}
