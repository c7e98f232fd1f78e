//! silo's shape: TPC-C in memory, as optimistic transactions on concurrent ordered maps.
//!
//! A query is a few transactions of one seeded stream, each committed on its own: one takes some
//! tens of microseconds, so that one a request would measure the network as much as the service
//! (PAPERS P8 gives `TailBench`'s silo 0.1 ms). What the answer says is of two sorts. `fixed` follows
//! from the inputs, whoever else is at work; `seen` follows from all that was committed before, and so
//! has one value if queries come one after the other. Whether the books agree is told by an audit.
//!
//! Reading order: [`draw`] (what is asked), [`row`], [`transaction`], [`tables`], [`trade`], [`audit`].

mod audit;
mod draw;
mod row;
mod tables;
mod trade;
mod transaction;

use std::fmt::Write as _;
use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use serde_json::Value;
use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use self::draw::{Asked, Draw, Scale};
use self::tables::Company;
use self::trade::{Digests, act};
use self::transaction::{Transaction, Trouble};
use super::{Desk, Work, WorkKind};
use crate::args::Settings;

pub(super) const KIND: WorkKind = WorkKind {
    kind: Kind {
        name: "silo",
        about: "TPC-C in memory: a few optimistic transactions of the standard mix",
        usage: "silo",
        params: &[
            Param {
                name: "warehouses",
                unit: "",
                about: "warehouses, of ten districts each",
                default: "1",
                range: "1..1000",
            },
            Param {
                name: "items",
                unit: "",
                about: "items that a warehouse stocks; a district has 3 % as many customers",
                default: "100000",
                range: "1000..1000000",
            },
            Param {
                name: "batch",
                unit: "transactions",
                about: "transactions of a query",
                default: "4",
                range: "1..100000",
            },
        ],
        needs: &[],
        source: "PAPERS P4, P8: TailBench's silo; TPC-C 5.11",
    },
    build,
};

const ITEMS: u64 = 100_000;
const BATCH: u64 = 4;
/// After so many conflicts in a row a worker lets others have its CPU.
const SPINS_MAX: u32 = 6;

#[derive(Debug)]
struct Silo {
    company: Company,
    batch: u64,
    conflicts: AtomicU64,
}

fn build(settings: &Settings) -> Result<Box<dyn Work>, Fault> {
    let (warehouses, batch) = (settings.warehouses, settings.batch.unwrap_or(BATCH));
    let items = settings.items.unwrap_or(ITEMS);
    let ranges = [
        ("warehouses", warehouses, 1, 1000),
        ("items", items, 1000, 1_000_000),
        ("batch", batch, 1, 100_000),
    ];
    for (name, value, least, most) in ranges {
        if value < least || value > most {
            let what = format!("{name} of {value} are not possible");
            return Err(Fault::usage(what, name, format!("give {least} to {most}")));
        }
    }
    let draw = Draw::new(settings.seed, Scale::new(warehouses, items));
    let company = Company::new(draw);
    Ok(Box::new(Silo { company, batch, conflicts: AtomicU64::new(0) }))
}

impl Work for Silo {
    fn desk(&self) -> Box<dyn Desk + '_> {
        Box::new(Clerk { silo: self, one: Transaction::default() })
    }

    fn check(&self) -> Option<Value> {
        Some(audit::audit(self))
    }
}

/// A worker's place: the transaction that it is at.
#[derive(Debug)]
struct Clerk<'a> {
    silo: &'a Silo,
    one: Transaction<'a>,
}

impl Clerk<'_> {
    /// Tries until it is committed; what is missing when no one else was at work is a fault.
    fn commit(&mut self, asked: &Asked, reported: &mut Digests) -> Result<(), &'static str> {
        for tries in 0u32.. {
            let mut text = *reported;
            match act(&self.silo.company, &mut self.one, asked, &mut text) {
                Ok(()) => {
                    *reported = text;
                    return Ok(());
                }
                Err(Trouble::Missing(what)) if self.one.is_valid() => return Err(what),
                Err(_) => {}
            }
            self.silo.conflicts.fetch_add(1, Relaxed);
            if tries < SPINS_MAX {
                (0..1 << tries).for_each(|_| spin_loop());
            } else {
                thread::yield_now();
            }
        }
        Err("too many conflicts")
    }
}

impl Desk for Clerk<'_> {
    fn answer(&mut self, query: u64, reply: &mut String) {
        let (batch, mut reported) = (self.silo.batch, Digests::default());
        for nth in query * batch..(query + 1) * batch {
            let asked = self.silo.company.draw.asked(nth);
            if self.commit(&asked, &mut reported).is_err() {
                return; // an answer of nothing is none
            }
        }
        let Digests { fixed, seen } = reported;
        let _ = writeln!(
            reply,
            "query {query:>10} batch {batch:>6} fixed {fixed:016x} seen {seen:016x}"
        );
    }
}

#[cfg(test)]
mod tests;
