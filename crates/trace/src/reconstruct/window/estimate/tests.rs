use super::*;
use sojourn_base::rng::{self, Rng, RngExt as _};

fn ratio(parts: &[[f64; 2]]) -> Option<Estimate> {
    jackknife(parts, |[part, whole]| part / whole)
}

#[test]
fn of_a_mean_the_jackknife_is_the_closed_form() {
    let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
    let parts = values.map(|v| [v, 1.0]);
    let mean = values.iter().sum::<f64>() / 8.0;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 7.0;
    let result = ratio(&parts).unwrap();
    assert!((result.value - mean).abs() < 1e-12);
    assert!((result.se - (variance / 8.0).sqrt()).abs() < 1e-12, "{result:?}");
}

#[test]
fn one_window_tells_nothing_of_how_windows_differ() {
    assert_eq!(ratio(&[[1.0, 2.0]]), None);
    assert_eq!(ratio(&[]), None);
    assert_eq!(ratio(&[[0.0, 0.0], [0.0, 0.0]]), None, "no number");
}

/// The known order statistics of independent requests: of a thousand, p99 lies between the 18th and
/// the 3rd or 4th largest (binomial limits).
#[test]
fn of_independent_requests_the_interval_of_p99_is_that_of_their_order() {
    let above = |k: usize| {
        let part = |w: usize| [(k + 1..1000).filter(|i| i % 100 == w).count() as f64, 10.0];
        (0..100).map(part).collect()
    };
    let (low, high) = quantile(0.99, 1000, above);
    assert!((979..=983).contains(&low.unwrap()), "{low:?}");
    assert!((995..=997).contains(&high.unwrap()), "{high:?}");
}

#[test]
fn no_upper_bound_is_made_up_where_no_request_lies_above() {
    // Three windows of 20 requests each; one lies above the first value, none above the second.
    let above = |k: usize| vec![[0.0, 20.0], [f64::from(u8::from(k == 0)), 20.0], [0.0, 20.0]];
    assert_eq!(quantile(0.99, 2, above).1, None);
    assert_eq!(quantile(0.99, 0, above), (None, None));
}

/// One window of a queue: a level that all its requests share, and noise of each of them. Exponential
/// both, so that the mean is known: 2.
fn window(rng: &mut Rng, shared: f64) -> Vec<f64> {
    let level = -rng::open_unit(rng).ln() * shared + (1.0 - shared);
    let n = 50 + (rng.random::<f64>() * 100.0) as usize;
    (0..n).map(|_| level - rng::open_unit(rng).ln()).collect()
}

/// How often `holds` in `n` simulated traces of `windows` windows.
fn covered(n: u32, windows: usize, shared: f64, holds: impl Fn(&[Vec<f64>]) -> bool) -> f64 {
    let mut rng = rng::stream(11, "simulated windows", 0);
    let trace = |rng: &mut Rng| (0..windows).map(|_| window(rng, shared)).collect::<Vec<_>>();
    let held = (0..n).filter(|_| holds(&trace(&mut rng))).count();
    held as f64 / f64::from(n)
}

fn contains(interval: Interval, value: f64) -> bool {
    interval.low <= value && interval.high.is_none_or(|high| value <= high)
}

fn by_window(windows: &[Vec<f64>]) -> Vec<[f64; 2]> {
    windows.iter().map(|w| [w.iter().sum(), w.len() as f64]).collect()
}

#[test]
fn the_interval_of_a_mean_covers_it_though_requests_of_a_window_are_alike() {
    let share = covered(1000, 20, 0.8, |trace| {
        contains(limits::ratio(&by_window(trace), 99).unwrap(), 2.0)
    });
    // 95 % asked; the level is exponential, and value and error of 20 windows cover 92 %.
    assert!((0.93..=0.99).contains(&share), "{share}");
    let naive = covered(1000, 20, 0.8, |trace| {
        let all: Vec<[f64; 2]> = trace.iter().flatten().map(|v| [*v, 1.0]).collect();
        contains(limits::ratio(&all, usize::MAX).unwrap(), 2.0)
    });
    assert!(naive < 0.5, "counting requests as draws covers {naive}");
}

#[test]
fn the_interval_of_p99_covers_it() {
    const SHARED: f64 = 0.4;
    // Of level + noise: P(X > x) for independent E1 + a·E2 + 1 − a in closed form.
    let above = |x: f64| {
        let y = x - (1.0 - SHARED);
        ((-y).exp() - SHARED * (-y / SHARED).exp()) / (1.0 - SHARED)
    };
    let (mut low, mut high) = (1.0, 50.0);
    while high - low > 1e-9 {
        let middle = f64::midpoint(low, high);
        if above(middle) > 0.01 { low = middle } else { high = middle }
    }
    let share = covered(600, 40, SHARED, |trace| {
        let mut all: Vec<f64> = trace.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let part = |w: &Vec<f64>, x| [w.iter().filter(|v| **v > x).count() as f64, w.len() as f64];
        let above = |k: usize| trace.iter().map(|w| part(w, all[k])).collect();
        let (below, beyond) = quantile(0.99, all.len(), above);
        below.is_none_or(|k| all[k] <= low) && beyond.is_none_or(|k| low <= all[k])
    });
    // 95 % asked. Were the tail that of one window in forty, no interval from forty windows could hold.
    assert!((0.9..=0.99).contains(&share), "{share}");
}
