//! A double-ended queue of small values. Its capacity is a power of two, so that the place of a value takes one mask: the
//! memory looks at the fronts of its queues several times for each access.

const SMALLEST: usize = 8;

/// A double-ended queue.
#[derive(Debug, Clone)]
pub struct Queue<T> {
    values: Box<[T]>,
    /// Number of the first value, and of the place behind the last; places repeat.
    first: usize,
    end: usize,
}

impl<T: Copy + Default> Queue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { values: [T::default(); SMALLEST].into(), first: 0, end: 0 }
    }

    /// The place of the value with a number.
    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        number & (self.values.len() - 1)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.end.wrapping_sub(self.first)
    }

    /// Whether there is nothing in it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// The value that is taken next.
    #[inline(always)]
    pub fn front(&self) -> Option<T> {
        (!self.is_empty()).then(|| self.values[self.place(self.first)])
    }

    /// The same in its place, for large values.
    #[inline(always)]
    pub fn first(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.values[self.place(self.first)])
    }

    /// Takes the first value.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = self.front()?;
        self.first = self.first.wrapping_add(1);
        Some(value)
    }

    /// Adds a value behind all others.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        self.make_room();
        let place = self.place(self.end);
        self.values[place] = value;
        self.end = self.end.wrapping_add(1);
    }

    /// Adds a value before all others.
    #[inline]
    pub fn push_front(&mut self, value: T) {
        self.make_room();
        self.first = self.first.wrapping_sub(1);
        let place = self.place(self.first);
        self.values[place] = value;
    }

    /// Takes the value at that place, which exists; those before it move back by one.
    #[inline]
    pub fn remove(&mut self, at: usize) -> T {
        let place = |queue: &Self, at: usize| queue.place(queue.first.wrapping_add(at));
        let value = self.values[place(self, at)];
        for at in (0..at).rev() {
            let (from, to) = (place(self, at), place(self, at + 1));
            self.values[to] = self.values[from];
        }
        self.first = self.first.wrapping_add(1);
        value
    }

    /// The first value that fulfils this, and its place.
    #[inline(always)]
    pub fn find(&self, fits: impl Fn(&T) -> bool) -> Option<(usize, T)> {
        for at in 0..self.len() {
            let value = &self.values[self.place(self.first.wrapping_add(at))];
            if fits(value) {
                return Some((at, *value));
            }
        }
        None
    }

    /// All values, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len()).map(|at| self.values[self.place(self.first.wrapping_add(at))])
    }

    #[inline(always)]
    fn make_room(&mut self) {
        if self.len() == self.values.len() {
            self.double();
        }
    }

    #[cold]
    fn double(&mut self) {
        let mut values: Vec<T> = self.iter().collect();
        (self.first, self.end) = (0, values.len());
        values.resize(2 * values.len(), T::default());
        self.values = values.into();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use waykeeper_workload::Xorshift;

    use super::*;

    #[test]
    fn it_does_what_the_standard_librarys_queue_does() {
        let (mut queue, mut golden, mut random) = (Queue::new(), VecDeque::new(), Xorshift::new(1));
        for number in 0..10_000u32 {
            // It grows for a while, then shrinks to nothing, again and again.
            let pushes = if number / 100 % 2 == 0 { 5 } else { 2 };
            match random.below(8) {
                0 if pushes == 5 => {
                    queue.push_front(number);
                    golden.push_front(number);
                }
                1 if !golden.is_empty() => {
                    let at = random.below(golden.len() as u64) as usize;
                    assert_eq!(Some(queue.remove(at)), golden.remove(at));
                }
                choice if choice < pushes => {
                    queue.push_back(number);
                    golden.push_back(number);
                }
                _ => assert_eq!(queue.pop_front(), golden.pop_front()),
            }
            assert_eq!((queue.front(), queue.is_empty()), (golden.front().copied(), golden.is_empty()));
            assert!(queue.iter().eq(golden.iter().copied()));
            let found = golden.iter().copied().enumerate().find(|(_, value)| value % 5 == 0);
            assert_eq!(queue.find(|value| value % 5 == 0), found);
        }
    }
}
