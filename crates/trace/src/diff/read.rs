//! Results as `sojourn-trace --json` wrote them. Their files may be anyone's: size, form and numbers are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sojourn_base::Fault;
use sojourn_base::visible::in_line;

use crate::diff::parts::{Block, Row};
use crate::judge::blocks::HEADS;
use crate::judge::result::{SCHEMA, TraceResult};

/// Larger files are refused.
const BYTES_MAX: u64 = 256 << 20;
/// Blocks of a side: more are put together, because neighbours depend on each other.
const BLOCKS: usize = 32;
const AGAIN: &str = "trace again with this version: sojourn-trace --pid PID --json FILE";

/// A trace that was read, with its parts and blocks.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its file, as it can be shown.
    pub path: String,
    /// As it was written.
    pub result: TraceResult,
    /// Names of the parts of a request's time: stages, and `residual`.
    pub parts: Vec<String>,
    /// By time.
    pub blocks: Vec<Block>,
}

/// Traces of a first and a second side.
pub type Pair = (Trace, Trace);

/// A mistake in what was asked for.
pub fn fault(what: impl Into<String>, at: impl Into<String>, fix: impl Into<String>) -> Fault {
    Fault::usage(what, at, fix)
}

/// Reads a result that `--json` wrote; faults name the file and what is wrong.
pub fn trace(path: &Path) -> Result<Trace, Fault> {
    let at = in_line(&path.display().to_string());
    let text = text(path).map_err(|why| fault(why, &at, "name a file that --json wrote"))?;
    let wrong = |why: String| fault(in_line(&why), &at, AGAIN);
    let schema = serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| wrong(format!("the file is no JSON: {error}")))?
        .get("schema")
        .and_then(|schema| schema.as_str().map(str::to_owned));
    if schema.as_deref() != Some(SCHEMA) {
        let is = schema.unwrap_or_else(|| "nothing".into());
        return Err(wrong(format!(
            "the file is no result of a trace: schema is {is}, not {SCHEMA}"
        )));
    }
    let result: TraceResult = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("the result is damaged or of another version: {error}")))?;
    let (parts, blocks) = blocks(&result).map_err(wrong)?;
    Ok(Trace { path: at, result, parts, blocks })
}

/// What a regular file holds; nothing is waited for.
fn text(path: &Path) -> Result<String, String> {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = open.map_err(|error| format!("the result cannot be read: {error}"))?;
    let about = file.metadata().map_err(|error| format!("the result cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("this is no file".into());
    }
    if about.len() > BYTES_MAX {
        return Err(format!("the file has {} bytes; at most {BYTES_MAX} are read", about.len()));
    }
    let mut text = String::new();
    let read = file.take(BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| format!("the result cannot be read: {error}"))?;
    Ok(text)
}

fn blocks(result: &TraceResult) -> Result<(Vec<String>, Vec<Block>), String> {
    let written = &result.blocks;
    if written.columns.is_empty() {
        return Err(
            "it has no blocks: an older version traced it, or no request was matched".into()
        );
    }
    let heads = written.columns.iter().map(String::as_str).take(HEADS.len());
    let parts: Vec<String> = written.columns.iter().skip(HEADS.len()).cloned().collect();
    if !heads.eq(HEADS) || parts.iter().collect::<BTreeSet<_>>().len() < parts.len() {
        return Err("its blocks are damaged: their columns are others".into());
    }
    let mut by_number = BTreeMap::<u64, Block>::new();
    for line in &written.rows {
        let cells: Option<Vec<u64>> = line.split(',').map(|cell| cell.parse().ok()).collect();
        let cells = cells.filter(|cells| cells.len() == written.columns.len() && cells[2] > 0);
        let Some(cells) = cells else {
            return Err(format!(
                "its blocks are damaged: '{}'",
                line.chars().take(60).collect::<String>()
            ));
        };
        by_number.entry(cells[0]).or_default().push(Row {
            from_ns: cells[1],
            requests: cells[2] as f64,
            parts_ns: cells[HEADS.len()..].iter().map(|&ns| ns as f64).collect(),
        });
    }
    let list: Vec<Block> = by_number.into_values().collect();
    let each = list.len().div_ceil(BLOCKS).max(1);
    Ok((parts, list.chunks(each).map(<[Block]>::concat).collect()))
}
