//! Whether the company's books agree: the consistency conditions of TPC-C, section 3.3.2.
//!
//! The audit reads while others may be at work, so it is a transaction too: it reads every guard and
//! every row, and if anything changed meanwhile it says that it was not left alone.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};

use super::Silo;
use super::draw::DISTRICTS;
use super::row::{Columns, Row};
use super::tables::{Company, LINE, ORDER, book, customer, district, stock, warehouse, words};
use super::trade::range;
use super::transaction::{Transaction, Trouble};

/// How often an audit is begun before it says that it was not left alone.
const TRIES: u32 = 5;

/// What an audit counts, over all districts.
#[derive(Debug, Default)]
struct Totals {
    orders: u64,
    delivered: u64,
    lapsed: u64,
    payments: u64,
    paid: u64,
    quantity: u64,
    lines: u64,
    cents: u64,
}

/// One audit: what it counts, and the first thing that does not agree.
pub fn audit(silo: &Silo) -> Value {
    let mut said = Err(Trouble::Conflict);
    for _ in 0..TRIES {
        let mut wrong = None;
        let mut one = Transaction::default();
        said = counted(&silo.company, &mut one, &mut wrong).map(|totals| (totals, wrong));
        if said.is_ok() {
            break;
        }
    }
    let conflicts = silo.conflicts.load(Relaxed);
    let Ok((totals, wrong)) = said else {
        return json!({ "state": "busy", "wrong": null, "conflicts": conflicts });
    };
    json!({
        "state": if wrong.is_none() { "holds" } else { "broken" },
        "wrong": wrong,
        "conflicts": conflicts,
        "orders": totals.orders,
        "delivered": totals.delivered,
        "lapsed": totals.lapsed,
        "payments": totals.payments,
        "paid": totals.paid,
        "quantity": totals.quantity,
    })
}

fn agree(wrong: &mut Option<String>, what: &str, left: u64, right: u64) {
    if left != right && wrong.is_none() {
        *wrong = Some(format!("{what}: {left}, not {right}"));
    }
}

fn counted<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    wrong: &mut Option<String>,
) -> Result<Totals, Trouble> {
    let mut totals = Totals::default();
    for number in 0..company.books.len() as u64 {
        let page = one.look(&company.books[number as usize])?;
        of_orders(company, number, &page, wrong);
        add(&mut totals, company, &page);
        of_payments(company, number, &one.look(&company.districts[number as usize])?, wrong);
    }
    for (nth, house) in company.warehouses.iter().enumerate() {
        let paid = one.look(house)?[warehouse::PAID];
        let mut own = 0;
        for number in nth as u64 * DISTRICTS..(nth as u64 + 1) * DISTRICTS {
            let columns = one.look(&company.districts[number as usize])?;
            own += columns[district::PAID];
            totals.payments += columns[district::PAYMENTS] - company.draw.scale.customers;
        }
        totals.paid += paid;
        agree(wrong, "paid at a warehouse, and at its districts", paid, own);
    }
    of_people(&sums(one, company.people())?, &totals, wrong);
    of_stock(company, one, &totals, wrong)?;
    if one.is_valid() { Ok(totals) } else { Err(Trouble::Conflict) }
}

fn add(totals: &mut Totals, company: &Company, page: &Columns) {
    totals.orders += page[book::NEXT] - 1 - company.draw.scale.customers;
    totals.delivered += page[book::DELIVERED];
    totals.lapsed += page[book::LAPSED];
    totals.quantity += page[book::QUANTITY];
    totals.lines += page[book::LINES];
    totals.cents += page[book::CENTS];
}

/// Conditions 2 to 6 of a district: its orders are those before the next, each with all its lines.
fn of_orders(company: &Company, number: u64, page: &Columns, wrong: &mut Option<String>) {
    let (retained, next) = (company.draw.scale.customers, page[book::NEXT]);
    let (mut orders, mut lines, mut waiting) = (0, 0, 0);
    for entry in company.orders.range(range(number)) {
        let [_, carrier, count] = words::<ORDER>(entry.value());
        agree(
            wrong,
            "an order's number",
            (entry.key() >> 8) & 0xff_ffff_ffff,
            next - retained + orders,
        );
        orders += 1;
        lines += count;
        let is_waiting = company.waiting.contains(entry.key());
        agree(
            wrong,
            "an order without a carrier that waits",
            u64::from(carrier == 0),
            u64::from(is_waiting),
        );
        waiting += u64::from(is_waiting);
    }
    agree(wrong, "orders up to the next one", orders, retained);
    let all_waiting = company.waiting.range(range(number)).count() as u64;
    agree(wrong, "orders that wait", all_waiting, waiting);
    let gone = page[book::DELIVERED] + page[book::LAPSED];
    let came = next - 1 - retained * 7 / 10;
    agree(wrong, "orders delivered or lapsed, and waiting", gone + waiting, came);
    let result = company.lines.range(range(number));
    let (mut count, mut delivered_early) = (0, 0);
    for entry in result {
        let line = words::<LINE>(entry.value());
        let is_waiting = company.waiting.contains(&(entry.key() & !0xff));
        delivered_early += u64::from((line[3] == 1) == is_waiting);
        count += 1;
    }
    agree(wrong, "lines of a district's orders", count, lines);
    agree(wrong, "lines delivered unlike their order", delivered_early, 0);
}

/// Conditions 8 and 9: as many payments as are stored, up to the last.
fn of_payments(company: &Company, number: u64, columns: &Columns, wrong: &mut Option<String>) {
    let (retained, last) = (company.draw.scale.customers, columns[district::PAYMENTS]);
    let all = company.payments.range(range(number));
    let result = all
        .zip(last + 1 - retained..)
        .filter(|(entry, nth)| entry.key() >> 8 & 0xff_ffff_ffff == *nth);
    agree(wrong, "payments up to the last one", result.count() as u64, retained);
}

fn sums<'a>(one: &mut Transaction<'a>, rows: &'a [Row]) -> Result<Columns, Trouble> {
    let mut sums = Columns::default();
    for row in rows {
        let columns = one.look(row)?;
        sums.iter_mut().zip(columns).for_each(|(sum, column)| *sum = sum.wrapping_add(column));
    }
    Ok(sums)
}

/// Conditions 10 to 12: what customers have, paid and were delivered.
fn of_people(sums: &Columns, totals: &Totals, wrong: &mut Option<String>) {
    let balance = sums[customer::BALANCE].wrapping_add(sums[customer::PAID]);
    agree(wrong, "what was delivered, by customers and by orders", balance, totals.cents);
    agree(wrong, "paid by customers, and at warehouses", sums[customer::PAID], totals.paid);
    agree(wrong, "deliveries to customers", sums[customer::DELIVERIES], totals.delivered);
}

/// What was sold is what was ordered, and no stock lost an update: what is left differs from the
/// start by what was sold, and by 91 for each time it was filled up.
fn of_stock<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    totals: &Totals,
    wrong: &mut Option<String>,
) -> Result<(), Trouble> {
    let (mut sold, mut lines) = (0, 0);
    for (place, row) in (0..).zip(company.all_stock()) {
        let columns = one.look(row)?;
        sold += columns[stock::SOLD];
        lines += columns[stock::LINES];
        let began = company.draw.stock(place);
        let filled = columns[stock::QUANTITY] + columns[stock::SOLD];
        agree(wrong, "stock that is left after what was sold, modulo 91", filled % 91, began % 91);
    }
    agree(wrong, "items sold and ordered", sold, totals.quantity);
    agree(wrong, "lines sold and ordered", lines, totals.lines);
    Ok(())
}
