//! Sessions: users who ask several times, at times that are fixed when they begin.
//!
//! A session is one arrival that becomes several requests. All of them are drawn before the run, so a
//! user never waits for a reply before the next request is due, and the loop stays open. One file per
//! kind; `KINDS` is the table.
//!
//! Items are numbered by film, then quality, then request: the play list of a film in a quality, then
//! its chunks. So an item's number alone says which request of a session it is ([`Sessions::nth`]).

mod none;
mod playback;

use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind};
use sojourn_base::rng::{Rng, RngExt};

/// One entry of the table.
pub struct SessionKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Builds it from the text after the colon; `None`: every arrival is one request.
    pub build: fn(&str) -> Result<Option<Sessions>, Fault>,
}

impl AsRef<Kind> for SessionKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every kind of session, in reading order.
pub const KINDS: &[SessionKind] = &[none::KIND, playback::KIND];

/// What the requests of every session are, and when they are due.
#[derive(Clone, Debug, PartialEq)]
pub struct Sessions {
    /// Chunks of a film, each a request after that for the play list.
    pub chunks: u32,
    /// From one chunk to the next, ns; a chunk is shown for as long.
    pub every_ns: u64,
    /// From the play list to the first chunk, ns.
    pub start_ns: u64,
    /// From a chunk's intended time to when it is to be shown, ns.
    pub buffer_ns: u64,
    /// Shares of the qualities, the lowest first; they add to 1.
    pub mix: Vec<f64>,
}

/// Reads `name` or `name:parameters`; an empty text is `none`.
pub fn parse(text: &str) -> Result<Option<Sessions>, Fault> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let name = if name.trim().is_empty() { "none" } else { name.trim() };
    let entry = kind::find(KINDS, name, "kind of session", "sessions")?;
    (entry.build)(rest).map_err(|fault| fault.within("sessions"))
}

impl Sessions {
    /// Requests of a session: the play list and its chunks.
    pub fn requests(&self) -> u32 {
        self.chunks + 1
    }

    /// When request `nth` of a session is due, ns after its begin; 0 is the play list.
    pub fn offset_ns(&self, nth: u32) -> u64 {
        match nth {
            0 => 0,
            _ => self.start_ns + u64::from(nth - 1) * self.every_ns,
        }
    }

    /// From a session's begin to its last request, ns: for so long it is under way.
    pub fn length_ns(&self) -> u64 {
        self.offset_ns(self.chunks)
    }

    /// Which request of its session asks for `item`.
    pub fn nth(&self, item: u32) -> u32 {
        item % self.requests()
    }

    /// How many films `items` are.
    pub fn films(&self, items: u64) -> Result<u64, Fault> {
        let each = self.mix.len() as u64 * u64::from(self.requests());
        if items > 0 && items.is_multiple_of(each) {
            return Ok(items / each);
        }
        let (qualities, chunks) = (self.mix.len(), self.chunks);
        Err(Fault::usage(
            format!(
                "{items} items are no whole films of {qualities} qualities, each a play list and \
                 {chunks} chunks"
            ),
            "sessions",
            format!(
                "give {each} paths for each film, in the order film, quality, play list, chunks"
            ),
        ))
    }

    /// The first item of a session that watches `film`, its quality by lot.
    pub(crate) fn first_item(&self, film: u32, rng: &mut Rng) -> u32 {
        let u: f64 = rng.random();
        let mut below = 0.0;
        let last = self.mix.len() - 1;
        let result = self.mix.iter().position(|share| {
            below += share;
            u < below
        });
        (film * self.mix.len() as u32 + result.unwrap_or(last) as u32) * self.requests()
    }

    /// Requests expected until `t_s`, all sessions' times taken together: the mean of `expected`, which
    /// says so of begins that are requests, over the requests of a session.
    pub(crate) fn mean_of(&self, t_s: f64, expected: impl Fn(f64) -> f64) -> f64 {
        let at = |nth: u32| expected(t_s - self.offset_ns(nth) as f64 / 1e9);
        (0..self.requests()).map(at).sum::<f64>() / f64::from(self.requests())
    }

    /// Variance over mean of the requests in a window of `window_ns`, of sessions that begin at random.
    ///
    /// Of two requests of one session, `d` apart, a window of length T that holds one holds the other with
    /// probability 1 − d/T. Source: Campbell's theorem for a Poisson cluster process (Daley and
    /// Vere-Jones, An Introduction to the Theory of Point Processes, 2nd ed., 6.3).
    pub fn dispersion(&self, window_ns: u64) -> f64 {
        let window = window_ns.max(1) as f64;
        let both = |i: u32, k: u32| {
            let apart_ns = self.offset_ns(i).abs_diff(self.offset_ns(k));
            (1.0 - apart_ns as f64 / window).max(0.0)
        };
        let pairs = (0..self.requests()).flat_map(|i| (0..self.requests()).map(move |k| (i, k)));
        pairs.map(|(i, k)| both(i, k)).sum::<f64>() / f64::from(self.requests())
    }
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::stream;

    use super::*;

    fn film(text: &str) -> Sessions {
        parse(text).unwrap().unwrap()
    }

    #[test]
    fn a_session_asks_for_its_play_list_and_then_for_a_chunk_at_even_times() {
        let sessions = film("playback:chunks=3,every=4s,start=500ms");
        let due_ms: Vec<u64> = (0..4).map(|nth| sessions.offset_ns(nth) / 1_000_000).collect();
        assert_eq!(due_ms, [0, 500, 4_500, 8_500]);
        assert_eq!((sessions.requests(), sessions.length_ns()), (4, 8_500_000_000));
        assert_eq!(sessions.buffer_ns, 4_000_000_000, "a chunk is shown when the next is due");
    }

    #[test]
    fn an_items_number_says_which_request_it_is() {
        let sessions = film("playback:chunks=3,mix=0.5/0.5");
        assert_eq!(sessions.films(16).unwrap(), 2);
        assert_eq!([0, 1, 3, 4, 7, 8].map(|item| sessions.nth(item)), [0, 1, 3, 0, 3, 0]);
        for items in [0, 4, 15] {
            assert!(sessions.films(items).unwrap_err().fix.contains("8 paths"), "{items}");
        }
    }

    #[test]
    fn qualities_are_drawn_in_their_shares() {
        let sessions = film("playback:chunks=1");
        let (mut rng, mut counts) = (stream(7, "quality", 0), [0_u32; 4]);
        for _ in 0..100_000 {
            counts[sessions.first_item(0, &mut rng) as usize / 2] += 1;
        }
        for (count, share) in counts.into_iter().zip([0.1_f64, 0.3, 0.4, 0.2]) {
            let sigma = (100_000.0 * share * (1.0 - share)).sqrt();
            assert!((f64::from(count) - 100_000.0 * share).abs() < 5.0 * sigma, "{share}: {count}");
        }
    }

    /// Far shorter than the gaps a window sees single requests, far longer whole sessions.
    #[test]
    fn counts_scatter_by_requests_in_short_windows_and_by_sessions_in_long_ones() {
        let sessions = film("playback:chunks=9,every=4s,start=1s");
        assert!((sessions.dispersion(1_000_000) - 1.0).abs() < 1e-12);
        assert!((sessions.dispersion(1 << 60) - 10.0).abs() < 1e-3);
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        assert_eq!(parse("").unwrap(), None);
        assert_eq!(parse("none").unwrap(), None);
        for (text, way_out) in [
            ("plaback", "playback"),
            ("none:3", "write none"),
            ("playback:chunks=0", "1 to"),
            ("playback:chunks=x", "1 to"),
            ("playback:every=0s", "above 0"),
            ("playback:every=1d", "above 0"),
            ("playback:mix=0.5", "add to 1"),
            ("playback:mix=1.5/-0.5", "add to 1"),
            ("playback:mix=a", "add to 1"),
            ("playback:rate=3", "chunks="),
            ("playback:chunks", "1 to"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.fix.contains(way_out), "{text}: {fault}");
            assert!(fault.at.starts_with("sessions"), "{text}: {fault}");
        }
    }

    #[test]
    fn the_table_and_the_folder_agree() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sessions");
        let mut files: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into())
            .filter(|name: &String| name != "mod")
            .collect();
        files.sort();
        let mut kinds: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
        kinds.sort_unstable();
        assert_eq!(files, kinds);
    }
}
