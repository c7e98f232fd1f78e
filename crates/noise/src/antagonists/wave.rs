//! The square wave: `while (1)` for the busy part of every period, asleep for the rest.
//!
//! Every period begins at its own instant, start + n × period, so it does not drift however late one
//! of them came to run. What is late is not made up for: the busy part ends when it would have ended.

use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic, sleep_until, thread_cpu_ns};
use sojourn_base::kind::{Kind, Param};

use crate::antagonist::{Antagonist, Entry, Made, Most, Pace, Shared, Wave};
use crate::intensity::Intensity;
use crate::words::Words;

const LOOKS: u32 = 64; // steps of the loop between two looks at the clocks

struct Square {
    wave: Wave,
}

impl Antagonist for Square {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let start_ns = thread_cpu_ns();
        while thread_cpu_ns() - start_ns < units {
            spin();
        }
        Ok(thread_cpu_ns() - start_ns)
    }

    fn run(&mut self, pace: Pace, shared: &Shared, stop: &AtomicBool) -> Result<(), Fault> {
        let Wave { busy_ns, period_ns } = self.wave;
        let mut used_ns = 0;
        while !stop.load(Ordering::Relaxed) {
            let elapsed_ns = Monotonic.now_ns().saturating_sub(pace.start_ns);
            let (nth, within) = (elapsed_ns / period_ns, elapsed_ns % period_ns);
            if Monotonic.now_ns() < pace.start_ns || within >= busy_ns {
                let next = if Monotonic.now_ns() < pace.start_ns { nth } else { nth + 1 };
                let until_ns = pace.start_ns + next * period_ns;
                sleep_until(until_ns.min(Monotonic.now_ns() + 100_000_000));
                continue;
            }
            let end_ns = pace.start_ns + nth * period_ns + busy_ns;
            let before_ns = thread_cpu_ns();
            while Monotonic.now_ns() < end_ns && !stop.load(Ordering::Relaxed) {
                spin();
                shared.units.store(used_ns + thread_cpu_ns() - before_ns, Ordering::Relaxed);
            }
            used_ns += thread_cpu_ns() - before_ns;
            shared.units.store(used_ns, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn spin() {
    for _ in 0..LOOKS {
        std::hint::spin_loop();
    }
}

fn build(words: &Words, asked: Intensity) -> Result<Made, Fault> {
    let (busy_ns, period_ns) = (words.time_ns("busy")?, words.time_ns("period")?);
    if busy_ns > period_ns {
        let (busy, period) = (words.text("busy"), words.text("period"));
        let what = format!("busy for {busy} of every {period}");
        return Err(Fault::usage(what, "params.busy", "give at most the period"));
    }
    let Intensity::Share(share) = asked else {
        let fix = "write 100%, and choose busy and period";
        return Err(Fault::usage("a square wave has no rate", "intensity", fix));
    };
    let wave = Wave { busy_ns: (busy_ns as f64 * share) as u64, period_ns };
    let reported = format!("busy {} µs of every {} µs", wave.busy_ns / 1000, period_ns / 1000);
    let mut made = Made::new(Square { wave }, reported);
    (made.most_per_s, made.wave) = (Some(1e9 * busy_ns as f64 / period_ns as f64), Some(wave));
    Ok(made)
}

const fn time(name: &'static str, about: &'static str, default: &'static str) -> Param {
    Param { name, unit: "time", about, default, range: "> 0" }
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "wave",
        about: "a square wave: busy for a part of every period, asleep for the rest",
        usage: "wave (-p busy=6ms -p period=48ms)",
        params: &[
            time("busy", "busy part of a period; the intensity scales it", "6ms"),
            time("period", "length of a period", "48ms"),
        ],
        needs: &[],
        source: "L18: 6 ms of every 48 ms",
    },
    unit: "busy-ns",
    most: Most::Told,
    build,
};
