//! Users who watch a film: a play list, then a chunk at even times until its end.
//!
//! Whoever watches has chosen a quality and keeps it. A chunk is to be shown `buffer` after it was
//! asked for; one that arrives later makes the picture stand still.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::units::parse_ns;

use super::{SessionKind, Sessions};

const USAGE: &str = "playback:chunks=10,every=4s,start=500ms,buffer=4s,mix=0.1/0.3/0.4/0.2";
/// More than an hour of chunks of 4 s.
const CHUNKS_MAX: u32 = 1_000;
/// An hour: beyond it, a time is a mistake in its unit.
const LONGEST_NS: u64 = 3_600_000_000_000;

pub(super) const KIND: SessionKind = SessionKind {
    kind: Kind {
        name: "playback",
        about: "a play list, then a chunk of the film every few seconds, in one of several qualities",
        usage: "playback:chunks=N,every=TIME,start=TIME,buffer=TIME,mix=SHARE/… (playback)",
        params: &[
            Param {
                name: "chunks",
                unit: "",
                about: "of a film, all of which a session asks for",
                default: "10",
                range: "1..1000",
            },
            Param {
                name: "every",
                unit: "time",
                about: "from one chunk to the next, and how long one is shown",
                default: "4s",
                range: "> 0",
            },
            Param {
                name: "start",
                unit: "time",
                about: "from the play list to the first chunk",
                default: "500ms",
                range: ">= 0",
            },
            Param {
                name: "buffer",
                unit: "time",
                about: "from when a chunk is due to when it is to be shown",
                default: "as every",
                range: ">= 0",
            },
            Param {
                name: "mix",
                unit: "",
                about: "shares of the qualities, the lowest first",
                default: "0.1/0.3/0.4/0.2",
                range: "add to 1",
            },
        ],
        needs: &[],
        source: "PAPERS P4; CloudSuite media streaming (httperf wsesslog)",
    },
    build,
};

fn build(text: &str) -> Result<Option<Sessions>, Fault> {
    let mut sessions = Sessions {
        chunks: 10,
        every_ns: 4_000_000_000,
        start_ns: 500_000_000,
        buffer_ns: 0,
        mix: vec![0.1, 0.3, 0.4, 0.2],
    };
    let mut buffer_ns = None;
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "chunks" => sessions.chunks = chunks(value)?,
            "every" => sessions.every_ns = time("every", value, 1)?,
            "start" => sessions.start_ns = time("start", value, 0)?,
            "buffer" => buffer_ns = Some(time("buffer", value, 0)?),
            "mix" => sessions.mix = mix(value)?,
            _ => {
                let what = format!("'{word}' is not a parameter of playback");
                return Err(Fault::usage(what, "", format!("write {USAGE}")));
            }
        }
    }
    sessions.buffer_ns = buffer_ns.unwrap_or(sessions.every_ns);
    Ok(Some(sessions))
}

fn chunks(text: &str) -> Result<u32, Fault> {
    text.parse().ok().filter(|count| (1..=CHUNKS_MAX).contains(count)).ok_or_else(|| {
        let fix = format!("give a number from 1 to {CHUNKS_MAX}");
        Fault::usage(format!("chunks is '{text}'"), "chunks", fix)
    })
}

fn time(name: &str, text: &str, least: u64) -> Result<u64, Fault> {
    let fix =
        if least > 0 { "give a time above 0, an hour at most" } else { "give an hour at most" };
    let wrong = |what: String| Fault::usage(what, name, fix);
    let ns = parse_ns(text).map_err(|fault| wrong(fault.what))?;
    if (least..=LONGEST_NS).contains(&ns) {
        Ok(ns)
    } else {
        Err(wrong(format!("{name} is {text}")))
    }
}

fn mix(text: &str) -> Result<Vec<f64>, Fault> {
    let shares: Option<Vec<f64>> = text.split('/').map(|share| share.trim().parse().ok()).collect();
    let is_sound = |shares: &Vec<f64>| {
        let sum: f64 = shares.iter().sum();
        (sum - 1.0).abs() < 1e-9 && shares.iter().all(|share| (0.0..=1.0).contains(share))
    };
    shares.filter(is_sound).ok_or_else(|| {
        let fix = "give a share of each quality; they add to 1, such as 0.1/0.3/0.4/0.2";
        Fault::usage(format!("mix is '{text}'"), "mix", fix)
    })
}
