//! What the program says of itself: its stages, its reasons, and the form of its result.

use schemars::schema_for;
use serde::Serialize;

use crate::blackbox::dump::Dump;
use crate::judge::difference::DiffResult;
use crate::judge::result::TraceResult;
use crate::reconstruct::reasons::REASONS;
use crate::reconstruct::stages::{Cause, STAGES};
use crate::who::WhoResult;

#[derive(Serialize)]
struct Description {
    program: &'static str,
    version: &'static str,
    stages: Vec<StageLine>,
    reasons: Vec<ReasonLine>,
    result: schemars::Schema,
    who: schemars::Schema,
    diff: schemars::Schema,
    ring: schemars::Schema,
}

#[derive(Serialize)]
struct StageLine {
    name: &'static str,
    alias: &'static str,
    about: &'static str,
    cause: Cause,
}

#[derive(Serialize)]
struct ReasonLine {
    name: &'static str,
    about: &'static str,
    weight: String,
}

/// Everything as one JSON object.
pub fn json() -> String {
    let stages = STAGES.iter().map(|stage| StageLine {
        name: stage.name,
        alias: stage.alias,
        about: stage.about,
        cause: stage.cause,
    });
    let reasons = REASONS.iter().map(|reason| ReasonLine {
        name: reason.name,
        about: reason.about,
        weight: format!("{:?}", reason.weight).to_lowercase(),
    });
    let description = Description {
        program: "sojourn-trace",
        version: env!("CARGO_PKG_VERSION"),
        stages: stages.collect(),
        reasons: reasons.collect(),
        result: schema_for!(TraceResult),
        who: schema_for!(WhoResult),
        diff: schema_for!(DiffResult),
        ring: schema_for!(Dump),
    };
    let mut text = serde_json::to_string_pretty(&description).expect("plain data");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_holds_the_form_of_the_result() {
        let value: serde_json::Value = serde_json::from_str(&json()).unwrap();
        for key in ["requests", "matched", "unmatched", "dropped", "verdict", "tail", "stages"] {
            assert!(value["result"]["properties"][key].is_object(), "{key}");
        }
        assert!(value["diff"]["properties"]["tail"].is_object());
        assert!(value["who"]["properties"]["tasks"].is_object());
        assert_eq!(value["stages"].as_array().unwrap().len(), STAGES.len());
    }
}
