//! What a job asks of a protocol: operations, their shares, options; and whether the protocol has them.

use sojourn_base::Fault;
use sojourn_workload::plan::Op;

use super::{KINDS, ProtocolKind, wishes};
use crate::job::Job;
use crate::job::target::Target;

impl ProtocolKind {
    /// The operation called `name`; `None` if the protocol has none of that name.
    pub fn operation(&self, name: &str) -> Option<Op> {
        let at = self.operations.iter().position(|operation| operation.name == name)?;
        Some(Op(at as u8))
    }

    /// The word for `op` in raw files.
    pub fn word(&self, op: Op) -> &'static str {
        self.operations[usize::from(op.0)].name
    }

    /// What the job gives for an option of this protocol, or its default.
    pub fn option<'a>(&self, job: &'a Job, name: &str) -> &'a str {
        let described = self.kind.params.iter().find(|param| param.name == name);
        job.option.get(name).map_or(described.map_or("", |param| param.default), String::as_str)
    }

    /// Shares of operations 1, 2, …, as `job` asks for them.
    pub fn shares(&self, job: &Job) -> Result<Vec<f64>, Fault> {
        self.operations[1..].iter().map(|operation| self.share(job, operation.share)).collect()
    }

    fn share(&self, job: &Job, key: &str) -> Result<f64, Fault> {
        if let Some(share) = key_share(job, key) {
            return Ok(share);
        }
        let text = self.option(job, key);
        text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
            let what = format!("{key} is '{text}'");
            Fault::usage(what, format!("option {key}"), "give a share from 0 to 1")
        })
    }

    /// Refuses operations and options that are other protocols', or of none.
    pub fn check(&self, job: &Job, target: &Target) -> Result<(), Fault> {
        let has = |share: &str| self.operations.iter().any(|own| own.share == share);
        for operation in KINDS.iter().flat_map(|entry| entry.operations) {
            let is_asked = key_share(job, operation.share).is_some_and(|share| share > 0.0);
            if is_asked && !has(operation.share) {
                return Err(lacks(target, operation.name, operation.share));
            }
        }
        if job.preload && self.operation("set").is_none() {
            return Err(lacks(target, "set", "preload"));
        }
        wishes::refuse(self, job, target)?;
        if !target.user.is_empty() && !self.has_user {
            let what = format!("{} has no user in its target", target.scheme.name);
            let fix = if self.wishes.contains(&"auth") { "give --auth" } else { "leave it out" };
            return Err(Fault::usage(what, "target", fix));
        }
        if !self.has_path && target.path != "/" {
            let what =
                format!("{} has no use for '{}' in its target", target.scheme.name, target.path);
            let fix = format!("leave it out: {}://{}", target.scheme.name, target.place());
            return Err(Fault::usage(what, "target", fix));
        }
        let unknown = job.option.keys().find(|key| !self.options.contains(&key.as_str()));
        if let Some(key) = unknown {
            let known =
                if self.options.is_empty() { "none".into() } else { self.options.join(", ") };
            let what = format!("{} has no option called '{key}'", target.scheme.name);
            return Err(Fault::usage(what, "option", format!("known: {known}")));
        }
        let sum: f64 = self.shares(job)?.iter().sum();
        if sum <= 1.0 {
            return Ok(());
        }
        let keys: Vec<&str> = self.operations[1..].iter().map(|own| own.share).collect();
        let fix = "give shares that add to at most 1";
        Err(Fault::usage(format!("{} is {sum}", keys.join(" + ")), keys.join(" + "), fix))
    }
}

/// The job's own keys for shares, which several protocols have.
fn key_share(job: &Job, key: &str) -> Option<f64> {
    match key {
        "set_share" => Some(job.set_share),
        "multiget_share" => Some(job.multiget_share),
        _ => None,
    }
}

fn lacks(target: &Target, name: &str, at: &str) -> Fault {
    let able = KINDS.iter().filter(|entry| entry.operation(name).is_some());
    let names: Vec<&str> = able.map(|entry| entry.schemes[0].name).collect();
    Fault::usage(
        format!("{} has no {name}", target.scheme.name),
        at,
        format!("leave it out, or use a target of {}", names.join(", ")),
    )
}
