//! How the warm-up before a window is divided: stretches without time, in which all programs fast-forward together, slices
//! in time between them, which show how fast each goes, and a last part in time, in which queues and rows settle.

use crate::time::Ps;

/// Each slice in time between two stretches.
const SLICE: Ps = Ps::new(50_000_000);

/// The last part in time.
const SETTLE: Ps = Ps::new(300_000_000);

/// What each stretch is of the time without time, in sixteenths. The first one is as long as the pace of the last window makes it; a
/// program may go at another one since.
const STRETCHES: [u64; 3] = [6, 6, 4];

/// A warm-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowWarmUp {
    /// Each stretch without time. A slice in time follows each but the last one.
    pub stretches: Vec<Ps>,
    /// In time, up to the window.
    pub settle: Ps,
}

impl WindowWarmUp {
    /// All of it in time.
    pub fn in_time(length: Ps) -> Self {
        Self { stretches: Vec::new(), settle: length }
    }

    /// What of a program alone is in time: nobody takes back what it brought in without time.
    pub fn alone(length: Ps) -> Self {
        Self::in_time(length.min(SETTLE))
    }

    /// Most of it without time; `None` where that is no use.
    pub fn together(length: Ps) -> Option<Self> {
        let in_time = SETTLE + SLICE * (STRETCHES.len() as u64 - 1);
        let without_time = length.checked_sub(in_time * 2)? + in_time;
        Some(Self { stretches: STRETCHES.map(|part| without_time * part / 16).to_vec(), settle: SETTLE })
    }

    /// What is left of it before the stretch of this number, or after all of them.
    pub fn left_before(&self, stretch: usize) -> Ps {
        let stretches = self.stretches.get(stretch..).unwrap_or_default();
        let slices = SLICE * stretches.len().saturating_sub(1) as u64;
        stretches.iter().fold(slices + self.settle, |sum, stretch| sum + *stretch)
    }

    /// What is left of it at the end of that stretch.
    pub fn left_after(&self, stretch: usize) -> Ps {
        self.left_before(stretch) - self.stretches.get(stretch).copied().unwrap_or(Ps::ZERO)
    }

    /// How long the part in time is that follows so many stretches.
    pub fn in_time_after(&self, stretches: usize) -> Ps {
        if stretches < self.stretches.len() { SLICE } else { self.settle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_come_to_the_whole() {
        let ms = Ps::new(1_000_000_000);
        for whole in [ms, ms * 2, ms * 10, ms * 10 + Ps::new(7)] {
            let warm_up = WindowWarmUp::together(whole).unwrap();
            // Sixteenths are rounded down.
            assert!((whole - Ps::new(3)..=whole).contains(&warm_up.left_before(0)), "{whole:?}: {warm_up:?}");
            assert_eq!(warm_up.left_after(2), warm_up.settle);
            assert_eq!(warm_up.left_before(3), warm_up.settle);
            assert_eq!(warm_up.left_after(0) - warm_up.left_before(1), SLICE);
            assert_eq!((warm_up.in_time_after(2), warm_up.in_time_after(3)), (SLICE, warm_up.settle));
        }
        assert_eq!(WindowWarmUp::together(ms / 2), None, "most of it would be in time");
        assert_eq!(WindowWarmUp::in_time(ms).left_before(0), ms);
        assert_eq!(WindowWarmUp::alone(ms).left_before(0), SETTLE);
        assert_eq!(WindowWarmUp::alone(Ps::ZERO).left_before(0), Ps::ZERO);
    }
}
