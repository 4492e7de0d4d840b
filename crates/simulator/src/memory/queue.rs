//! A double-ended queue of small values. Its capacity is a power of two, so that the place of a value takes one mask: the
//! memory looks at the fronts of its queues several times for each access.

const SMALLEST: usize = 8;

/// A double-ended queue.
#[derive(Debug, Clone)]
pub struct Queue<T> {
    values: Vec<T>,
    front: usize,
    len: usize,
}

impl<T: Copy + Default> Queue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { values: vec![T::default(); SMALLEST], front: 0, len: 0 }
    }

    #[inline]
    fn place(&self, at: usize) -> usize {
        self.front.wrapping_add(at) & (self.values.len() - 1)
    }

    /// Whether there is nothing in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value that is taken next.
    #[inline]
    pub fn front(&self) -> Option<T> {
        (self.len != 0).then(|| self.values[self.place(0)])
    }

    /// Takes the first value.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = self.front()?;
        self.front = self.place(1);
        self.len -= 1;
        Some(value)
    }

    /// Adds a value behind all others.
    #[inline]
    pub fn push_back(&mut self, value: T) {
        self.make_room();
        let place = self.place(self.len);
        self.values[place] = value;
        self.len += 1;
    }

    /// Adds a value before all others.
    #[inline]
    pub fn push_front(&mut self, value: T) {
        self.make_room();
        self.front = self.place(usize::MAX);
        let front = self.front;
        self.values[front] = value;
        self.len += 1;
    }

    /// Takes the value at that place, which exists; those before it move back by one.
    #[inline]
    pub fn remove(&mut self, at: usize) -> T {
        let value = self.values[self.place(at)];
        for at in (0..at).rev() {
            let (from, to) = (self.place(at), self.place(at + 1));
            self.values[to] = self.values[from];
        }
        self.front = self.place(1);
        self.len -= 1;
        value
    }

    /// All values, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len).map(|at| self.values[self.place(at)])
    }

    #[inline]
    fn make_room(&mut self) {
        if self.len == self.values.len() {
            self.double();
        }
    }

    #[cold]
    fn double(&mut self) {
        self.values.rotate_left(self.front);
        self.front = 0;
        self.values.resize(2 * self.len, T::default());
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
        }
    }
}
