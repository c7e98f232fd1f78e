//! What the program says of itself: its kinds, and the forms of job and result.

use schemars::schema_for;
use serde::Serialize;
use sojourn_base::kind::{Catalogue, Table};
use sojourn_workload::{arrivals, dist, popularity, sessions};

use crate::job::Job;
use crate::judge::result::RunResult;
use crate::{protocols, transports};

#[derive(Serialize)]
struct Description {
    catalogue: Catalogue,
    job: schemars::Schema,
    result: schemars::Schema,
}

/// All tables of kinds, as `--describe` prints them.
pub fn catalogue() -> Catalogue {
    Catalogue {
        program: "sojourn-load",
        version: env!("CARGO_PKG_VERSION"),
        tables: vec![
            Table::of("protocols", protocols::KINDS),
            Table::of("transports", transports::KINDS),
            Table::of("arrivals", arrivals::KINDS),
            Table::of("sessions", sessions::KINDS),
            Table::of("popularity", popularity::KINDS),
            Table::of("distributions", dist::KINDS),
        ],
    }
}

/// Catalogue and both schemas as one JSON object.
pub fn json() -> String {
    let description = Description {
        catalogue: catalogue(),
        job: schema_for!(Job),
        result: schema_for!(RunResult),
    };
    let mut text = serde_json::to_string_pretty(&description).expect("plain data");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_json_with_every_table_filled() {
        let value: serde_json::Value = serde_json::from_str(&json()).unwrap();
        for table in value["catalogue"]["tables"].as_array().unwrap() {
            assert!(!table["kinds"].as_array().unwrap().is_empty(), "{}", table["name"]);
        }
        assert!(value["job"]["properties"]["rate"].is_object());
        assert!(value["result"]["properties"]["sojourn_ns"].is_object());
    }
}
