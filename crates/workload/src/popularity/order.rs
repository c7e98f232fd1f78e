//! Items one after another: what a log holds is asked for in its order.

use std::cell::Cell;

use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use super::{Choice, Popularity, PopularityKind};

#[derive(Debug)]
struct Order {
    items: u32,
    next: Cell<u32>,
}

impl Popularity for Order {
    fn next_item(&self, _rng: &mut Rng) -> u32 {
        let item = self.next.get();
        self.next.set(if item + 1 < self.items { item + 1 } else { 0 });
        item
    }
    fn share_of_rank(&self, _rank: u32) -> f64 {
        1.0 / f64::from(self.items)
    }
}

pub(super) const KIND: PopularityKind = PopularityKind {
    kind: Kind {
        name: "order",
        about: "items one after another, from the first to the last and again",
        usage: "order (order)",
        params: &[],
        needs: &[],
        source: "",
    },
    build,
};

fn build(text: &str, items: u32) -> Result<Choice, Fault> {
    if !text.is_empty() {
        let what = format!("order takes no parameters, '{text}' given");
        return Err(Fault::usage(what, "", "write order"));
    }
    Ok(Box::new(Order { items, next: Cell::new(0) }))
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::stream;

    #[test]
    fn after_the_last_item_comes_the_first() {
        let (choice, mut rng) = (super::build("", 3).unwrap(), stream(1, "order", 0));
        let got: Vec<u32> = (0..7).map(|_| choice.next_item(&mut rng)).collect();
        assert_eq!(got, [0, 1, 2, 0, 1, 2, 0]);
        assert!(super::build("x", 3).is_err());
    }
}
