//! Gaps between requests to Facebook's memcached pool ETC, scaled to the offered load.

use crate::dist;
use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::renewal::Renewal;
use super::{ArrivalKind, Process, no_params};

pub(super) const KIND: ArrivalKind = ArrivalKind { kind: ABOUT, build };

const ABOUT: Kind = Kind {
    name: "fb_ia",
    about: "gaps of Facebook's memcached pool ETC, scaled to the rate",
    usage: "fb_ia (fb_ia)",
    params: &[],
    needs: &[],
    source: "Atikoglu et al., SIGMETRICS 2012; mutilate's fb_ia; METHOD M1",
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    no_params(text, &ABOUT)?;
    Ok(Box::new(Renewal::new(dist::parse("fb_ia")?)))
}
