//! The five transactions. Each reads, says what it saw, and commits; or it comes to nothing.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::rng::mix;

use super::draw::{Asked, DISTRICTS, LINES_MAX, Line, Who};
use super::tables::{
    Company, LINE, ORDER, book, cells, customer, district, in_range, of_customer, stock, warehouse,
    words,
};
use super::transaction::{Transaction, Trouble};

/// Orders whose lines a look at the stock goes through.
const RECENT: u64 = 20;
/// All of a rate in hundredths of a percent.
const WHOLE: u64 = 10_000;
/// Most orders of a customer's range.
const ORDERS: u64 = u32::MAX as u64;

/// What transactions reported, folded into two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// What follows from the inputs and from what never changes: customers, prices, taxes, totals.
    pub fixed: u64,
    /// What follows from all that was committed before: numbers, balances, quantities.
    pub seen: u64,
}

impl Digests {
    fn fixed<const N: usize>(&mut self, words: [u64; N]) {
        self.fixed = words.into_iter().fold(self.fixed, |sum, word| mix(sum ^ word));
    }

    fn seen<const N: usize>(&mut self, words: [u64; N]) {
        self.seen = words.into_iter().fold(self.seen, |sum, word| mix(sum ^ word));
    }
}

/// One transaction, from its inputs to its commit. After a conflict `told` is to be thrown away.
pub fn act<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    asked: &Asked,
    reported: &mut Digests,
) -> Result<(), Trouble> {
    one.begin();
    match *asked {
        Asked::NewOrder { district, customer, lines, count } => {
            let order = Order { district, customer, lines: &lines[..count] };
            order.place(company, one, reported)
        }
        Asked::Payment { district, home, who, cents } => {
            pay(company, one, (district, home, who, cents), reported)
        }
        Asked::Status { home, who } => status(company, one, home, who, reported),
        Asked::Delivery { warehouse, carrier } => {
            deliver(company, one, warehouse, carrier, reported)
        }
        Asked::Level { district, threshold } => level(company, one, district, threshold, reported),
    }
}

fn there<T>(what: Option<T>, name: &'static str) -> Result<T, Trouble> {
    what.ok_or(Trouble::Missing(name))
}

struct Order<'a> {
    district: u64,
    customer: u64,
    lines: &'a [Line],
}

impl Order<'_> {
    fn place<'a>(
        &self,
        company: &'a Company,
        one: &mut Transaction<'a>,
        reported: &mut Digests,
    ) -> Result<(), Trouble> {
        let (home, retained) = (self.district / DISTRICTS, company.draw.scale.customers);
        let place = self.district * retained + self.customer;
        reported.fixed([1, place]);
        let buyer = there(company.customer(place), "a customer")?;
        let discount = one.look(buyer)?[customer::DISCOUNT];
        let book = one.read(&company.books[self.district as usize])?;
        let number = one.at(book)[book::NEXT];
        reported.seen([number]);
        let (mut sum, mut quantity, mut made) = (0, 0, [[0; LINE]; LINES_MAX]);
        for (line, into) in self.lines.iter().zip(&mut made) {
            let Some(item) = company.item(line.item) else {
                reported.fixed([0]); // the order is void, and nothing of it remains
                return one.is_valid().then_some(()).ok_or(Trouble::Conflict);
            };
            let cents = one.look(item)?[0] * line.quantity;
            let left = sell(company, one, line, home)?;
            reported.seen([left]);
            sum += cents;
            quantity += line.quantity;
            *into = [line.item, line.quantity, cents, 0, line.supply];
        }
        let tax = tax(company, one, self.district)?;
        reported.fixed([sum * (WHOLE - discount) * (WHOLE + tax) / (WHOLE * WHOLE)]);
        let count = self.lines.len() as u64;
        let is_waiting = company.waiting.contains(&in_range(self.district, number - retained));
        let page = one.write(book);
        page[book::NEXT] += 1;
        page[book::QUANTITY] += quantity;
        page[book::LINES] += count;
        page[book::LAPSED] += u64::from(is_waiting);
        one.commit(|| {
            for (nth, line) in (0..).zip(&made[..self.lines.len()]) {
                company.lines.insert(in_range(self.district, number) + nth, cells(*line));
            }
            company.add(self.district, number, self.customer, [place, 0, count]);
            company.take(self.district, number - retained);
        })
    }
}

/// Takes what a line wants from the stock, which is filled up when it runs low (2.4.2.2).
fn sell<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    line: &Line,
    home: u64,
) -> Result<u64, Trouble> {
    let held = one.read(there(company.stock(line.supply, line.item), "an item's stock")?)?;
    let columns = one.write(held);
    let had = columns[stock::QUANTITY];
    let left = if had >= line.quantity + 10 { had } else { had + 91 } - line.quantity;
    columns[stock::QUANTITY] = left;
    columns[stock::SOLD] += line.quantity;
    columns[stock::LINES] += 1;
    columns[stock::REMOTE] += u64::from(line.supply != home);
    Ok(left)
}

/// Taxes of warehouse and district. They never change, so payments there are no conflict.
fn tax<'a>(company: &'a Company, _: &mut Transaction<'a>, number: u64) -> Result<u64, Trouble> {
    let house = &company.warehouses[(number / DISTRICTS) as usize];
    let (_, of_house) = house.read().ok_or(Trouble::Conflict)?;
    let (_, own) = company.districts[number as usize].read().ok_or(Trouble::Conflict)?;
    Ok(of_house[warehouse::TAX] + own[district::TAX])
}

fn pay<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    (number, home, who, cents): (u64, u64, Who, u64),
    reported: &mut Digests,
) -> Result<(), Trouble> {
    let place = there(company.find(home, who), "a customer of that name")?;
    reported.fixed([2, place, cents]);
    let house = one.read(&company.warehouses[(number / DISTRICTS) as usize])?;
    let own = one.read(&company.districts[number as usize])?;
    let payer = one.read(there(company.customer(place), "a customer")?)?;
    one.write(house)[warehouse::PAID] += cents;
    let columns = one.write(own);
    columns[district::PAID] += cents;
    columns[district::PAYMENTS] += 1;
    let payment = columns[district::PAYMENTS];
    let columns = one.write(payer);
    columns[customer::BALANCE] = columns[customer::BALANCE].wrapping_sub(cents);
    columns[customer::PAID] += cents;
    columns[customer::PAYMENTS] += 1;
    if columns[customer::IS_BAD] != 0 {
        columns[customer::NOTES] = mix(columns[customer::NOTES] ^ number ^ cents);
    }
    let (balance, notes) = (columns[customer::BALANCE], columns[customer::NOTES]);
    reported.seen([one.at(house)[warehouse::PAID], one.at(own)[district::PAID], balance, notes]);
    let oldest = payment - company.draw.scale.customers;
    one.commit(|| {
        company.payments.insert(in_range(number, payment), cells([place, cents]));
        company.payments.remove(&in_range(number, oldest));
    })
}

fn status<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    home: u64,
    who: Who,
    reported: &mut Digests,
) -> Result<(), Trouble> {
    let place = there(company.find(home, who), "a customer of that name")?;
    reported.fixed([3, place]);
    one.look(&company.books[home as usize])?;
    let asks = one.look(there(company.customer(place), "a customer")?)?;
    reported.seen([asks[customer::BALANCE]]);
    let number = place % company.draw.scale.customers;
    let range = of_customer(home, number, 0)..=of_customer(home, number, ORDERS);
    let last = company.by_customer.range(range).next_back();
    let order = last.map_or(0, |entry| entry.value() & ORDERS);
    reported.seen([order]); // 0: none of the orders that are kept is this customer's
    if order > 0 {
        let key = in_range(home, order);
        let entry = there(company.orders.get(&key), "a customer's last order")?;
        let [_, carrier, count] = words::<ORDER>(entry.value());
        reported.seen([carrier]);
        for line in 0..count {
            let line = there(company.lines.get(&(key + line)), "a line of an order")?;
            reported.seen(words::<LINE>(line.value()));
        }
    }
    one.commit(|| ())
}

fn deliver<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    house: u64,
    carrier: u64,
    reported: &mut Digests,
) -> Result<(), Trouble> {
    reported.fixed([4, house, carrier]);
    let mut found = [None; DISTRICTS as usize];
    for (number, found) in (house * DISTRICTS..).zip(&mut found) {
        let book = one.read(&company.books[number as usize])?;
        let Some(first) = company.waiting.range(range(number)).next() else {
            reported.seen([0]);
            continue;
        };
        let key = *first.value();
        let order = there(company.orders.get(&key), "an order that waits")?;
        let [place, _, count] = words::<ORDER>(order.value());
        let mut cents = 0;
        for line in 0..count {
            let line = there(company.lines.get(&(key + line)), "a line of an order")?;
            cents += words::<LINE>(line.value())[2];
        }
        reported.seen([key, cents]);
        let page = one.write(book);
        page[book::DELIVERED] += 1;
        page[book::CENTS] += cents;
        let buyer = one.read(there(company.customer(place), "a customer")?)?;
        let columns = one.write(buyer);
        columns[customer::BALANCE] = columns[customer::BALANCE].wrapping_add(cents);
        columns[customer::DELIVERIES] += 1;
        *found = Some((key, count));
    }
    one.commit(|| {
        for (key, count) in found.into_iter().flatten() {
            company.waiting.remove(&key);
            if let Some(order) = company.orders.get(&key) {
                order.value()[1].store(carrier, Relaxed);
            }
            for line in (0..count).filter_map(|line| company.lines.get(&(key + line))) {
                line.value()[3].store(1, Relaxed);
            }
        }
    })
}

fn level<'a>(
    company: &'a Company,
    one: &mut Transaction<'a>,
    number: u64,
    threshold: u64,
    reported: &mut Digests,
) -> Result<(), Trouble> {
    reported.fixed([5, number, threshold]);
    let next = one.look(&company.books[number as usize])?[book::NEXT];
    let recent = in_range(number, next.saturating_sub(RECENT))..in_range(number, next);
    let mut items: Vec<u64> =
        company.lines.range(recent).map(|line| words::<1>(line.value())[0]).collect();
    items.sort_unstable();
    items.dedup();
    let mut low = 0;
    for item in items {
        let row = there(company.stock(number / DISTRICTS, item), "an item's stock")?;
        low += u64::from(one.look(row)?[stock::QUANTITY] < threshold);
    }
    reported.seen([next, low]);
    one.commit(|| ())
}

/// All keys of a district in a table of orders.
pub fn range(district: u64) -> RangeInclusive<u64> {
    in_range(district, 0)..=in_range(district + 1, 0) - 1
}
