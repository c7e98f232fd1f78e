//! The company's tables: rows, and the ordered maps that lead to them.
//!
//! Warehouses, districts, customers, items and stock are as many at the end as at the start. Orders
//! and payments come, so TPC-C's tables grow; here each district keeps as many as it began with, and
//! the oldest goes when a new one comes: the service is the same after an hour as after a minute.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crossbeam_skiplist::{SkipMap, SkipSet};

use super::draw::{DISTRICTS, Draw, Who};
use super::row::{COLUMNS, Columns, Row};

/// Columns of a warehouse, in cents and hundredths of a percent.
pub mod warehouse {
    /// Paid there so far.
    pub const PAID: usize = 0;
    /// Its tax; never changes.
    pub const TAX: usize = 1;
}

/// Columns of a district. This row also guards the range of its payments.
pub mod district {
    /// Paid there so far, cents.
    pub const PAID: usize = 0;
    /// Payments so far: the number of the last one.
    pub const PAYMENTS: usize = 1;
    /// Its tax; never changes.
    pub const TAX: usize = 2;
}

/// Columns of a district's book of orders: the row that guards the range of its orders.
pub mod book {
    /// Number of the next order.
    pub const NEXT: usize = 0;
    /// Items ordered through it so far.
    pub const QUANTITY: usize = 1;
    /// Lines ordered through it so far.
    pub const LINES: usize = 2;
    /// Orders delivered.
    pub const DELIVERED: usize = 3;
    /// Cents of what was delivered.
    pub const CENTS: usize = 4;
    /// Orders that went, as the oldest, before they were delivered.
    pub const LAPSED: usize = 5;
}

/// Columns of a customer.
pub mod customer {
    /// Balance in cents, as a number with a sign.
    pub const BALANCE: usize = 0;
    /// Paid so far, cents.
    pub const PAID: usize = 1;
    /// Payments so far.
    pub const PAYMENTS: usize = 2;
    /// Orders delivered to the customer.
    pub const DELIVERIES: usize = 3;
    /// Discount, hundredths of a percent; never changes.
    pub const DISCOUNT: usize = 4;
    /// Whether the credit is bad; never changes.
    pub const IS_BAD: usize = 5;
    /// What is written down of who has bad credit.
    pub const NOTES: usize = 6;
}

/// Columns of an item's stock in a warehouse.
pub mod stock {
    /// How many there are.
    pub const QUANTITY: usize = 0;
    /// Sold so far.
    pub const SOLD: usize = 1;
    /// Lines that sold it.
    pub const LINES: usize = 2;
    /// Of these, for customers of other warehouses.
    pub const REMOTE: usize = 3;
}

/// What lies in a range: words without a version, which the range's guard covers.
pub type Cells = Box<[AtomicU64]>;

/// Cells of an order: customer, carrier, lines.
pub const ORDER: usize = 3;
/// Cells of a line: item, quantity, cents, whether it was delivered, the warehouse that supplies it.
pub const LINE: usize = 5;

/// Bytes of TPC-C's rows, section 1.2.
const BYTES: [usize; 5] = [89, 95, 655, 82, 306];

/// All tables. Districts are counted through all warehouses, customers through all districts, and
/// stock through all warehouses.
#[derive(Debug)]
pub struct Company {
    /// What it began as.
    pub draw: Draw,
    /// By number.
    pub warehouses: Vec<Row>,
    /// By number.
    pub districts: Vec<Row>,
    /// By district.
    pub books: Vec<Row>,
    customers: Vec<Row>,
    items: Vec<Row>,
    stock: Vec<Row>,
    customer_map: SkipMap<u64, u32>,
    item_map: SkipMap<u64, u32>,
    stock_map: SkipMap<u64, u32>,
    name_map: SkipMap<u64, u32>,
    /// Orders by `in_range`.
    pub orders: SkipMap<u64, Cells>,
    /// Lines by `in_range` and their number.
    pub lines: SkipMap<u64, Cells>,
    /// Orders not delivered yet, by `in_range`.
    pub waiting: SkipSet<u64>,
    /// Orders by district, customer and number.
    pub by_customer: SkipSet<u64>,
    /// Payments by `in_range`: customer, cents.
    pub payments: SkipMap<u64, Cells>,
}

/// The key of an order or payment: district, number, and room for the number of a line.
pub fn in_range(district: u64, number: u64) -> u64 {
    district << 48 | number << 8
}

/// The key of an order under its customer.
pub fn of_customer(district: u64, customer: u64, order: u64) -> u64 {
    district << 48 | customer << 32 | order
}

/// Cells that hold these words.
pub fn cells<const N: usize>(words: [u64; N]) -> Cells {
    words.map(AtomicU64::new).into()
}

/// The first `N` words of cells, each as it is now.
pub fn words<const N: usize>(cells: &Cells) -> [u64; N] {
    std::array::from_fn(|nth| cells[nth].load(Relaxed))
}

fn row(bytes: usize, columns: &[u64]) -> Row {
    let padded: Columns = std::array::from_fn(|nth| columns.get(nth).copied().unwrap_or(0));
    Row::new(padded, bytes.max(8 * COLUMNS))
}

fn map(count: u64) -> SkipMap<u64, u32> {
    let map = SkipMap::new();
    (0..count).for_each(|key| drop(map.insert(key, key as u32)));
    map
}

impl Company {
    /// The company as it is at the start.
    pub fn new(draw: Draw) -> Self {
        let scale = draw.scale;
        let districts = scale.warehouses * DISTRICTS;
        let (people, places) = (districts * scale.customers, scale.warehouses * scale.items);
        let cents = 1000 * scale.customers; // each customer has paid ten
        let person = |place| {
            let (discount, is_bad, _) = draw.customer(place);
            row(BYTES[2], &[1000u64.wrapping_neg(), 1000, 1, 0, discount, u64::from(is_bad)])
        };
        let company = Self {
            warehouses: (0..scale.warehouses)
                .map(|nth| row(BYTES[0], &[cents * DISTRICTS, draw.tax(false, nth)]))
                .collect(),
            districts: (0..districts)
                .map(|nth| row(BYTES[1], &[cents, scale.customers, draw.tax(true, nth)]))
                .collect(),
            books: (0..districts).map(|_| row(0, &[scale.customers + 1])).collect(),
            customers: (0..people).map(person).collect(),
            items: (0..scale.items).map(|item| row(BYTES[3], &[draw.price(item)])).collect(),
            stock: (0..places).map(|place| row(BYTES[4], &[draw.stock(place)])).collect(),
            customer_map: map(people),
            item_map: map(scale.items),
            stock_map: map(places),
            name_map: SkipMap::new(),
            orders: SkipMap::new(),
            lines: SkipMap::new(),
            waiting: SkipSet::new(),
            by_customer: SkipSet::new(),
            payments: SkipMap::new(),
            draw,
        };
        (0..districts).for_each(|nth| company.fill(nth));
        company
    }

    /// Names, orders and payments of a district.
    fn fill(&self, district: u64) {
        let customers = self.draw.scale.customers;
        for number in 0..customers {
            let place = district * customers + number;
            let (_, _, name) = self.draw.customer(place);
            self.name_map.insert(of_customer(district, name, number), place as u32);
            self.payments.insert(in_range(district, number + 1), cells([place, 1000]));
        }
        for order in 1..=customers {
            let (customer, count, carrier) = self.draw.order(district, order);
            let is_delivered = u64::from(carrier > 0);
            for line in 0..count {
                let (item, cents) = self.draw.order_line(district, order, line);
                let words = [item, 5, cents, is_delivered, district / DISTRICTS];
                self.lines.insert(in_range(district, order) + line, cells::<LINE>(words));
            }
            self.add(district, order, customer, [district * customers + customer, carrier, count]);
        }
    }

    /// Puts an order into the three tables that know it.
    pub fn add(&self, district: u64, order: u64, customer: u64, words: [u64; ORDER]) {
        let key = in_range(district, order);
        if words[1] == 0 {
            self.waiting.insert(key);
        }
        self.by_customer.insert(of_customer(district, customer, order));
        self.orders.insert(key, cells(words));
    }

    /// Takes an order out of all tables; whether it was still waiting. `None`: it is not there.
    pub fn take(&self, district: u64, order: u64) -> Option<bool> {
        let key = in_range(district, order);
        let [place, _, count] = words::<ORDER>(self.orders.get(&key)?.value());
        (0..count).for_each(|line| drop(self.lines.remove(&(key + line))));
        let customer = place % self.draw.scale.customers;
        self.by_customer.remove(&of_customer(district, customer, order));
        self.orders.remove(&key);
        Some(self.waiting.remove(&key).is_some())
    }

    /// A customer's row, by place.
    pub fn customer(&self, place: u64) -> Option<&Row> {
        Some(&self.customers[*self.customer_map.get(&place)?.value() as usize])
    }

    /// An item's row; `None`: there is no such item.
    pub fn item(&self, item: u64) -> Option<&Row> {
        Some(&self.items[*self.item_map.get(&item)?.value() as usize])
    }

    /// The stock of an item in a warehouse.
    pub fn stock(&self, warehouse: u64, item: u64) -> Option<&Row> {
        let place = warehouse * self.draw.scale.items + item;
        Some(&self.stock[*self.stock_map.get(&place)?.value() as usize])
    }

    /// The place of a customer of a district; names never change, so this reads no version.
    pub fn find(&self, district: u64, who: Who) -> Option<u64> {
        let name = match who {
            Who::Number(number) => return Some(district * self.draw.scale.customers + number),
            Who::Name(name) => name,
        };
        let range = of_customer(district, name, 0)..of_customer(district, name + 1, 0);
        let all: Vec<u32> = self.name_map.range(range).map(|entry| *entry.value()).collect();
        all.get(all.len().saturating_sub(1) / 2).map(|&place| u64::from(place))
    }

    /// All rows of customers, for the audit.
    pub fn people(&self) -> &[Row] {
        &self.customers
    }

    /// All rows of stock, for the audit.
    pub fn all_stock(&self) -> &[Row] {
        &self.stock
    }
}
