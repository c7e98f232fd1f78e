//! A job understood: times in ns, weights as the kernel has them, and nothing that cannot be.

use sojourn_base::{Fault, units};

use crate::job::{Class, Job};

/// Of the table of `bpf/shapes.h`; the first is everybody else's.
pub const CLASSES_MAX: usize = 16;
/// Name of the class of everybody who is in no other.
pub const DEFAULT: &str = "default";
const WEIGHT_STANDARD: f64 = 1024.0;
const WEIGHT_USUAL: f64 = 100.0;
const WEIGHTS: std::ops::RangeInclusive<f64> = 1.0..=10_000.0;
const SHARED_NS: std::ops::RangeInclusive<u64> = 100_000..=1_000_000_000;
const TIME_NS_MAX: u64 = 10_000_000_000;

/// What tasks of a class are granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// By which it is reported.
    pub name: String,
    /// Processes or threads.
    pub pids: Vec<u32>,
    /// Folders of control groups.
    pub groups: Vec<String>,
    /// 1024 is the standard.
    pub weight: u64,
    /// Virtual time that may be borrowed, ns.
    pub warp_ns: u64,
    /// Time without sleep after which no more is lent, ns; 0: no limit.
    pub limit_ns: u64,
}

/// Everything that the kernel side is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The first is that of everybody who is in no other.
    pub classes: Vec<Terms>,
    /// How far a runner may get ahead, ns.
    pub allowance_ns: u64,
    /// How long a runner is left alone, ns.
    pub grace_ns: u64,
    /// How far behind a task may come back from sleep, ns.
    pub credit_ns: u64,
    /// How long, ns; none: until it is ended.
    pub duration_ns: Option<u64>,
}

/// Underis a job; a fault names the first key that is wrong.
pub fn plan(job: &Job) -> Result<Plan, Fault> {
    let shared = |text: &str, at: &str| {
        let ns = time(text, at)?;
        if SHARED_NS.contains(&ns) {
            return Ok(ns);
        }
        Err(Fault::usage(format!("{at} is {}", units::show_ns(ns as f64)), at, "give 100us to 1s"))
    };
    let (allowance_ns, grace_ns) =
        (shared(&job.allowance, "allowance")?, time(&job.grace, "grace")?);
    if grace_ns > allowance_ns {
        let what =
            format!("the grace, {}, is longer than the allowance, {}", job.grace, job.allowance);
        return Err(Fault::usage(what, "grace", "give at most the allowance"));
    }
    let duration_ns = match job.duration.as_str() {
        "" => None,
        text => Some(units::parse_ns(text).map_err(|fault| fault.within("duration"))?),
    };
    Ok(Plan {
        classes: classes(&job.classes)?,
        allowance_ns,
        grace_ns,
        credit_ns: time(&job.credit, "credit")?,
        duration_ns,
    })
}

fn time(text: &str, at: &str) -> Result<u64, Fault> {
    let ns = units::parse_ns(text).map_err(|fault| fault.within(at))?;
    if ns <= TIME_NS_MAX {
        return Ok(ns);
    }
    Err(Fault::usage(format!("{at} is {}", units::show_ns(ns as f64)), at, "give at most 10s"))
}

fn classes(reported: &[Class]) -> Result<Vec<Terms>, Fault> {
    let mut all = vec![of_class(&Class { name: DEFAULT.into(), ..Class::default() }, "")?];
    for (n, class) in reported.iter().enumerate() {
        let at = format!("classes[{n}]");
        let terms = of_class(class, &at)?;
        let has_members = !terms.pids.is_empty() || !terms.groups.is_empty();
        if terms.name == DEFAULT && has_members {
            let what = "the class 'default' is everybody who is in no other; it names tasks";
            return Err(Fault::usage(what, at, "leave out its pids and cgroups, or its name"));
        }
        if terms.name != DEFAULT && !has_members {
            let what = format!("no task is in the class '{}'", terms.name);
            return Err(Fault::usage(
                what,
                at,
                "give pids or cgroups; 'default' is everybody else",
            ));
        }
        if all[1..].iter().any(|other| other.name == terms.name) {
            let what = format!("two classes are called '{}'", terms.name);
            return Err(Fault::usage(
                what,
                at,
                "name them apart: they are reported by their names",
            ));
        }
        once(&all, &terms, &at)?;
        if terms.name == DEFAULT { all[0] = terms } else { all.push(terms) }
    }
    if all.len() > CLASSES_MAX {
        let what = format!("{} classes are too many", reported.len());
        let fix = format!("give at most {} beside the default one", CLASSES_MAX - 1);
        return Err(Fault::usage(what, "classes", fix));
    }
    Ok(all)
}

/// A task or group is in one class.
fn once(all: &[Terms], terms: &Terms, at: &str) -> Result<(), Fault> {
    for other in all {
        let pid = terms.pids.iter().find(|pid| other.pids.contains(pid)).map(ToString::to_string);
        let group = terms.groups.iter().find(|group| other.groups.contains(group)).cloned();
        if let Some(twice) = pid.or(group) {
            let what = format!("{twice} is in two classes, '{}' and '{}'", other.name, terms.name);
            return Err(Fault::usage(what, at, "leave it in one"));
        }
    }
    Ok(())
}

fn of_class(class: &Class, at: &str) -> Result<Terms, Fault> {
    let put = |fault: Fault| fault.within(at);
    let name = class.name.trim();
    if name.is_empty() {
        return Err(put(Fault::usage("a class has no name", "name", "name it: \"service\"")));
    }
    if !WEIGHTS.contains(&class.weight) {
        let what = format!("the weight is {}", class.weight);
        return Err(put(Fault::usage(what, "weight", "give 1 to 10000; 100 is the usual")));
    }
    let limit_ns =
        if class.limit.is_empty() { 0 } else { time(&class.limit, "limit").map_err(put)? };
    Ok(Terms {
        name: name.into(),
        pids: class.pids.clone(),
        groups: class.cgroups.clone(),
        weight: (class.weight * WEIGHT_STANDARD / WEIGHT_USUAL).round() as u64,
        warp_ns: time(&class.warp, "warp").map_err(put)?,
        limit_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> Class {
        Class { name: "web".into(), pids: vec![7], warp: "5ms".into(), ..Class::default() }
    }

    fn of(classes: Vec<Class>) -> Result<Plan, Fault> {
        plan(&Job { classes, ..Job::default() })
    }

    #[test]
    fn everybody_else_comes_first_and_may_be_reported() {
        let plan = of(vec![Class { weight: 200.0, ..web() }]).unwrap();
        assert_eq!((plan.classes[0].name.as_str(), plan.classes[0].weight), (DEFAULT, 1024));
        assert_eq!((plan.classes[1].weight, plan.classes[1].warp_ns), (2048, 5_000_000));
        let rest = Class { name: DEFAULT.into(), weight: 50.0, ..Class::default() };
        let plan = of(vec![web(), rest]).unwrap();
        assert_eq!((plan.classes.len(), plan.classes[0].weight), (2, 512));
        assert_eq!((plan.allowance_ns, plan.credit_ns, plan.duration_ns), (3_000_000, 0, None));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        let wrong = [
            (Class { name: " ".into(), ..web() }, "name"),
            (Class { weight: 0.5, ..web() }, "weight"),
            (Class { weight: f64::NAN, ..web() }, "weight"),
            (Class { warp: "fast".into(), ..web() }, "warp"),
            (Class { warp: "11s".into(), ..web() }, "warp"),
            (Class { limit: "-1s".into(), ..web() }, "limit"),
            (Class { pids: vec![], ..web() }, "classes[0]"),
            (Class { name: DEFAULT.into(), ..web() }, "classes[0]"),
        ];
        for (class, at) in wrong {
            let fault = of(vec![class]).unwrap_err();
            assert!(fault.exit == 2 && fault.at.contains(at), "{fault}");
        }
        let twice = of(vec![web(), Class { name: "b".into(), ..web() }]).unwrap_err();
        assert!(twice.what.contains("7 is in two classes"), "{twice}");
        assert!(of(vec![web(), Class { pids: vec![8], ..web() }]).is_err());
        let many = (0..16).map(|n| Class { name: format!("c{n}"), pids: vec![n + 1], ..web() });
        assert!(of(many.clone().take(15).collect()).is_ok());
        assert!(of(many.collect()).unwrap_err().fix.contains("15"));
        let grace = plan(&Job { grace: "4ms".into(), ..Job::default() }).unwrap_err();
        assert!(grace.what.contains("longer than the allowance"), "{grace}");
        assert!(plan(&Job { allowance: "10us".into(), ..Job::default() }).is_err());
    }
}
