//! A pass of a program that was measured in windows.

/// A window of a pass, as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Accesses of the pass before it.
    pub first: u64,
    /// Accesses in it.
    pub accesses: u64,
    /// Instructions in it, those accesses among them.
    pub instructions: u64,
    /// Picoseconds that it took.
    pub ps: u64,
    /// Picoseconds of warm-up before it; 0 if it followed on another window, or on what took no time.
    pub warmed_ps: u64,
    /// Those of them that went by without time.
    pub functional_ps: u64,
    /// Lines that its accesses read from memory: not those of page walks and prefetchers.
    pub memory_reads: u64,
}

/// What the windows of a pass say of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// Accesses of the pass.
    pub accesses: u64,
    /// Instructions of the pass, those accesses among them.
    pub instructions: u64,
    /// Its windows, in their order: one at least.
    pub windows: Vec<Window>,
}

impl Estimate {
    fn measured(&self) -> u64 {
        self.windows.iter().map(|window| window.accesses).sum()
    }

    /// The share of the pass's accesses that the windows hold, up to 1.
    pub fn share(&self) -> f64 {
        self.measured() as f64 / self.accesses.max(1) as f64
    }

    /// Scales what the windows have in all to the pass. Accesses decide, and not instructions: the windows lie regularly
    /// among accesses, so that each access is as likely to be in one as any other, and the mean over all places of the
    /// windows is the pass's own figure.
    fn scaled(&self, of: impl Fn(&Window) -> u64) -> u64 {
        let sum: u128 = self.windows.iter().map(|window| u128::from(of(window))).sum();
        let measured = u128::from(self.measured().max(1));
        // Where all of the pass was measured, nothing is rounded.
        ((sum * u128::from(self.accesses) + measured / 2) / measured) as u64
    }

    /// Picoseconds of the whole pass, estimated.
    pub fn ps(&self) -> u64 {
        self.scaled(|window| window.ps)
    }

    /// Lines that the accesses of the whole pass read from memory, estimated.
    pub fn memory_reads(&self) -> u64 {
        self.scaled(|window| window.memory_reads)
    }

    /// Lines that the accesses of the windows read from memory.
    pub fn reads_in_windows(&self) -> u64 {
        self.windows.iter().map(|window| window.memory_reads).sum()
    }

    /// Standard error of [`Estimate::ps`] in picoseconds, as if the windows had been drawn at random; none for less than
    /// two windows. Regular windows see each phase of a program, so that theirs is usually smaller.
    pub fn standard_error_ps(&self) -> Option<f64> {
        let n = self.windows.len() as f64;
        if n < 2.0 {
            return None;
        }
        let mean = self.windows.iter().map(|window| window.ps as f64).sum::<f64>() / n;
        let squares: f64 = self.windows.iter().map(|window| (window.ps as f64 - mean).powi(2)).sum();
        let of_mean = (squares / (n - 1.0) / n * (1.0 - self.share()).max(0.0)).sqrt();
        Some(of_mean / mean.max(1.0) * self.ps() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(accesses: u64, windows: &[(u64, u64)]) -> Estimate {
        let window = |(accesses, ps): &(u64, u64)| Window {
            first: 0,
            accesses: *accesses,
            instructions: *accesses,
            ps: *ps,
            warmed_ps: 0,
            functional_ps: 0,
            memory_reads: ps / 100,
        };
        Estimate { accesses, instructions: accesses, windows: windows.iter().map(window).collect() }
    }

    #[test]
    fn windows_stand_for_as_many_accesses_as_the_pass_has() {
        let estimate = estimate(1000, &[(10, 300), (10, 500)]);
        assert_eq!((estimate.ps(), estimate.memory_reads()), (40_000, 400));
        assert!((estimate.share() - 0.02).abs() < 1e-12);
        // A deviation of 100 from a mean of 400: s = 141.4, over the root of 2 is 100, a quarter of the mean; 2 % are known.
        let error = estimate.standard_error_ps().unwrap();
        assert!((error - 10_000.0 * 0.98f64.sqrt()).abs() < 1.0, "{error}");
    }

    #[test]
    fn what_was_measured_in_full_is_exact_and_has_no_error() {
        let estimate = estimate(7, &[(3, 12_345), (4, 54_321)]);
        assert_eq!((estimate.ps(), estimate.standard_error_ps()), (66_666, Some(0.0)));
    }

    #[test]
    fn one_window_does_not_know_its_error() {
        assert_eq!(estimate(7, &[(3, 12_345)]).standard_error_ps(), None);
    }
}
