//! No sessions: every arrival is one request.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::{SessionKind, Sessions};

pub(super) const KIND: SessionKind = SessionKind {
    kind: Kind {
        name: "none",
        about: "every arrival is one request",
        usage: "none (none)",
        params: &[],
        needs: &[],
        source: "",
    },
    build,
};

fn build(text: &str) -> Result<Option<Sessions>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    let what = format!("none takes no parameters, '{text}' given");
    Err(Fault::usage(what, "", "write none"))
}
