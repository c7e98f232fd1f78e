//! Parameters of a kind as people give them, checked against what the kind says of itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, hint};
use sojourn_base::units::{parse_bytes, parse_count, parse_ns};

/// Values by name: those given, and for the others what the kind has by default.
#[derive(Clone, Debug)]
pub struct Words {
    values: BTreeMap<&'static str, String>,
    params: &'static [sojourn_base::kind::Param],
}

impl Words {
    /// Checks names; values are checked when the kind asks for them.
    pub fn new(kind: &Kind, input: &BTreeMap<String, String>) -> Result<Self, Fault> {
        let names = || kind.params.iter().map(|param| param.name);
        if let Some(name) = input.keys().find(|name| !names().any(|known| known == *name)) {
            let known = names().collect::<Vec<_>>().join(", ");
            let fix = match known.as_str() {
                "" => format!("{} has no parameters", kind.name),
                known => format!("{}it has {known}", hint(name, names())),
            };
            let what = format!("{} has no parameter {name}", kind.name);
            return Err(Fault::usage(what, format!("params.{name}"), fix));
        }
        let values = kind
            .params
            .iter()
            .map(|p| (p.name, input.get(p.name).map_or(p.default, String::as_str).to_owned()))
            .collect();
        Ok(Self { values, params: kind.params })
    }

    /// A value as text; "" if it was not given and has no default.
    pub fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// A size in bytes; None: the kind chooses.
    pub fn bytes(&self, name: &str) -> Result<Option<u64>, Fault> {
        match self.text(name) {
            "" => Ok(None),
            text => match parse_bytes(text) {
                Ok(0) => Err(self.wrong(name, "it is 0")),
                Ok(bytes) => Ok(Some(bytes)),
                Err(fault) => Err(self.wrong(name, &fault.what)),
            },
        }
    }

    /// A time, ns, above 0.
    pub fn time_ns(&self, name: &str) -> Result<u64, Fault> {
        match parse_ns(self.text(name)) {
            Ok(0) => Err(self.wrong(name, "it is 0")),
            Ok(ns) => Ok(ns),
            Err(fault) => Err(self.wrong(name, &fault.what)),
        }
    }

    /// A whole number from `least` on.
    pub fn count(&self, name: &str, least: u64) -> Result<u64, Fault> {
        match parse_count(self.text(name)) {
            Ok(n) if n >= least as f64 && n.fract() == 0.0 => Ok(n as u64),
            Ok(n) => Err(self.wrong(name, &format!("it is {n}"))),
            Err(fault) => Err(self.wrong(name, &fault.what)),
        }
    }

    /// Which of the words that stand in the parameter's range, by number.
    pub fn choice(&self, name: &str, words: &[&'static str]) -> Result<usize, Fault> {
        let text = self.text(name);
        words.iter().position(|word| *word == text).ok_or_else(|| {
            let fix = format!("{}write {}", hint(text, words.iter().copied()), words.join(" or "));
            Fault::usage(format!("{name} is '{text}'"), format!("params.{name}"), fix)
        })
    }

    /// A folder; the one for temporary files where none was given.
    pub fn folder(&self, name: &str) -> PathBuf {
        match self.text(name) {
            "" => std::env::temp_dir(),
            text => PathBuf::from(text),
        }
    }

    fn wrong(&self, name: &str, what: &str) -> Fault {
        let param = self.params.iter().find(|param| param.name == name);
        let fix =
            param.map_or_else(String::new, |p| format!("{}: {} {}", p.about, p.range, p.unit));
        Fault::usage(format!("{name}: {what}"), format!("params.{name}"), fix.trim().to_owned())
    }
}
