//! Offered load over time: λ(t), its integral Λ(t), and the inverse of the integral.
//!
//! Any arrival process follows any schedule by a change of time: the process is drawn at rate 1 in
//! "operational time" u, and the arrival at u happens at t = Λ⁻¹(u). Nothing is thinned, so the
//! process keeps its shape, and a Poisson process stays Poisson, with intensity λ(t).
//! Source: Çınlar, Introduction to Stochastic Processes (1975), section 4.7.

use std::f64::consts::TAU;

use sojourn_base::Fault;
use sojourn_base::units::{parse_count, parse_ns};

/// How the offered load changes with time; times in s from the start of the measured part.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Always the same, requests/s.
    Constant(f64),
    /// One level after another: (level in requests/s, its length in s). The last one holds.
    Steps(Vec<(f64, f64)>),
    /// From the first level to the second, evenly over the length in s; then it holds.
    Ramp(f64, f64, f64),
    /// mean + amplitude · sin(2πt / period): (mean, amplitude, period in s).
    Sine(f64, f64, f64),
}

impl Rate {
    /// Reads `50k`, `steps:10k@5s,20k@5s`, `ramp:1k..50k`, `sine:20k,5k,10s`; a ramp takes `length_s`.
    pub fn parse(text: &str, length_s: f64) -> Result<Self, Fault> {
        let fix = "write 50k, steps:10k@5s,20k@5s, ramp:1k..50k or sine:20k,5k,10s";
        let wrong = |what: String| Fault::usage(what, "rate", fix);
        let named = |fault: Fault| Fault::usage(fault.what, "rate", fix);
        match text.split_once(':') {
            None => Ok(Self::Constant(above_zero(parse_count(text).map_err(named)?)?)),
            Some(("steps", rest)) => steps(rest, fix),
            Some(("ramp", rest)) => {
                let (from, to) = rest.split_once("..").ok_or_else(|| {
                    wrong(format!("'{rest}' names no two levels with '..' between them"))
                })?;
                let from = not_negative(parse_count(from).map_err(named)?)?;
                let to = not_negative(parse_count(to).map_err(named)?)?;
                above_zero(from + to)?;
                Ok(Self::Ramp(from, to, length_s))
            }
            Some(("sine", rest)) => {
                let parts: Vec<&str> = rest.split(',').collect();
                let [mean, amplitude, period] = parts[..] else {
                    return Err(wrong(format!("sine takes 3 numbers, {} given", parts.len())));
                };
                let mean = above_zero(parse_count(mean).map_err(named)?)?;
                let amplitude = not_negative(parse_count(amplitude).map_err(named)?)?;
                let period_s = parse_ns(period).map_err(named)? as f64 / 1e9;
                if amplitude > mean {
                    let what = format!("amplitude {amplitude} exceeds the mean {mean}");
                    return Err(wrong(format!("{what}: the rate would be negative")));
                }
                if period_s <= 0.0 {
                    return Err(wrong("the period is 0".into()));
                }
                Ok(Self::Sine(mean, amplitude, period_s))
            }
            Some((name, _)) => Err(wrong(format!("no rate schedule is called '{name}'"))),
        }
    }

    /// λ at `t` s, requests/s. Before 0 (the warm-up) it is the level at 0.
    pub fn at(&self, t: f64) -> f64 {
        let t = t.max(0.0);
        match self {
            Self::Constant(level) => *level,
            Self::Steps(steps) => {
                let mut end = 0.0;
                let now = steps.iter().find(|(_, length)| {
                    end += length;
                    t < end
                });
                now.or(steps.last()).map_or(0.0, |(level, _)| *level)
            }
            Self::Ramp(from, to, length) => from + (to - from) * (t / length).min(1.0),
            Self::Sine(mean, amplitude, period) => mean + amplitude * (TAU * t / period).sin(),
        }
    }

    /// Λ(t): requests expected from 0 to `t` s; negative before 0.
    pub fn integral(&self, t: f64) -> f64 {
        if t < 0.0 {
            return t * self.at(0.0);
        }
        match self {
            Self::Constant(level) => level * t,
            Self::Steps(steps) => {
                let (mut left, mut sum) = (t, 0.0);
                for (level, length) in steps {
                    let here = left.min(*length);
                    sum += level * here;
                    left -= here;
                }
                sum + left * steps.last().map_or(0.0, |(level, _)| *level)
            }
            Self::Ramp(from, to, length) => {
                let on = t.min(*length);
                from * on + (to - from) * on * on / (2.0 * length) + to * (t - on)
            }
            Self::Sine(mean, amplitude, period) => {
                mean * t + amplitude * period / TAU * (1.0 - (TAU * t / period).cos())
            }
        }
    }

    /// Λ⁻¹(u): the first t, s, at which `u` requests are expected; infinite if that never happens.
    pub fn inverse(&self, u: f64) -> f64 {
        if u < 0.0 {
            let first = self.at(0.0);
            return if first > 0.0 { u / first } else { f64::NEG_INFINITY };
        }
        match self {
            Self::Constant(level) => u / level,
            Self::Steps(steps) => {
                let (mut start, mut left) = (0.0, u);
                for (level, length) in steps {
                    if left <= level * length && *level > 0.0 {
                        return start + left / level;
                    }
                    left -= level * length;
                    start += length;
                }
                start + time_at(left, steps.last().map_or(0.0, |(level, _)| *level))
            }
            Self::Ramp(from, to, length) => {
                let left = u - 0.5 * (from + to) * length;
                if left > 0.0 {
                    return length + time_at(left, *to);
                }
                // The root of a quadratic, in the form that loses no digits where the ramp is flat.
                let root = (from * from + 2.0 * (to - from) / length * u).max(0.0).sqrt();
                if u > 0.0 { 2.0 * u / (from + root) } else { 0.0 }
            }
            Self::Sine(mean, amplitude, period) => {
                let swing = amplitude * period / TAU; // |Λ(t) - mean · t| is at most twice that
                self.search(u, ((u - 2.0 * swing) / mean).max(0.0), u / mean)
            }
        }
    }

    /// The root in a bracket: Newton's method, and every other time the bracket is halved, so that it
    /// ends also where λ is 0. A tenth of a ns is exact enough.
    fn search(&self, u: f64, mut low: f64, mut high: f64) -> f64 {
        let mut t = high;
        for round in 0..200 {
            let off = self.integral(t) - u;
            if off < 0.0 {
                low = t;
            } else {
                high = t;
            }
            let newton = t - off / self.at(t);
            let is_inside = newton > low && newton < high && round % 2 == 0;
            let next = if is_inside { newton } else { 0.5 * (low + high) };
            if (next - t).abs() < 1e-10 {
                return next;
            }
            t = next;
        }
        t
    }
}

/// How long `requests` take at `level`, s.
fn time_at(requests: f64, level: f64) -> f64 {
    if requests <= 0.0 {
        0.0
    } else if level > 0.0 {
        requests / level
    } else {
        f64::INFINITY // the last level is 0: the schedule ends
    }
}

fn steps(text: &str, fix: &str) -> Result<Rate, Fault> {
    let mut steps = Vec::new();
    for part in text.split(',') {
        let (level, length) = part.split_once('@').ok_or_else(|| {
            Fault::usage(format!("step '{part}' has no length after '@'"), "rate", fix)
        })?;
        let named = |fault: Fault| Fault::usage(fault.what, "rate", fix);
        let length_s = parse_ns(length).map_err(named)? as f64 / 1e9;
        steps.push((not_negative(parse_count(level).map_err(named)?)?, length_s));
    }
    above_zero(steps.iter().map(|(level, length)| level * length).sum())?;
    Ok(Rate::Steps(steps))
}

fn above_zero(rate: f64) -> Result<f64, Fault> {
    if rate > 0.0 {
        return Ok(rate);
    }
    Err(Fault::usage(format!("the rate is {rate} requests/s"), "rate", "give a rate above 0"))
}

fn not_negative(rate: f64) -> Result<f64, Fault> {
    if rate >= 0.0 {
        return Ok(rate);
    }
    Err(Fault::usage(format!("a level is {rate} requests/s"), "rate", "give levels of 0 or more"))
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::RngExt as _;

    use super::*;

    const ALL: [&str; 8] = [
        "50k",
        "steps:10k@5s,0@1s,20k@5s",
        "steps:1k@2s,5k@3s,2k@1s",
        "ramp:1k..50k",
        "ramp:50k..1k",
        "ramp:5k..5k",
        "sine:20k,5k,3s",
        "sine:20k,20k,3s",
    ];

    #[test]
    fn inverse_undoes_the_integral() {
        for text in ALL {
            let rate = Rate::parse(text, 10.0).unwrap();
            for t in [-1.0, 0.0, 0.1, 1.7, 4.9, 6.5, 9.99, 12.0] {
                let back = rate.inverse(rate.integral(t));
                assert!((back - t).abs() < 1e-9, "{text}: {t} came back as {back}");
            }
        }
    }

    #[test]
    fn inverse_never_goes_back_whatever_the_schedule() {
        let mut rng = sojourn_base::rng::stream(1, "schedules", 0);
        let mut any = |n: u32| rng.random_range(0..n);
        for _ in 0..500 {
            let parts: Vec<String> =
                (0..=any(6)).map(|_| format!("{}@{}ms", any(9) * 1000, any(3000))).collect();
            let swing = any(1001);
            let texts = [
                format!("steps:1@1ms,{}", parts.join(",")),
                format!("ramp:{}..{}", any(9000), 1 + any(9000)),
                format!("sine:1000,{swing},{}ms", 1 + any(9000)),
            ];
            for text in texts {
                assert_inverse(&Rate::parse(&text, 10.0).unwrap(), &text);
            }
        }
    }

    /// Goes through the requests of 12 s in order.
    fn assert_inverse(rate: &Rate, text: &str) {
        let (all, mut before) = (rate.integral(12.0), 0.0);
        for step in 0..500 {
            let u = all * f64::from(step) / 500.0;
            let t = rate.inverse(u);
            assert!(t >= before && t <= 12.0, "{text}: {u} at {t} after {before}");
            assert!((rate.integral(t) - u).abs() < 1e-5, "{text}: {u} expected at {t}");
            before = t;
        }
    }

    #[test]
    fn integral_is_the_sum_of_the_rate() {
        for text in ALL {
            let rate = Rate::parse(text, 10.0).unwrap();
            let sum: f64 =
                (0..1_000_000).map(|i| rate.at((f64::from(i) + 0.5) * 1e-5) * 1e-5).sum();
            assert!((sum / rate.integral(10.0) - 1.0).abs() < 1e-4, "{text}: {sum}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        let wrong =
            ["-1", "0", "fast", "steps:10k", "steps:0@5s", "ramp:5k", "sine:1k,2k,1s", "x:1"];
        for text in wrong {
            let fault = Rate::parse(text, 10.0).unwrap_err();
            assert!(fault.at == "rate" && !fault.fix.is_empty(), "{text}: {fault}");
        }
    }
}
