//! How the error that a search may make is shared among its looks.

/// The probability that an answer of a search breaks its budget more often than it promises: at most 5 %.
pub const ERROR: f64 = 0.05;

/// The part of the error that the look of this number, from 1, may make: 1 / (n (n + 1)), which sum up to 1 over any number of
/// looks (a union bound; the sequence is the usual one for tests whose number is not known beforehand).
fn share(look: u32) -> f64 {
    let look = f64::from(look.max(1));
    1.0 / (look * (look + 1.0))
}

/// The confidence of a look: of the confirmation of this number of the search, from 1, and the look of this number at its
/// repeats, from 1.
pub fn confidence(confirmation: u32, look: u32) -> f64 {
    1.0 - ERROR * share(confirmation) * share(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_no_more_than_there_is() {
        // 1/2 + 1/6 + 1/12 + ... = 1 - 1/(n+1).
        let spent: f64 = (1..1000).map(share).sum();
        assert!((spent - (1.0 - 1.0 / 1000.0)).abs() < 1e-12);
        assert_eq!(confidence(1, 1), 1.0 - 0.05 / 4.0);
        let errors = (1..60).flat_map(|n| (1..60).map(move |look| 1.0 - confidence(n, look)));
        assert!(errors.sum::<f64>() < ERROR);
    }
}
