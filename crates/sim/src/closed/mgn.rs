//! M/G/n: no exact form is known; two approximations of the mean, each with its name.

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, MmN, Model};

pub(super) const LEE_LONGTON: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/G/n (Lee-Longton)",
        about: "mean wait of M/M/n times (1 + c²)/2: approximation",
        usage: "",
        params: &[],
        needs: &[],
        source: "Lee and Longton, Queueing processes associated with airline passenger check-in, OR Quarterly 10 (1959)",
    },
    apply: lee_longton,
};

pub(super) const KIMURA: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/G/n (Kimura)",
        about: "between M/M/n and Cosmetatos' M/D/n, by the harmonic mean: approximation",
        usage: "",
        params: &[],
        needs: &[],
        source: "Kimura, Approximations for multi-server queues, Queueing Systems 17 (1994); Cosmetatos 1976",
    },
    apply: kimura,
};

fn lee_longton(model: &Model) -> Option<Closed> {
    let queue = general(model)?;
    let wait = queue.mean_wait() * (1.0 + model.service_scv) / 2.0;
    Some(Closed::mean_only("M/G/n (Lee-Longton)", false, wait + model.service_ns))
}

/// Holds for c² up to 1; beyond it the harmonic mean may turn negative, so it does not answer.
fn kimura(model: &Model) -> Option<Closed> {
    let queue = general(model)?;
    if model.service_scv > 1.0 {
        return None;
    }
    let (n, rho, scv) = (f64::from(model.servers), model.utilisation(), model.service_scv);
    let correction = (1.0 - rho) * (n - 1.0) * ((4.0 + 5.0 * n).sqrt() - 2.0) / (16.0 * rho * n);
    let (random, fixed) = (queue.mean_wait(), queue.mean_wait() * (1.0 + correction) / 2.0);
    let wait = (1.0 + scv) / (2.0 * scv / random + (1.0 - scv) / fixed);
    Some(Closed::mean_only("M/G/n (Kimura)", false, wait + model.service_ns))
}

fn general(model: &Model) -> Option<MmN> {
    let applies = model.is_fcfs && model.service_scv.is_finite() && model.rate_per_ns > 0.0;
    if !applies {
        return None;
    }
    MmN::new(model.rate_per_ns, model.service_ns, model.servers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(rho: f64, scv: f64, servers: u32) -> Model {
        Model {
            rate_per_ns: rho * f64::from(servers),
            service_ns: 1.0,
            service_scv: scv,
            is_exponential: false,
            servers,
            is_fcfs: true,
        }
    }

    fn wait(of: fn(&Model) -> Option<Closed>, rho: f64, scv: f64, servers: u32) -> f64 {
        of(&model(rho, scv, servers)).unwrap().mean.unwrap() - 1.0
    }

    /// P(A ≥ n) for A ~ Poisson(mean), n near the mean or above it.
    fn poisson_from(mean: f64, n: u32) -> f64 {
        let log_term = |k: u32| (1..=k).map(|i| (mean / f64::from(i)).ln()).sum::<f64>() - mean;
        let mut term = log_term(n).exp();
        (n..n + 2000).fold(0.0, |sum, k| {
            let next = sum + term;
            term *= mean / f64::from(k + 1);
            next
        })
    }

    /// Crommelin's exact mean wait of M/D/n, service 1. Source: Crommelin, Delay probability formulae,
    /// Post Office Electrical Engineers Journal 26, 1934; Tijms, A First Course in Stochastic Models, 9.6.
    fn crommelin(rho: f64, servers: u32) -> f64 {
        let n = f64::from(servers);
        let term = |i: u32| {
            let mean = f64::from(i) * rho * n;
            poisson_from(mean, i * servers) - poisson_from(mean, i * servers + 1) / rho
        };
        (1..200).map(term).sum()
    }

    #[test]
    fn the_exact_sum_is_pollaczek_khinchines_for_one_server() {
        assert!((crommelin(0.5, 1) - 0.5).abs() < 1e-9);
        assert!((crommelin(0.8, 1) - 2.0).abs() < 1e-3);
        assert!((crommelin(0.8, 2) - 0.903_284).abs() < 1e-5, "by an independent program");
        assert!((crommelin(0.8, 4) - 0.386_095).abs() < 1e-5);
    }

    /// Fixed service, where both are farthest off: Kimura (then Cosmetatos) by at most 0.6 % of the
    /// wait; Lee and Longton are too low, by 0.7 to 13 %, the less the higher the load.
    #[test]
    fn fixed_service_is_crommelins_within_the_stated_errors() {
        for (rho, servers, lee_longton_low) in [
            (0.5, 2, 0.0570),
            (0.8, 2, 0.0159),
            (0.8, 4, 0.0345),
            (0.9, 5, 0.0183),
            (0.7, 12, 0.1326),
        ] {
            let exact = crommelin(rho, servers);
            let error = wait(kimura, rho, 0.0, servers) / exact - 1.0;
            assert!(error.abs() < 0.006, "Kimura {rho} {servers}: {error}");
            let error = wait(lee_longton, rho, 0.0, servers) / exact - 1.0;
            assert!(
                (error + lee_longton_low).abs() < 0.001,
                "Lee-Longton {rho} {servers}: {error}"
            );
        }
    }

    /// A variance as of exponential service gives M/M/n; more variance more wait; beyond 1 Lee and
    /// Longton alone answer, with (1 + c²)/2.
    #[test]
    fn in_between_they_rise_from_m_d_n_to_m_m_n_and_on() {
        let queue = MmN::new(3.2, 1.0, 4).unwrap().mean_wait();
        for of in [lee_longton, kimura] {
            let waits: Vec<f64> = (0..=4).map(|i| wait(of, 0.8, f64::from(i) / 4.0, 4)).collect();
            assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
            assert!((waits[4] / queue - 1.0).abs() < 1e-12);
        }
        assert!((wait(lee_longton, 0.8, 3.0, 4) / queue - 2.0).abs() < 1e-12);
        assert!(kimura(&model(0.8, 1.01, 4)).is_none());
    }

    /// M/E₂/4 at .8. Kimura by hand: 1.5 / (1/0.745541 + 0.5/0.385457) = 0.568.
    #[test]
    fn erlang_2_service_is_the_harmonic_mean() {
        let (random, fixed) = (wait(kimura, 0.8, 1.0, 4), wait(kimura, 0.8, 0.0, 4));
        assert!((fixed - 0.385_457).abs() < 1e-4, "{fixed}");
        let want = 1.5 / (1.0 / random + 0.5 / fixed);
        assert!((wait(kimura, 0.8, 0.5, 4) / want - 1.0).abs() < 1e-12);
        assert!((want - 0.568).abs() < 1e-3, "{want}");
    }

    #[test]
    fn neither_answers_for_what_it_is_not_about() {
        for of in [lee_longton, kimura] {
            assert!(of(&Model { is_fcfs: false, ..model(0.8, 0.5, 4) }).is_none());
            assert!(of(&model(0.8, f64::INFINITY, 4)).is_none());
            assert!(of(&model(0.0, 0.5, 4)).is_none());
        }
    }
}
