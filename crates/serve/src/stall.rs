//! Scheduled stalls: times without any service, as if the service were stopped.
//!
//! `100ms/1s` means that each period of 1 s ends with 100 ms without service. Work that a stall
//! interrupts goes on after it; requests that arrive in a stall wait.

use sojourn_base::Fault;
use sojourn_base::units::parse_ns;

/// What ends later ends here, ns since the start, 292 years after it: a tail without a mean draws such service times, and
/// what is added to it has to fit into a number too.
pub const FOREVER_NS: u64 = u64::MAX / 2;

/// When there is no service; times in ns since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    length_ns: u64,
    period_ns: u64,
}

impl Stalls {
    /// No stalls: service at all times.
    pub const NONE: Self = Self { length_ns: 0, period_ns: 1 };

    /// Reads `LENGTH/PERIOD`; empty text means none.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.is_empty() {
            return Ok(Self::NONE);
        }
        let wrong = |what: String| Fault::usage(what, "stall", "write LENGTH/PERIOD: 100ms/1s");
        let (length, period) = text
            .split_once('/')
            .ok_or_else(|| wrong(format!("'{text}' names no length and period")))?;
        let read = |text: &str| parse_ns(text).map_err(|fault| wrong(fault.what));
        let (length_ns, period_ns) = (read(length)?, read(period)?);
        if length_ns >= period_ns {
            return Err(wrong(format!("a stall of {length} each {period} leaves no service")));
        }
        Ok(Self { length_ns, period_ns })
    }

    /// When a request that starts at `start_ns` and needs `service_ns` is finished.
    pub fn finish(&self, start_ns: u64, service_ns: u64) -> u64 {
        if self.length_ns == 0 {
            return start_ns.saturating_add(service_ns).min(FOREVER_NS);
        }
        let (start, period) = (u128::from(start_ns), u128::from(self.period_ns));
        let work = period - u128::from(self.length_ns); // service in one period
        let in_period = (start % period).min(work); // a start in a stall waits
        let done = in_period + u128::from(service_ns);
        // A request that is finished just when the stall begins is finished before it.
        let periods = if done == 0 { 0 } else { (done - 1) / work };
        let finish = start - start % period + periods * period + done - periods * work;
        finish.min(FOREVER_NS.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls() -> Stalls {
        Stalls::parse("100ns/1us").unwrap()
    }

    #[test]
    fn work_that_a_stall_interrupts_goes_on_after_it() {
        assert_eq!(stalls().finish(0, 500), 500);
        assert_eq!(stalls().finish(800, 100), 900, "just before the stall");
        assert_eq!(stalls().finish(800, 150), 1050, "50 of 150 after the stall");
        assert_eq!(stalls().finish(950, 10), 1010, "arrives in the stall");
        assert_eq!(stalls().finish(0, 1800), 1900, "two whole periods");
        assert_eq!(stalls().finish(0, 1801), 2001);
    }

    #[test]
    fn without_stalls_time_just_passes() {
        assert_eq!(Stalls::NONE.finish(123, 77), 200);
    }

    #[test]
    fn agrees_with_stepping_through_time_ns_by_ns() {
        let stalls = Stalls::parse("3ns/10ns").unwrap();
        for start in 0..40 {
            for service in 1..40 {
                let (mut now, mut left) = (start, service);
                while left > 0 {
                    left -= u64::from(now % 10 < 7);
                    now += 1;
                }
                assert_eq!(stalls.finish(start, service), now, "{start} + {service}");
            }
        }
    }

    #[test]
    fn what_is_no_stall_is_refused() {
        for text in ["100ms", "1s/1s", "2s/1s", "x/1s"] {
            assert!(Stalls::parse(text).unwrap_err().fix.contains("100ms/1s"), "{text}");
        }
    }
}
