//! Visiting every one of many places once, none of them near the one before.

/// A step that visits all of `n` places before any comes again: it has no common factor with `n`.
///
/// Near the golden section of `n` no two visits that follow each other are near (Knuth, The Art of
/// Computer Programming, volume 3, 6.4).
pub fn spread(n: usize) -> usize {
    let golden = (n as f64 * 0.618) as usize | 1;
    (golden..=golden + n).find(|&step| gcd(step, n) == 1).unwrap_or(1) % n.max(1)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_visited_once() {
        for n in [1_usize, 2, 3, 4, 5, 64, 100, 1000, 4096] {
            let step = spread(n);
            let mut seen = vec![false; n];
            let mut at = 0;
            for _ in 0..n {
                assert!(!seen[at], "{n}: {at} comes twice");
                seen[at] = true;
                at = (at + step) % n;
            }
        }
    }
}
