//! Who is to blame, as people read it: a sentence, then a table; at most 80 columns.

use std::fmt::Write as _;

use sojourn_base::units::{Way, outward, show_ns};
use sojourn_base::visible::in_line;

use super::result::Blame;
use crate::reconstruct::parts::VerdictWord;

/// Lines of the table.
const LINES: usize = 10;
/// Letters of the column that names suspects.
const COLUMN: usize = 42;
/// Kinds of requests that are listed.
const KINDS: usize = 4;

/// The sentence and the table.
pub fn page(blame: &Blame) -> String {
    let mut page = format!("\n{}\n", wrap(&blame.answer));
    let (Some(tail_ns), Some(body_ns)) = (blame.tail_mean_ns, blame.body_mean_ns) else {
        return page;
    };
    let _ = writeln!(
        page,
        "{} requests from {} on, {} each; {} others, {} each",
        blame.tail_requests,
        show_ns(blame.from_ns as f64),
        show_ns(tail_ns),
        blame.body_requests,
        show_ns(body_ns)
    );
    let _ = writeln!(page, "{:45}{:>8}{:>9}{:>9}{:>9}", "", "excess", "at least", "tail", "others");
    for line in blame.suspects.iter().take(LINES) {
        let _ = writeln!(
            page,
            "{} {} {:>6.1} %{:>7.0} %{:>9}{:>9}",
            if line.is_named { '*' } else { ' ' },
            in_column(&line.about),
            line.share * 100.0,
            outward((line.share_low * 100.0).max(0.0), 0, Way::Down),
            show_ns(line.tail_mean_ns),
            show_ns(line.body_mean_ns)
        );
        for (what, ns) in line.waker_did.iter().take(2).filter(|_| line.is_named) {
            let _ = writeln!(page, "    meanwhile {:.50}: {}", in_line(what), show_ns(*ns));
        }
    }
    let named = blame.endpoints.iter().filter(|kind| kind.name != "?").take(KINDS);
    let kinds: Vec<String> = named
        .map(|kind| {
            let (slow, others) = (kind.tail_share * 100.0, kind.body_share * 100.0);
            format!("{} {slow:.0} % (others {others:.0} %)", in_line(&kind.name))
        })
        .collect();
    if !kinds.is_empty() {
        let _ = writeln!(page, "{}", wrap(&format!("they ask for {}", kinds.join(", "))));
    }
    if blame.verdict == VerdictWord::Unknown {
        for reason in &blame.reasons {
            let _ = writeln!(page, "{}", wrap(&format!("blame unknown: {reason}")));
        }
    }
    page
}

/// A suspect in the table's first column: what is too long begins in lines of its own.
fn in_column(about: &str) -> String {
    let mut lines = folded(about, COLUMN);
    let last = lines.pop_if(|line| line.chars().count() <= COLUMN).unwrap_or_default();
    let mut cell = String::new();
    for line in &lines {
        let _ = write!(cell, "{line:.78}\n  ");
    }
    let _ = write!(cell, "{last:COLUMN$}");
    cell
}

/// Lines of at most 80 letters.
fn wrap(text: &str) -> String {
    folded(text, 80).join("\n")
}

/// Lines of at most `width` letters; a longer word has a line of its own.
fn folded(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + word.chars().count() >= width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_suspect_is_whole_and_its_numbers_stay_in_their_columns() {
        let about = "run-queue delay behind `sojourn-load` (cgroup user.slice/session-3.scope)";
        let text = in_column(about);
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), about);
        let [first, last] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(first.chars().count() <= COLUMN, "{text}");
        assert_eq!(last.chars().count(), COLUMN + 2, "two of its indent: {text}");
        assert_eq!(in_column("work"), format!("{:42}", "work"));
        let hostile = in_column(&"x".repeat(500));
        assert!(hostile.lines().all(|line| line.chars().count() <= 78), "{hostile}");
        assert_eq!(hostile.lines().last(), Some(&*" ".repeat(COLUMN + 2)));
    }
}
