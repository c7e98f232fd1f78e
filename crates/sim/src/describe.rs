//! What the program says of itself: its kinds, its jobs, its results.

use sojourn_base::Fault;
use sojourn_base::kind::{Catalogue, Table};

use crate::{calls, closed, fleet, queue, sched};

/// Kinds, JSON Schemas and default jobs, as JSON.
pub(crate) fn text() -> Result<String, Fault> {
    let catalogue = Catalogue {
        program: "sojourn-sim",
        version: env!("CARGO_PKG_VERSION"),
        tables: vec![
            Table::of("arrivals", sojourn_workload::arrivals::KINDS),
            Table::of("services", sojourn_workload::dist::KINDS),
            Table::of("disciplines", queue::KINDS),
            Table::of("policies", sched::KINDS),
            Table::of("placements", fleet::placement::KINDS),
            Table::of("closed_forms", closed::KINDS),
        ],
    };
    let json = serde_json::json!({
        "catalogue": catalogue,
        "queue": {
            "job_schema": schemars::schema_for!(queue::run::Job),
            "job_default": queue::run::Job::default(),
            "result_schema": schemars::schema_for!(queue::run::QueueResult),
        },
        "fleet": {
            "job_schema": schemars::schema_for!(fleet::job::Job),
            "job_default": fleet::job::Job::default(),
            "result_schema": schemars::schema_for!(fleet::result::FleetResult),
        },
        "calls": {
            "job_schema": schemars::schema_for!(calls::job::Job),
            "job_default": calls::job::Job::default(),
            "call_default": calls::job::Call::default(),
            "service_default": calls::job::ServiceJob::default(),
            "result_schema": schemars::schema_for!(calls::result::CallsResult),
        },
        "sched": {
            "job_schema": schemars::schema_for!(sched::job::Job),
            "job_default": sched::job::Job::default(),
            "neighbour_default": sched::job::NeighbourJob::default(),
            "result_schema": schemars::schema_for!(sched::result::SchedResult),
        },
    });
    let text = serde_json::to_string_pretty(&json);
    text.map(|t| t + "\n")
        .map_err(|e| Fault::failed(format!("cannot describe: {e}"), "", "report this"))
}
