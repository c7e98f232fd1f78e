//! M/M/n: Erlang's C, and the exact distribution of the sojourn time.

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, Model, invert};

pub(super) const KIND: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/M/n",
        about: "Poisson arrivals, exponential service, n servers, one FCFS queue: exact",
        usage: "",
        params: &[],
        needs: &[],
        source: "Erlang 1917; Kleinrock, Queueing Systems I (1975), 3.5",
    },
    apply,
};

fn apply(model: &Model) -> Option<Closed> {
    if !model.is_exponential || !model.is_fcfs {
        return None;
    }
    let queue = MmN::new(model.rate_per_ns, model.service_ns, model.servers)?;
    Some(Closed::full("M/M/n", queue.mean_sojourn(), |q| queue.sojourn_quantile(q)))
}

/// Probability that a request waits, with `servers` and `work` = λS erlangs offered.
///
/// Through Erlang's B, whose recursion `B(k) = aB(k−1) / (k + aB(k−1))` never overflows.
pub fn erlang_c(servers: u32, work: f64) -> f64 {
    let mut blocked = 1.0;
    for k in 1..=servers {
        blocked = work * blocked / (f64::from(k) + work * blocked);
    }
    let rho = work / f64::from(servers);
    blocked / (1.0 - rho * (1.0 - blocked))
}

/// One M/M/n queue. With probability C a request waits, then Exp(n/S − λ).
#[derive(Clone, Copy, Debug)]
pub struct MmN {
    service: f64,
    /// Probability of waiting.
    waits: f64,
    /// Rate of the waiting time of those who wait.
    drain: f64,
}

impl MmN {
    /// `None` if the utilisation is not below 1.
    pub fn new(rate: f64, service: f64, servers: u32) -> Option<Self> {
        let n = f64::from(servers);
        let stable = rate * service < n && servers > 0;
        stable.then(|| Self {
            service,
            waits: erlang_c(servers, rate * service),
            drain: n / service - rate,
        })
    }

    /// Mean waiting time, in the unit of the service time.
    pub fn mean_wait(&self) -> f64 {
        self.waits / self.drain
    }

    /// Mean sojourn time, in the unit of the service time.
    pub fn mean_sojourn(&self) -> f64 {
        self.mean_wait() + self.service
    }

    /// The wait that a share `above` of all requests exceeds, 0 if fewer wait: given a uniform draw
    /// from (0, 1], a draw of the wait.
    #[inline]
    pub fn wait_of(&self, above: f64) -> f64 {
        ((self.waits / above).ln() / self.drain).max(0.0)
    }

    /// P(sojourn > `t`): service alone, or waiting and service, each exponential.
    pub fn sojourn_above(&self, t: f64) -> f64 {
        let (mu, theta) = (1.0 / self.service, self.drain);
        let alone = (-mu * t).exp();
        let gap = mu - theta;
        let both = if (gap * self.service).abs() < 1e-7 {
            (1.0 + mu * t) * alone // two equal rates: Erlang-2
        } else {
            (mu * (-theta * t).exp() - theta * alone) / gap
        };
        (1.0 - self.waits) * alone + self.waits * both
    }

    /// Sojourn time at quantile `q`.
    pub fn sojourn_quantile(&self, q: f64) -> f64 {
        invert(q, self.service, |t| 1.0 - self.sojourn_above(t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Textbook value: 4 servers at 3.2 erlangs, C = 0.5964.
    #[test]
    fn erlang_c_by_the_direct_sum() {
        for (servers, work) in [(1_u32, 0.7), (4, 3.2), (12, 10.0)] {
            let power = |k: u32| (1..=k).fold(1.0, |p, i| p * work / f64::from(i));
            let rho = work / f64::from(servers);
            let last = power(servers) / (1.0 - rho);
            let want = last / ((0..servers).map(power).sum::<f64>() + last);
            assert!((erlang_c(servers, work) - want).abs() < 1e-12);
        }
        assert!((erlang_c(4, 3.2) - 0.5964).abs() < 1e-4);
    }

    #[test]
    fn one_server_is_the_exponential_sojourn() {
        let queue = MmN::new(0.8, 1.0, 1).unwrap();
        assert!((queue.sojourn_quantile(0.95) - 20.0_f64.ln() * 5.0).abs() < 1e-6);
    }

    /// P(W > t) = C e^(−θt): Kleinrock I, 3.5. The mean of the draws is the mean wait.
    #[test]
    fn waits_are_drawn_from_their_distribution() {
        let queue = MmN::new(3.2, 1.0, 4).unwrap();
        let c = erlang_c(4, 3.2);
        assert_eq!((queue.wait_of(1.0), queue.wait_of(c * 1.01)), (0.0, 0.0));
        for t in [0.1, 1.0, 5.0] {
            assert!((queue.wait_of(c * (-0.8_f64 * t).exp()) - t).abs() < 1e-12);
        }
        let n = 1_000_000;
        let draws = (0..n).map(|i| queue.wait_of((f64::from(i) + 0.5) / f64::from(n)));
        let mean = draws.sum::<f64>() / f64::from(n);
        assert!((mean / queue.mean_wait() - 1.0).abs() < 1e-4, "{mean}");
    }

    #[test]
    fn equal_rates_are_the_limit_of_unequal_ones() {
        let equal = MmN::new(1.0, 1.0, 2).unwrap(); // drain = 2 − 1 = μ
        let near = MmN::new(1.0 + 1e-5, 1.0, 2).unwrap();
        assert!((equal.sojourn_above(2.0) - near.sojourn_above(2.0)).abs() < 1e-4);
    }
}
