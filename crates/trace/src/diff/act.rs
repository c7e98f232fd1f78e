//! The program's part: from files to files.

use std::io::Write;
use std::path::{Path, PathBuf};

use sojourn_base::{Exit, Fault, files};

use crate::diff::args::DiffArgs;
use crate::diff::judge::{self, Asked};
use crate::diff::read::{self, Pair, Trace, fault};
use crate::diff::{flame, text, together};
use crate::reconstruct::parts::VerdictWord;

/// Compares the traces, prints the answer and writes the files that were asked for.
pub fn act(args: &DiffArgs, out: &mut dyn Write) -> Result<Exit, Fault> {
    let asked = Asked { q: args.tail, least: args.least()?, alpha: args.alpha()?, seed: args.seed };
    if args.files.len() % 2 == 1 {
        return Err(fault(
            format!("{} results make no pairs", args.files.len()),
            "diff",
            "name a first and a second one, and as many more pairs as there are",
        ));
    }
    for path in [&args.json, &args.flame, &args.folded, &args.chrome].into_iter().flatten() {
        files::check_writable(path)?;
    }
    let pairs = pairs(&args.files)?;
    let result = judge::diff(&pairs, asked);
    write(args.flame.as_deref(), || flame::svg(&pairs, &result))?;
    write(args.folded.as_deref(), || flame::lines(&pairs))?;
    write(args.chrome.as_deref(), || Ok(together::trace(&pairs).to_string()))?;
    let json = || serde_json::to_string_pretty(&result).expect("plain data") + "\n";
    match args.json.as_deref() {
        Some(path) if path.as_os_str() == "-" => files::say(out, &json())?,
        path => {
            write(path, || Ok(json()))?;
            files::say(out, &text::page(&result))?;
        }
    }
    Ok(match result.verdict {
        VerdictWord::Holds => Exit::Ok,
        VerdictWord::Unknown => Exit::Unknown,
    })
}

fn pairs(files: &[PathBuf]) -> Result<Vec<Pair>, Fault> {
    let pairs: Vec<Pair> = files
        .chunks(2)
        .map(|two| Ok((read::trace(&two[0])?, read::trace(&two[1])?)))
        .collect::<Result<_, Fault>>()?;
    let merges = |trace: &Trace| trace.parts.iter().any(|part| part.contains('+'));
    let all: Vec<&Trace> = pairs.iter().flat_map(|(first, second)| [first, second]).collect();
    if let Some(other) = all.iter().find(|trace| merges(trace) != merges(all[0])) {
        return Err(fault(
            "these traces have other stages: a sample of flows has some of them merged into one",
            &other.path,
            "trace both sides in the same way, or a sample with --all-stages",
        ));
    }
    Ok(pairs)
}

fn write(path: Option<&Path>, text: impl FnOnce() -> Result<String, Fault>) -> Result<(), Fault> {
    let Some(path) = path else { return Ok(()) };
    let text = text()?;
    files::write_whole(path, "the comparison", |out| out.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests;
