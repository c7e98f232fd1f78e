//! What a result says of replies and of TLS.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocols::sampled::Looked;
use crate::protocols::server_notices::Notices;
use crate::tally::Tally;
use crate::transports::tls::Seen;

/// Bodies of the replies to the protocol's usual operation (`get`), hits alone: how long they were, and
/// what a sample of them was found to hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replies {
    /// Replies due in the measured part whose bodies are counted here.
    pub count: u64,
    /// Mean length of a body, bytes; `null` without any.
    pub bytes_mean: Option<f64>,
    /// Shortest body, bytes.
    pub bytes_min: Option<u64>,
    /// Longest body, bytes.
    pub bytes_max: Option<u64>,
    /// Rows of all replies, warm-up included; `null` where the protocol has none.
    pub rows: Option<u64>,
    /// Empty bodies.
    pub empty: u64,
    /// Bodies that were not as long as the first one to the same request; `null` where the protocol knows
    /// lengths itself, or a job asks for more than a million items.
    pub changed: Option<u64>,
    /// Bodies held against `expect_sha256` and `expect_regex`: an even sample of the run, warm-up included.
    pub checked: u64,
    /// One in so many replies is in the sample; `null`: the job expects nothing of bodies.
    pub checked_every: Option<u64>,
    /// Bodies of the sample that were too long to be checked.
    pub too_long: u64,
    /// Bodies that failed a check, by its key in the job.
    pub failed: BTreeMap<String, u64>,
    /// How the first of them begins.
    pub example: Option<String>,
    /// Statuses of HTTP and gRPC that were no success, warm-up included, by name: a status of HTTP
    /// (`HTTP 503`), one of a gRPC call (`UNAVAILABLE`), an error of a stream (`RST_STREAM CANCEL`)
    /// or of a connection (`GOAWAY ENHANCE_YOUR_CALM`), or behind `refused: ` what no reply may have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, u64>,
}

impl Replies {
    /// Those of `all`, what was `looked` at, the `notices` beside them, and `statuses` that were no
    /// success.
    pub(crate) fn of(
        all: &Tally,
        looked: Option<&Looked>,
        notices: Option<&Notices>,
        statuses: &BTreeMap<String, u64>,
    ) -> Self {
        let bodies = &all.bodies;
        let is_any = bodies.count > 0;
        let mut this = Self {
            count: bodies.count,
            bytes_mean: is_any.then(|| bodies.bytes as f64 / bodies.count as f64),
            bytes_min: is_any.then_some(bodies.min.into()),
            bytes_max: is_any.then_some(bodies.max.into()),
            rows: notices.and_then(|notices| notices.rows),
            empty: bodies.empty,
            changed: bodies.are_followed().then_some(bodies.changed),
            statuses: statuses.clone(),
            ..Self::default()
        };
        if let Some(looked) = looked {
            this.checked = looked.checked;
            this.checked_every = Some(looked.every);
            this.too_long = looked.too_long;
            this.failed.clone_from(&looked.failed);
            this.example = (!looked.example.is_empty()).then(|| looked.example.clone());
        }
        this
    }
}

/// TLS handshakes, all threads together; those before the run are outside of every request's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Handshakes that succeeded, those before the run included.
    pub handshakes: u64,
    /// Of these, how many took a session up again.
    pub resumed: u64,
    /// Handshakes that failed while the run went on.
    pub failed: u64,
    /// Mean time of one that succeeded, ns.
    pub mean_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// Version and cipher suite.
    pub cipher: String,
    /// Protocol agreed on (ALPN); empty: none.
    pub alpn: String,
}

impl Tls {
    /// That of all threads; `None` without TLS.
    pub(crate) fn of(seen: impl Iterator<Item = Seen>) -> Option<Self> {
        let all = seen.reduce(|mut all, one| {
            all.merge(&one);
            all
        })?;
        Some(Self {
            handshakes: all.handshakes,
            resumed: all.resumed,
            failed: all.failed,
            mean_ns: all.total_ns / all.handshakes.max(1),
            longest_ns: all.longest_ns,
            cipher: all.cipher,
            alpn: all.alpn,
        })
    }
}
