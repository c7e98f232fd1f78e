//! The quantiles that every summary gives, written once: in the table of [`with_quantiles`](crate::with_quantiles).

/// One quantile: its share and its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Share of the values that lie at or below it.
    pub q: f64,
    /// Its key in JSON: `p999`.
    pub key: &'static str,
}

impl Quantile {
    /// As people write it: p99.9.
    pub fn name(&self) -> String {
        name_of(self.q)
    }
}

/// How people write quantile `q`: p99, p99.9.
pub fn name_of(q: f64) -> String {
    format!("p{}", (q * 1e8).round() / 1e6)
}

/// Of the normal distribution, 95 % two-sided.
const Z: f64 = 1.959_963_984_540_054;

/// Ranks (from 1) of the order statistics that cover quantile `q` of `n` independent times in 95 of 100 samples
/// (METHOD M10): ⌊nq − z·√(nq(1 − q))⌋ and ⌈nq + z·√(nq(1 − q))⌉ + 1. Below 1 or beyond `n` there is no such bound.
pub fn ranks(n: u64, q: f64) -> (f64, f64) {
    let middle = n as f64 * q;
    let spread = Z * (middle * (1.0 - q)).sqrt();
    ((middle - spread + 1e-9).floor(), (middle + spread - 1e-9).ceil() + 1.0)
}

/// Writes a struct that has a field for each quantile, between others of its own:
///
/// ```text
/// sojourn_base::with_quantiles! {
///     /// Times of something, ns.
///     #[derive(Clone, Debug, Default)]
///     pub struct Times of u64 {
///         /// How many.
///         pub count: u64,
///     } and then {
///         /// The largest.
///         pub max: u64,
///     }
/// }
/// let times = Times { count: 7, ..Times::default() }.with_quantiles(|it| (it.q < 0.9).then_some(3));
/// assert_eq!((times.count, times.p50, times.p99), (7, Some(3), None));
/// ```
///
/// The fields are `p50` and so on; each is an `Option`, for a sample may be too small for some.
#[macro_export]
macro_rules! with_quantiles {
    (@each $step:ident $($arguments:tt)*) => {
        $crate::with_quantiles! {
            @$step [
                p50 0.5 "Median.",
                p90 0.9 "90th percentile.",
                p95 0.95 "95th percentile.",
                p99 0.99 "99th percentile.",
                p999 0.999 "99.9th percentile.",
                p9999 0.9999 "99.99th percentile.",
            ] $($arguments)*
        }
    };
    (@list [$($key:ident $q:tt $doc:tt,)*]) => {
        /// How many there are.
        pub const COUNT: usize = [$($q),*].len();

        /// All of them, ascending.
        pub const QUANTILES: [Quantile; COUNT] = [$(Quantile { q: $q, key: stringify!($key) }),*];
    };
    (@fields [$($key:ident $q:tt $doc:tt,)*]
        [$($attr:tt)*] $name:ident $value:ident [$($before:tt)*] [$($after:tt)*]) => {
        $($attr)*
        pub struct $name {
            $($before)*
            $(#[doc = $doc] pub $key: Option<$value>,)*
            $($after)*
        }

        impl $name {
            /// Its quantiles, in the order of the table.
            pub fn quantiles(&self) -> [Option<$value>; $crate::quantiles::COUNT] {
                [$(self.$key),*]
            }

            /// The same, to be changed.
            pub fn quantiles_mut(&mut self) -> [&mut Option<$value>; $crate::quantiles::COUNT] {
                [$(&mut self.$key),*]
            }

            /// The same with each quantile as `of` has it.
            #[must_use]
            pub fn with_quantiles(
                mut self,
                of: impl FnMut(&$crate::quantiles::Quantile) -> Option<$value>,
            ) -> Self {
                let result = $crate::quantiles::QUANTILES.each_ref().map(of);
                for (own, result) in self.quantiles_mut().into_iter().zip(result) {
                    *own = result;
                }
                self
            }
        }
    };
    ($(#[$attr:meta])* pub struct $name:ident of $value:ident { $($before:tt)* } and then { $($after:tt)* }) => {
        $crate::with_quantiles! {
            @each fields [$(#[$attr])*] $name $value [$($before)*] [$($after)*]
        }
    };
}

crate::with_quantiles! { @each list }

#[cfg(test)]
mod tests {
    use super::*;

    crate::with_quantiles! {
        /// Times of what is tested, ns.
        #[derive(Clone, Debug, Default)]
        pub struct Times of u64 {
            /// How many.
            pub count: u64,
        } and then {
            /// The largest.
            pub max: u64,
        }
    }

    #[test]
    fn a_struct_has_a_field_for_each_between_its_own() {
        let few = Times { count: 7, max: 9, ..Times::default() };
        let times = few.with_quantiles(|quantile| (quantile.q < 0.9).then_some(3));
        assert_eq!((times.count, times.p50, times.p9999, times.max), (7, Some(3), None, 9));
        assert_eq!(times.quantiles()[..2], [Some(3), None]);
    }

    #[test]
    fn the_interval_needs_563_requests_for_its_upper_end() {
        assert!(ranks(562, 0.99).1 > 562.0);
        assert_eq!(ranks(563, 0.99).1 as u64, 563);
        let (lo, hi) = ranks(1000, 0.5);
        assert_eq!((lo as u64, hi as u64), (469, 532));
    }

    #[test]
    fn the_table_ascends_and_names_follow_from_its_numbers() {
        assert!(QUANTILES.windows(2).all(|pair| pair[0].q < pair[1].q));
        for quantile in QUANTILES {
            assert_eq!(quantile.name().replace('.', ""), quantile.key);
        }
        assert_eq!([0.5, 0.999, 0.12345].map(name_of), ["p50", "p99.9", "p12.345"]);
    }
}
