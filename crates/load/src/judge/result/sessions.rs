//! What a result says of sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::Span;

use crate::tally::playback::{ByKind, Seen};

/// Sessions of a run (`sessions` of the job), by what their users saw.
///
/// A chunk is to be shown some time after it was due. One that arrives later makes the picture stand
/// still (a stall), and puts off all that follow; one that never arrives is a stall as long as it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Sessions that began in the measured part.
    pub begun: u64,
    /// Sessions under way, mean over the measured part: from the play list to the last chunk's due time.
    pub under_way: f64,
    /// done − intended of play lists; the same requests as in `sojourn_ns`.
    pub play_list_ns: Span,
    /// done − intended of chunks; the same requests as in `sojourn_ns`.
    pub chunk_ns: Span,
    /// Chunks that were due in the measured part, in outages of the instrument too.
    pub chunks: u64,
    /// Of these, how many arrived after they were to be shown.
    pub late_chunks: u64,
    /// Of these, how many never arrived as they should.
    pub lost_chunks: u64,
    /// How long pictures stood still because of these chunks, ns.
    pub stalled_ns: u64,
    /// The longest of these stalls, ns.
    pub longest_stall_ns: u64,
    /// Sessions of which a chunk was due in the measured part.
    pub watched: u64,
    /// Of these, how many had a stall there.
    pub stalled: u64,
    /// Stalls of a whole session, from the share of chunks that made one.
    pub stalls_per_session: f64,
    /// How long the picture of a whole session stands still, s, from the mean over chunks.
    pub stalled_s_per_session: f64,
}

impl Sessions {
    /// From what was seen over `measured_ns`, of sessions of `chunks` chunks.
    pub(crate) fn of(seen: &Seen, by_kind: &ByKind, (chunks, measured_ns): (u32, u64)) -> Self {
        let each = f64::from(chunks) / seen.chunks.max(1) as f64;
        Self {
            begun: seen.begun,
            under_way: seen.under_way_ns as f64 / measured_ns.max(1) as f64,
            play_list_ns: by_kind.play_list.span(),
            chunk_ns: by_kind.chunk.span(),
            chunks: seen.chunks,
            late_chunks: seen.late,
            lost_chunks: seen.lost,
            stalled_ns: seen.stalled_ns,
            longest_stall_ns: seen.longest_ns,
            watched: seen.watched,
            stalled: seen.stalled,
            stalls_per_session: (seen.late + seen.lost) as f64 * each,
            stalled_s_per_session: seen.stalled_ns as f64 / 1e9 * each,
        }
    }
}
