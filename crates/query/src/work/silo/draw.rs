//! What a transaction is asked to do, and what the company looks like at the start, by number.
//!
//! All of it follows from the seed in closed form, so that another program in another language can
//! say the same: `python/sojourn/services/tpcc/draws.py` and `services/tpcc/jbb/Draw.java` do.
//!
//! Source: TPC-C 5.11, sections 2.1.6 (the uneven draws), 2.4 to 2.8 (inputs), 5.2.3 (the mix).

use crate::numbers::{at, stream};

/// Districts of a warehouse.
pub const DISTRICTS: u64 = 10;
/// Most lines of an order.
pub const LINES_MAX: usize = 15;
/// Fewest lines of an order.
const LINES_MIN: u64 = 5;
/// Places in a stream that belong to one transaction, and to one order of the start.
const STRIDE: u64 = 256;
const ORDER_STRIDE: u64 = 64;
/// Of 100 transactions, those below these are a new order, a payment, …; the rest ask for the stock.
const SHARES: [u64; 4] = [45, 88, 92, 96];
/// Customers are 3 % of the items, as 3000 are of 100 000.
const CUSTOMERS_PERCENT: u64 = 3;
const NAMES_MAX: u64 = 1000;
/// Ranges of the uneven draws for items, customers and names.
const UNEVEN: [u64; 3] = [8191, 1023, 255];
/// Streams of the seed.
const ASKED: u64 = 1 << 35;
const START: u64 = 1 << 36;

/// How large the company is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses, of ten districts each.
    pub warehouses: u64,
    /// Items that each warehouse stocks.
    pub items: u64,
    /// Customers of a district, and orders and payments of it that are stored.
    pub customers: u64,
    /// Last names that there are.
    pub names: u64,
}

impl Scale {
    /// The size that follows from the two numbers that are given.
    pub fn new(warehouses: u64, items: u64) -> Self {
        let customers = items * CUSTOMERS_PERCENT / 100;
        Self { warehouses, items, customers, names: customers.min(NAMES_MAX) }
    }
}

/// How a customer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Number(u64),
    /// By last name, of which the middle one is taken.
    Name(u64),
}

/// A line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Which item; one that does not exist makes the order void.
    pub item: u64,
    /// The warehouse that supplies it.
    pub supply: u64,
    /// How many.
    pub quantity: u64,
}

/// One transaction's inputs. Districts are counted through all warehouses.
#[allow(clippy::large_enum_variant, reason = "one at a time, and a box would be an allocation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Order `count` items.
    NewOrder { district: u64, customer: u64, lines: [Line; LINES_MAX], count: usize },
    /// Pay cents at a district; the customer may belong to another.
    Payment { district: u64, home: u64, who: Who, cents: u64 },
    /// What has become of a customer's last order?
    Status { home: u64, who: Who },
    /// Deliver the oldest order of each district.
    Delivery { warehouse: u64, carrier: u64 },
    /// Of how many items in a district's last 20 orders are there fewer than this?
    Level { district: u64, threshold: u64 },
}

/// The draws of one seed.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The size of the company.
    pub scale: Scale,
    asked: u64,
    start: u64,
    shifts: [u64; 3],
}

impl Draw {
    /// The draws of a seed for a company of this size.
    pub fn new(seed: u64, scale: Scale) -> Self {
        let start = stream(seed, START);
        let shifts = [0, 1, 2].map(|nth| at(start, nth) % (UNEVEN[nth as usize] + 1));
        Self { scale, asked: stream(seed, ASKED), start, shifts }
    }

    /// An uneven number below `below`, from places `place` and the next: 0 items, 1 customers, 2 names.
    fn uneven(&self, of: u64, place: u64, kind: usize, below: u64) -> u64 {
        let (a, b) = (at(of, place) % (UNEVEN[kind] + 1), at(of, place + 1) % below);
        ((a | b) + self.shifts[kind]) % below
    }

    /// What transaction `nth` of the stream is asked to do.
    pub fn asked(&self, nth: u64) -> Asked {
        let Scale { warehouses, customers, names, .. } = self.scale;
        let base = nth.wrapping_mul(STRIDE);
        let draw = |place| at(self.asked, base.wrapping_add(place));
        let warehouse = draw(1) % warehouses;
        let district = warehouse * DISTRICTS + draw(2) % DISTRICTS;
        let number = self.uneven(self.asked, base.wrapping_add(7), 1, customers);
        let who = if draw(4) % 100 < 60 {
            Who::Name(self.uneven(self.asked, base.wrapping_add(5), 2, names))
        } else {
            Who::Number(number)
        };
        match draw(0) % 100 {
            kind if kind < SHARES[0] => {
                let count = (LINES_MIN + draw(9) % (LINES_MAX as u64 - LINES_MIN + 1)) as usize;
                let is_void = draw(10).is_multiple_of(100);
                let lines = std::array::from_fn(|line| {
                    let item = self.line(base.wrapping_add(16 + 8 * line as u64), warehouse);
                    if is_void && line + 1 == count {
                        Line { item: self.scale.items, ..item }
                    } else {
                        item
                    }
                });
                Asked::NewOrder { district, customer: number, lines, count }
            }
            kind if kind < SHARES[1] => {
                let is_away = warehouses > 1 && draw(10) % 100 >= 85;
                let at_home = self.other(warehouse, draw(11)) * DISTRICTS + draw(12) % DISTRICTS;
                let home = if is_away { at_home } else { district };
                Asked::Payment { district, home, who, cents: 100 + draw(9) % 499_901 }
            }
            kind if kind < SHARES[2] => Asked::Status { home: district, who },
            kind if kind < SHARES[3] => Asked::Delivery { warehouse, carrier: 1 + draw(9) % 10 },
            _ => Asked::Level { district, threshold: 10 + draw(9) % 11 },
        }
    }

    fn line(&self, place: u64, warehouse: u64) -> Line {
        let draw = |more| at(self.asked, place.wrapping_add(more));
        let is_remote = self.scale.warehouses > 1 && draw(2).is_multiple_of(100);
        Line {
            item: self.uneven(self.asked, place, 0, self.scale.items),
            supply: if is_remote { self.other(warehouse, draw(3)) } else { warehouse },
            quantity: 1 + draw(4) % 10,
        }
    }

    /// Another warehouse than this one.
    fn other(&self, warehouse: u64, drawn: u64) -> u64 {
        let others = (self.scale.warehouses - 1).max(1);
        (warehouse + 1 + drawn % others) % self.scale.warehouses
    }

    /// Cents that an item costs.
    pub fn price(&self, item: u64) -> u64 {
        100 + at(self.start, (1 << 40) + item) % 9901
    }

    /// How many of an item a warehouse has at the start, by its place: warehouse × items + item.
    pub fn stock(&self, place: u64) -> u64 {
        10 + at(self.start, (2 << 40) + place) % 91
    }

    /// Hundredths of a percent of a warehouse's tax, or of a district's.
    pub fn tax(&self, of_district: bool, number: u64) -> u64 {
        at(self.start, (3 << 40) + (u64::from(of_district) << 32) + number) % 2001
    }

    /// A customer by place: district × customers + number. (discount in hundredths of a percent,
    /// whether the credit is bad, last name)
    pub fn customer(&self, place: u64) -> (u64, bool, u64) {
        let base = (4 << 40) + 4 * place;
        let (number, names) = (place % self.scale.customers, self.scale.names);
        let drawn = self.uneven(self.start, base + 2, 2, names);
        let name = if number < names { number } else { drawn };
        (at(self.start, base) % 5001, at(self.start, base + 1).is_multiple_of(10), name)
    }

    /// An order of the start, from 1 on: (customer, lines, carrier; 0: not delivered yet).
    pub fn order(&self, district: u64, order: u64) -> (u64, u64, u64) {
        let base = self.order_base(district, order);
        let customers = self.scale.customers;
        let is_delivered = order <= customers * 7 / 10;
        let carrier = if is_delivered { 1 + at(self.start, base + 63) % 10 } else { 0 };
        // A step of 7 or 11 visits all customers, since one of them is no factor of their number.
        let step = if customers.is_multiple_of(7) { 11 } else { 7 };
        let span = LINES_MAX as u64 - LINES_MIN + 1;
        ((order * step + district) % customers, LINES_MIN + at(self.start, base) % span, carrier)
    }

    /// A line of such an order: (item, cents). What is delivered was free, as TPC-C has it.
    pub fn order_line(&self, district: u64, order: u64, line: u64) -> (u64, u64) {
        let base = self.order_base(district, order) + 1 + 3 * line;
        let is_delivered = order <= self.scale.customers * 7 / 10;
        let cents = if is_delivered { 0 } else { 1 + at(self.start, base + 1) % 999_999 };
        (at(self.start, base) % self.scale.items, cents)
    }

    fn order_base(&self, district: u64, order: u64) -> u64 {
        (5 << 40) + (district * (self.scale.customers + 1) + order) * ORDER_STRIDE
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn draw(warehouses: u64) -> Draw {
        Draw::new(1, Scale::new(warehouses, 10_000))
    }

    #[test]
    fn the_mix_is_the_standard_one() {
        let mut counts = [0; 5];
        for nth in 0..100_000 {
            let kind = match draw(2).asked(nth) {
                Asked::NewOrder { .. } => 0,
                Asked::Payment { .. } => 1,
                Asked::Status { .. } => 2,
                Asked::Delivery { .. } => 3,
                Asked::Level { .. } => 4,
            };
            counts[kind] += 1;
        }
        for (count, share) in counts.into_iter().zip([0.45, 0.43, 0.04, 0.04, 0.04f64]) {
            let sigma = (share * (1.0 - share) / 100_000.0).sqrt();
            assert!((f64::from(count) / 100_000.0 - share).abs() < 5.0 * sigma, "{counts:?}");
        }
    }

    #[test]
    fn a_line_in_a_hundred_and_a_payment_in_seven_leave_the_warehouse_and_an_order_in_a_hundred_is_void()
     {
        let draw = draw(3);
        let (mut lines, mut remote, mut orders, mut void) = (0.0, 0.0, 0.0, 0.0);
        let (mut payments, mut away) = (0.0, 0.0);
        for nth in 0..50_000 {
            match draw.asked(nth) {
                Asked::NewOrder { district, lines: all, count, .. } => {
                    let is_remote = |line: &&Line| line.supply != district / DISTRICTS;
                    lines += count as f64;
                    remote += all[..count].iter().filter(is_remote).count() as f64;
                    orders += 1.0;
                    void += f64::from(u8::from(all[count - 1].item == draw.scale.items));
                    assert!(all[..count - 1].iter().all(|line| line.item < draw.scale.items));
                }
                Asked::Payment { district, home, .. } => {
                    payments += 1.0;
                    away += f64::from(u8::from(district / DISTRICTS != home / DISTRICTS));
                }
                _ => {}
            }
        }
        for (count, all, share) in
            [(remote, lines, 0.01), (void, orders, 0.01), (away, payments, 0.15)]
        {
            let sigma = (share * (1.0 - share) / all).sqrt();
            assert!((count / all - share).abs() < 5.0 * sigma, "{count} of {all}");
        }
    }

    #[test]
    fn at_the_start_every_customer_has_one_order() {
        for items in [1_000, 3_500, 10_000] {
            let draw = Draw::new(1, Scale::new(1, items));
            let customers = draw.scale.customers;
            let all: HashSet<u64> = (1..=customers).map(|order| draw.order(3, order).0).collect();
            assert_eq!(all.len() as u64, customers);
        }
    }
}
