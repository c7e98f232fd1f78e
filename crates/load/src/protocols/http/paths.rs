//! Which request each item is: paths as they are, paths with a number in them, or the lines of a log.

use std::sync::Arc;

use sojourn_base::Fault;

use super::expected::{self, Wanted};
use super::log::Log;
use super::requests;
use crate::job::Job;

/// The requests of a job, in the form that a version of HTTP sends them in.
pub(in crate::protocols) struct Paths<Form> {
    /// Requests that are the same for all items.
    fixed: Vec<Form>,
    /// Requests with the item's number in them.
    numbered: Vec<Form>,
    /// Which of the fixed requests each item is. Empty: there is none.
    log: Arc<Log>,
    items: u32,
    /// What the body of each item must be; empty: not known.
    bodies: Arc<[Wanted]>,
}

fn wanted(job: &Job, log: &Log) -> Result<Arc<[Wanted]>, Fault> {
    if job.expect_file.is_empty() {
        return Ok(Arc::new([]));
    }
    if log.paths.is_empty() {
        let what = "expect_file is about the paths of a file, and none is given";
        return Err(Fault::usage(what, "expect_file", "name paths_file too"));
    }
    let of_path = expected::read(&job.expect_file, &log.paths)?;
    Ok(log.lines.iter().map(|&nth| of_path[nth as usize]).collect())
}

/// A path of a log in which nothing is a place for a number: braces as RFC 3986, 2.1, has them sent.
fn literal(path: &str) -> String {
    path.replace("{}", "%7B%7D").replace(requests::ITEM, "%7Bitem%7D")
}

impl<Form> Paths<Form> {
    /// Those of `job`; `forms` makes the requests for some paths, in their order.
    pub(in crate::protocols) fn of(
        job: &Job,
        forms: impl FnOnce(&[String]) -> Result<Vec<Form>, Fault>,
    ) -> Result<Self, Fault> {
        let log = match job.paths_file.as_str() {
            "" => Arc::default(),
            _ => Log::of_job(job)?,
        };
        let bodies = wanted(job, &log)?;
        let (mut fixed, mut numbered) = (Vec::new(), Vec::new());
        if log.paths.is_empty() {
            for (form, path) in forms(&job.paths)?.into_iter().zip(&job.paths) {
                let is_numbered = requests::is_numbered(job, path);
                if is_numbered { &mut numbered } else { &mut fixed }.push(form);
            }
        } else {
            let asked: Vec<_> = log.paths.iter().map(|path| literal(path)).collect();
            fixed = forms(&asked)?;
        }
        Ok(Self { fixed, numbered, log, items: job.items as u32, bodies })
    }

    /// The request for `item`, and the number in it. Items below the number of fixed requests are
    /// these; the others go over the numbered ones, each `items` long, as the protocol counts them.
    #[inline]
    pub(in crate::protocols) fn form(&self, item: u32) -> (&Form, u32) {
        let at = item as usize;
        if let Some(&nth) = self.log.lines.get(at) {
            return (&self.fixed[nth as usize], item);
        }
        if let Some(form) = self.fixed.get(at) {
            return (form, 0);
        }
        let nth = at - self.fixed.len();
        let form = &self.numbered[nth / self.items as usize % self.numbered.len()];
        (form, (nth % self.items as usize) as u32)
    }

    /// What the body of each item must be; empty: not known.
    pub(in crate::protocols) fn bodies(&self) -> Arc<[Wanted]> {
        self.bodies.clone()
    }

    /// All of them.
    pub(in crate::protocols) fn all(&self) -> impl Iterator<Item = &Form> {
        self.fixed.iter().chain(&self.numbered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_log_has_no_place_for_a_number() {
        let sent = literal("/find?where={}&a={item}&b={\"c\":1}");
        assert_eq!(sent, "/find?where=%7B%7D&a=%7Bitem%7D&b={\"c\":1}");
        assert_eq!(requests::as_sent(&sent), sent);
    }
}
