//! Hardware prefetchers: what they ask for when the first level misses. They stay on the miss's page of 4 KiB.

use waykeeper_platform::PrefetcherKind;

use crate::caches::array::tags;
use crate::line::Line;

/// Pages that a stride prefetcher follows at one time; the one that missed the longest time ago makes room.
const PAGES: usize = 16;

/// No page: no memory reaches so far.
const NO_PAGE: u32 = u32::MAX;

/// Lines that are remembered as brought in and not yet used.
const REMEMBERED: usize = 256;

/// A line and the level that it should come to.
pub type Wish = (Line, u8);

/// One prefetcher.
#[derive(Debug, Clone)]
pub struct Prefetcher {
    /// What it recognises.
    pub kind: PrefetcherKind,
    /// The level that it fills.
    pub level: u8,
    /// Accesses with the same stride before it begins.
    pub after: u64,
    /// Lines or strides that it runs ahead.
    pub distance: u64,
    /// Requests that one access can cause.
    pub degree: u64,
    /// The pages that are followed, [`NO_PAGE`] where there is none.
    pages: [u32; PAGES],
    followed: [Followed; PAGES],
    /// The number of the last miss in each.
    missed: [u64; PAGES],
    misses: u64,
}

/// The misses of a page.
#[derive(Debug, Clone, Copy, Default)]
struct Followed {
    last: Line,
    stride: i64,
    seen: u64,
}

impl Prefetcher {
    /// A prefetcher that has seen nothing.
    pub fn new(kind: PrefetcherKind, level: u8, after: u64, distance: u64, degree: u64) -> Self {
        Self {
            kind,
            level,
            after,
            distance,
            degree,
            pages: [NO_PAGE; PAGES],
            followed: Default::default(),
            missed: [0; PAGES],
            misses: 0,
        }
    }

    /// The place of a page that is missed in, now the one that missed last.
    fn place_of(&mut self, page: u32, line: Line) -> usize {
        let held_in = tags::equal(&self.pages, page);
        let at = match held_in {
            0 => (0..PAGES).min_by_key(|at| self.missed[*at]).expect("some pages are followed"),
            _ => held_in.trailing_zeros() as usize,
        };
        if held_in == 0 {
            (self.pages[at], self.followed[at]) = (page, Followed { last: line, stride: 0, seen: 0 });
        }
        self.misses += 1;
        self.missed[at] = self.misses;
        at
    }

    /// The stride in lines to follow after a miss.
    fn stride(&mut self, line: Line, page: u32) -> Option<i64> {
        if self.kind == PrefetcherKind::NextLine {
            return Some(1);
        }
        let at = self.place_of(page, line);
        let followed = &mut self.followed[at];
        let stride = line.lines_after(followed.last);
        if stride != 0 {
            followed.seen = if stride == followed.stride { followed.seen + 1 } else { 1 };
            (followed.stride, followed.last) = (stride, line);
        }
        (stride != 0 && followed.seen >= self.after).then_some(stride)
    }
}

/// The prefetchers of a core.
#[derive(Debug, Clone)]
pub struct Prefetchers {
    each: Vec<Prefetcher>,
    page_lines_log2: u32,
    /// Lines that were asked for and not used yet, by their lowest bits.
    brought: Vec<Line>,
    /// What is to be asked for.
    pub wishes: Vec<Wish>,
    /// Whether they work.
    pub enabled: bool,
}

impl Prefetchers {
    /// Prefetchers for lines of a size, or None if there is none.
    pub fn new(each: Vec<Prefetcher>, line_bytes: u64) -> Option<Self> {
        let page_lines_log2 = (4096 / line_bytes).max(1).trailing_zeros();
        let brought = vec![Line::EMPTY; REMEMBERED];
        (!each.is_empty()).then(|| Self { each, page_lines_log2, brought, wishes: Vec::new(), enabled: true })
    }

    /// The first level missed a line: adds to the wishes.
    pub fn missed(&mut self, line: Line) {
        if !self.enabled {
            return;
        }
        let page = line.block(self.page_lines_log2);
        for prefetcher in &mut self.each {
            let Some(stride) = prefetcher.stride(line, page) else { continue };
            let mut left = prefetcher.degree;
            for ahead in 1..=prefetcher.distance as i64 {
                let Some(wanted) = line.offset(ahead * stride) else { break };
                if left == 0 || wanted.block(self.page_lines_log2) != page {
                    break;
                }
                if self.brought[wanted.index(REMEMBERED)] != wanted {
                    left -= 1;
                    self.wishes.push((wanted, prefetcher.level));
                }
            }
        }
    }

    /// A wish has become a request.
    pub fn asked(&mut self, line: Line) {
        self.brought[line.index(REMEMBERED)] = line;
    }

    /// The first level hits: true for the first use of a line that was brought in, which trains like a miss.
    #[inline]
    pub fn first_use(&mut self, line: Line) -> bool {
        let place = &mut self.brought[line.index(REMEMBERED)];
        let first = *place == line;
        if first {
            *place = Line::EMPTY;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(of: &mut Prefetchers, misses: &[u32]) -> Vec<u32> {
        misses.iter().for_each(|line| of.missed(Line::new(*line)));
        std::mem::take(&mut of.wishes).into_iter().map(|(line, _)| line.number()).collect()
    }

    #[test]
    fn the_next_lines_of_the_page_are_asked_for_once() {
        let next = Prefetcher::new(PrefetcherKind::NextLine, 1, 0, 4, 2);
        let mut of = Prefetchers::new(vec![next], 64).unwrap();
        // 64 lines a page: 61 has two behind it, 63 none.
        assert_eq!(wishes(&mut of, &[5]), [6, 7]);
        of.asked(Line::new(6));
        of.asked(Line::new(7));
        assert_eq!(wishes(&mut of, &[5]), [8, 9]);
        assert_eq!((wishes(&mut of, &[61]), wishes(&mut of, &[63])), (vec![62, 63], vec![]));
        assert_eq!([6, 6, 60].map(|line| of.first_use(Line::new(line))), [true, false, false]);
        of.enabled = false;
        assert_eq!(wishes(&mut of, &[5]), [0; 0]);
    }

    #[test]
    fn a_stride_is_followed_after_it_was_seen_often_enough() {
        let stride = || Prefetcher::new(PrefetcherKind::Stride, 2, 2, 2, 2);
        let mut of = Prefetchers::new(vec![stride()], 64).unwrap();
        assert_eq!(wishes(&mut of, &[0, 3]), [0; 0]);
        // Another page in between does not interfere; 6 is the second step of 3.
        assert_eq!(wishes(&mut of, &[640, 6]), [9, 12]);
        // A step of 1 is new, and a repeated miss is no step.
        assert_eq!((wishes(&mut of, &[7]), wishes(&mut of, &[7])), (vec![], vec![]));
        assert_eq!(wishes(&mut of, &[8]), [9, 10]);
        // Downwards, and no further than the page.
        let mut of = Prefetchers::new(vec![stride()], 64).unwrap();
        assert_eq!(wishes(&mut of, &[70, 68, 66]), [64]);
    }
}
