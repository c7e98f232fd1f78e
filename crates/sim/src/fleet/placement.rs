//! Which servers get a neighbour, hour by hour. [`KINDS`] is the table.

use sojourn_base::kind::{self, Kind, Param};
use sojourn_base::{Fault, units};

/// What a placement knows of a server in one hour.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// Load of its service, 0 to 1.
    pub load: f64,
    /// A number in 0..1 that is the server's own and stays.
    pub lot: f64,
}

/// A placement: whether this server has a neighbour in this hour.
pub type Placement = Box<dyn Fn(&Server) -> bool + Sync>;

/// One entry of the table.
pub struct PlacementKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Builds it from its parameter (0 if it has none).
    pub build: fn(f64) -> Placement,
}

impl AsRef<Kind> for PlacementKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every placement, in reading order.
pub const KINDS: &[PlacementKind] = &[
    PlacementKind {
        kind: Kind {
            name: "null",
            about: "no neighbours",
            usage: "null (null)",
            params: &[],
            needs: &[],
            source: "",
        },
        build: |_| Box::new(|_| false),
    },
    PlacementKind {
        kind: Kind {
            name: "all",
            about: "a neighbour on every server, always",
            usage: "all (all)",
            params: &[],
            needs: &[],
            source: "PAPERS L28: Table 2",
        },
        build: |_| Box::new(|_| true),
    },
    PlacementKind {
        kind: Kind {
            name: "random",
            about: "a neighbour on this share of the servers, always the same ones",
            usage: "random:SHARE (random:0.5)",
            params: &[SHARE],
            needs: &[],
            source: "",
        },
        build: |share| Box::new(move |server| server.lot < share),
    },
    PlacementKind {
        kind: Kind {
            name: "below",
            about: "a neighbour wherever the service's load is below this, hour by hour",
            usage: "below:LOAD (below:0.6)",
            params: &[LOAD],
            needs: &[],
            source: "PAPERS L30, L34: admission by load",
        },
        build: |load| Box::new(move |server| server.load < load),
    },
];

const SHARE: Param =
    Param { name: "share", unit: "ratio", about: "share of servers", default: "", range: "0..1" };
const LOAD: Param =
    Param { name: "load", unit: "ratio", about: "load limit", default: "", range: "0..1" };

/// Reads `name` or `name:number`; a fault has the names there are.
pub fn parse(text: &str) -> Result<Placement, Fault> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let entry = kind::find(KINDS, name, "placement", "placement")?;
    let fix = format!("write {}", entry.kind.usage);
    if entry.kind.params.is_empty() != rest.is_empty() {
        return Err(Fault::usage(format!("'{text}' is not a placement"), "placement", fix));
    }
    let number = if rest.is_empty() { 0.0 } else { units::parse_count(rest)? };
    if !(0.0..=1.0).contains(&number) {
        return Err(Fault::usage(format!("{number} is not in 0..1"), "placement", fix));
    }
    Ok((entry.build)(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_places_as_it_says() {
        let server = Server { load: 0.5, lot: 0.3 };
        let places = |text| parse(text).unwrap()(&server);
        assert!(!places("null") && places("all"));
        assert!(places("random:0.4") && !places("random:0.3"));
        assert!(places("below:0.6") && !places("below:0.5"));
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        for text in ["al", "random", "below:2", "all:1"] {
            assert!(parse(text).err().is_some_and(|fault| !fault.fix.is_empty()), "{text}");
        }
    }
}
