//! Times as Parquet: a row per request.

use std::path::Path;

use sojourn_base::Fault;

use super::rows::Row;
use crate::output::records::{Columns, begin};

/// Version of the file's form.
pub(super) const SCHEMA: &str = "sojourn.times.records/1";
const NAMES: [&str; 4] = ["start_ns", "first_ns", "end_ns", "connection"];

/// Opens the file at `path`, before anything is traced.
pub(super) fn open(path: &Path) -> Result<Columns, Fault> {
    begin(path, &NAMES)
}

/// Writes `rows`, and closes the file.
pub(super) fn write(file: Columns, rows: &[Row]) -> Result<(), Fault> {
    let values: [fn(&Row) -> u64; 4] =
        [|it| it.start_ns, |it| it.first_ns, |it| it.end_ns, |it| it.connection];
    file.write(SCHEMA, rows, &values)
}
