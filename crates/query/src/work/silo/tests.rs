//! One worker after the other, several at once, and data that were broken on purpose.

use std::thread;

use super::tables::{in_range, stock, warehouse};
use super::*;

fn silo(warehouses: u64, items: u64) -> Silo {
    let company = Company::new(Draw::new(1, Scale::new(warehouses, items)));
    Silo { company, batch: 5, conflicts: AtomicU64::new(0) }
}

fn answer(silo: &Silo, query: u64) -> String {
    let mut reply = String::new();
    silo.desk().answer(query, &mut reply);
    reply
}

fn state(silo: &Silo) -> String {
    let text = silo.check().unwrap();
    format!("{} {}", text["state"].as_str().unwrap(), text["wrong"])
}

#[test]
fn the_same_queries_in_the_same_order_have_the_same_answers() {
    let (one, other) = (silo(2, 1000), silo(2, 1000));
    let all: Vec<String> = (0..200).map(|query| answer(&one, query)).collect();
    assert!((0..200).zip(&all).all(|(query, text)| &answer(&other, query) == text));
    assert_eq!(state(&one), "holds null");
    let (first, again) = (&all[7], answer(&one, 7));
    let fixed = |text: &str| text.split(" seen ").next().unwrap().to_owned();
    assert_eq!(fixed(first), fixed(&again));
    assert_ne!(*first, again, "it has seen what came in between");
}

#[test]
fn the_tables_stay_as_large_as_they_were() {
    let silo = silo(1, 1000);
    let sizes = |silo: &Silo| {
        let Company { orders, by_customer, payments, .. } = &silo.company;
        [orders.len(), by_customer.len(), payments.len()]
    };
    let before = sizes(&silo);
    (0..1000).for_each(|query| assert!(!answer(&silo, query).is_empty()));
    assert_eq!(sizes(&silo), before);
    let text = silo.check().unwrap();
    assert_eq!(text["state"], "holds");
    assert!(text["lapsed"].as_u64() > Some(0), "the backlog has reached the oldest: {text}");
}

#[test]
fn whoever_else_is_at_work_the_books_agree_and_what_is_fixed_stays() {
    const EACH: u64 = 400;
    let work = silo(2, 1000);
    let alone = silo(2, 1000);
    let fixed = |text: String| text.split(" seen ").next().unwrap().to_owned();
    let wanted: Vec<String> = (0..EACH).map(|query| fixed(answer(&alone, query))).collect();
    thread::scope(|scope| {
        for nth in 0..4 {
            let (work, wanted) = (&work, &wanted);
            scope.spawn(move || {
                for query in (0..EACH).cycle().skip(nth * 100).take(EACH as usize) {
                    assert_eq!(fixed(answer(work, query)), wanted[query as usize]);
                }
            });
        }
        // An audit beside them is of one moment, or says that it is none.
        for _ in 0..20 {
            assert_ne!(work.check().unwrap()["state"], "broken", "{}", state(&work));
        }
    });
    assert_eq!(state(&work), "holds null");
    let count = |silo: &Silo, what: &str| silo.check().unwrap()[what].as_u64().unwrap();
    for what in ["orders", "payments", "quantity"] {
        assert_eq!(count(&work, what), 4 * count(&alone, what), "{what}");
    }
    let start = work.company.draw.scale.customers * 1000 * 20;
    assert_eq!(count(&work, "paid") - start, 4 * (count(&alone, "paid") - start));
}

/// What breaks the data of a company.
type Break = fn(&Company);

#[test]
fn broken_data_are_found_by_the_audit() {
    let breaks: [(&str, Break); 5] = [
        ("paid at a warehouse", |company| set(&company.warehouses[0], warehouse::PAID)),
        ("stock that is left", |company| set(company.stock(0, 3).unwrap(), stock::QUANTITY)),
        ("items sold", |company| {
            let row = company.stock(0, 3).unwrap();
            set(row, stock::SOLD);
            (0..90).for_each(|_| set(row, stock::QUANTITY));
        }),
        ("lines of", |company| drop(company.lines.remove(&in_range(3, 5)))),
        ("an order's number", |company| assert!(company.take(3, 5).is_some())),
    ];
    for (what, broken) in breaks {
        let silo = silo(1, 1000);
        assert_eq!(state(&silo), "holds null");
        broken(&silo.company);
        assert!(state(&silo).starts_with(&format!("broken \"{what}")), "{}", state(&silo));
    }
}

/// One more in a column, past all transactions.
fn set(row: &row::Row, column: usize) {
    let (version, mut columns) = row.read().unwrap();
    columns[column] += 1;
    assert!(row.lock(version));
    row.store(&columns);
    row.unlock(version, true);
}

#[test]
fn what_is_missing_while_no_one_is_at_work_has_no_answer() {
    let silo = silo(1, 1000);
    let all: Vec<u64> = silo.company.lines.iter().map(|entry| *entry.key()).collect();
    for key in &all {
        silo.company.lines.remove(key);
    }
    assert!((0..100).any(|query| answer(&silo, query).is_empty()));
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let sizes = [(0, 1000, 1, "warehouses"), (1, 999, 1, "items"), (1, 1000, 0, "batch")];
    for (warehouses, items, batch, at) in sizes {
        let (items, batch) = (Some(items), Some(batch));
        let settings = Settings { items, batch, warehouses, ..Settings::default() };
        assert_eq!(build(&settings).err().unwrap().at, at);
    }
}
