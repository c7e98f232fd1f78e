use super::*;
use crate::reconstruct::window::estimate::jackknife;
use sojourn_base::rng::{self, Rng, RngExt as _};

fn plain(parts: &[[f64; 2]]) -> Interval {
    jackknife(parts, |[part, whole]| part / whole).unwrap().interval()
}

fn holds(interval: Interval, truth: f64) -> bool {
    interval.low <= truth && interval.high.is_none_or(|high| truth <= high)
}

#[test]
fn windows_that_do_not_differ_say_exactly_what_they_say() {
    let Interval { low, high } = ratio(&[[7.0, 100.0]; 12], usize::MAX).unwrap();
    assert!((low - 0.07).abs() < 1e-9 && (high.unwrap() - 0.07).abs() < 1e-9, "{low} {high:?}");
}

/// Of many windows, none of which stands out, it is the textbook's interval.
#[test]
fn of_many_like_windows_it_is_value_and_error() {
    let mut rng = rng::stream(5, "like windows", 0);
    let parts: Vec<[f64; 2]> = (0..400).map(|_| [5.0 + rng.random::<f64>(), 100.0]).collect();
    let (result, known) = (ratio(&parts, usize::MAX).unwrap(), plain(&parts));
    let width = |interval: Interval| interval.high.unwrap() - interval.low;
    assert!((width(result) / width(known) - 1.0).abs() < 0.15, "{result:?} {known:?}");
}

#[test]
fn of_one_window_or_no_number_nothing_is_reported() {
    assert_eq!(ratio(&[[1.0, 2.0]], usize::MAX), None);
    assert_eq!(ratio(&[[0.0, 0.0], [0.0, 0.0]], usize::MAX), None);
    assert_eq!(may_be(&[[0.0, 20.0], [0.0, 20.0]], 0.01), None);
}

/// All of it came in one window of thirty: there may be 39 times as little, as of one Poisson event.
#[test]
fn one_window_is_one_event() {
    let mut parts = [[0.0, 100.0]; 30];
    parts[3][0] = 30.0;
    let Interval { low, high } = ratio(&parts, usize::MAX).unwrap();
    assert!(low < 0.01 / 39.0 && high.unwrap() > 0.055, "{low} {high:?}");
}

/// A window: work that differs little, rarely stalls. One of D ms costs D² / 2 of all that wait, which is
/// c / 6 in the mean for D uniform from 0 to 4 ms. `level`: of the work.
fn window(rng: &mut Rng, stalls: f64, level: f64) -> [f64; 2] {
    let work = level * (0.9 + 0.2 * rng.random::<f64>());
    let mut part = work;
    let mut until = -rng::open_unit(rng).ln();
    while until < stalls {
        let length: f64 = 4.0 * rng.random::<f64>();
        part += length * length / 2.0;
        until -= rng::open_unit(rng).ln();
    }
    [part, 1.0]
}

/// How many of 400 traces of so many windows have an interval that holds: ours, and the plain one.
/// `stalls`: expected in all windows; `drift`: of the work, from begin to end.
fn covered(windows: usize, stalls: f64, drift: f64) -> [usize; 2] {
    let mut rng = rng::stream(31, "stalls", windows as u64);
    let each = stalls / windows as f64;
    let truth = 1.0 + each * 16.0 / 6.0;
    let mut held = [0; 2];
    for _ in 0..400 {
        let at = |k: usize| (k as f64 + 0.5) / windows as f64 - 0.5;
        let parts: Vec<[f64; 2]> =
            (0..windows).map(|k| window(&mut rng, each, 1.0 + drift * at(k))).collect();
        held[0] += usize::from(holds(ratio(&parts, usize::MAX).unwrap(), truth));
        held[1] += usize::from(holds(plain(&parts), truth));
    }
    held
}

/// Twelve to sixty windows, six stalls or more in all of them: of 400 at 95 %, 366 or more are expected in
/// 999 cases of 1000.
#[test]
fn a_mean_that_few_stalls_make_is_held() {
    for (windows, stalls) in [(12, 8.0), (15, 8.0), (30, 6.0), (60, 6.0), (30, 15.0), (15, 60.0)] {
        let [ours, _] = covered(windows, stalls, 0.0);
        assert!(ours >= 366, "{windows} windows, {stalls} stalls: {ours}");
    }
    let [_, plain] = covered(30, 6.0, 0.0);
    assert!(plain < 352, "value and error hold in {plain} of 400 cases");
}

#[test]
fn a_slow_drift_widens_and_misleads_no_one() {
    for windows in [12, 15, 30] {
        let [ours, _] = covered(windows, 0.0, 0.3);
        assert!(ours >= 390, "{windows}: {ours}");
    }
}
