//! Classes: CLOSIDs of x86, PARTIDs of MPAM.

/// Which CLOSIDs are taken. The first is the root group's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closids {
    taken: Vec<bool>,
}

impl Closids {
    /// Frees all but the first.
    pub fn reset(&mut self, count: Option<u32>) {
        self.taken = (0..count.unwrap_or(0)).map(|closid| closid == 0).collect();
    }

    /// Takes the lowest that is free and has the fewest of `dirty`.
    pub fn take(&mut self, dirty: impl Fn(u32) -> usize) -> Option<u32> {
        let free = (0..self.taken.len() as u32).filter(|&closid| !self.taken(closid));
        let closid = free.min_by_key(|&closid| dirty(closid))?;
        self.taken[closid as usize] = true;
        Some(closid)
    }

    pub fn free(&mut self, closid: u32) {
        self.taken[closid as usize] = false;
    }

    pub fn taken(&self, closid: u32) -> bool {
        self.taken[closid as usize]
    }

    /// The CLOSIDs that are taken, ascending.
    pub fn all_taken(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.taken.len() as u32).filter(|&closid| self.taken(closid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_one_is_taken_first() {
        let mut closids = Closids::default();
        closids.reset(Some(4));
        assert_eq!([0; 4].map(|_| closids.take(|_| 0)), [Some(1), Some(2), Some(3), None]);
        closids.free(2);
        assert_eq!(closids.take(|_| 0), Some(2));
    }

    #[test]
    fn the_cleanest_one_is_preferred() {
        let mut closids = Closids::default();
        closids.reset(Some(4));
        assert_eq!(closids.take(|closid| usize::from(closid == 1)), Some(2));
    }
}
