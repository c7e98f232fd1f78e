//! Standard errors from a number's values without one piece of the data each, and how many of them to
//! either side an interval from so few pieces takes.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

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

/// Where Student's distribution with so many degrees of freedom has `p` below it; infinite without any.
pub fn student(p: f64, freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
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

    /// Tables of the distribution: 97.5 % and 99.5 %.
    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, t_975, t_995) in [
            (1, 12.706, 63.657),
            (2, 4.303, 9.925),
            (3, 3.182, 5.841),
            (4, 2.776, 4.604),
            (9, 2.262, 3.250),
            (19, 2.093, 2.861),
            (30, 2.042, 2.750),
            (120, 1.980, 2.617),
            (10_000, 1.960, 2.576),
        ] {
            for (p, expected) in [(0.975, t_975), (0.995, t_995)] {
                let result = student(p, freedom);
                assert!((result - expected).abs() < 6e-4, "{freedom}, {p}: {result}");
            }
        }
        assert!(student(0.975, 0).is_infinite());
    }
}
