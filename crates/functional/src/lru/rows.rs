//! The rows of a cache.

#[cfg(target_arch = "x86_64")]
use super::avx2::{self, Octets, OnAvx2, Quad};
use super::loops::{Mixed, SameSet, Steady, Table, TableLoop, pass};
use super::plain::Plain;
use super::row::RecencyRow;
use crate::access::{EMPTY, Word};
use crate::counts::BlockMisses;
use crate::sample::neighbours_agree;

/// Words in a line of the host: no row that fits into one shall lie in two.
const HOST_LINE: usize = 16;

/// An LRU cache.
#[derive(Debug)]
pub struct Recency {
    words: Vec<Word>,
    /// Where the first row begins: at a line of the host.
    start: usize,
    sets: usize,
    ways: usize,
    host: Host,
    mark_only: bool,
    /// No store has come so far.
    clean: bool,
    /// Of the block before, neither nearly all hit nor nearly all missed.
    mixed: bool,
}

/// What a block is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// [`Steady`].
    Steady,
    /// [`SameSet`].
    SameSet,
    /// [`Mixed`].
    Mixed,
    /// [`Steady`], but stores that hit are no use.
    SteadyMarkOnly,
    /// [`Mixed`], but stores that hit are no use.
    MixedMarkOnly,
}

/// What the host's registers are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Host {
    /// Nothing is known.
    Any,
    /// x86-64 with AVX2 and BMI1.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Host {
    /// This host.
    pub fn this() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
            return Self::Avx2;
        }
        Self::Any
    }
}

impl Recency {
    /// An empty cache of `sets` (a power of two) and 1 to 32 `ways`.
    pub fn new(sets: usize, ways: usize, mark_only: bool) -> Self {
        Self::on(Host::this(), sets, ways, mark_only)
    }

    pub(super) fn on(host: Host, sets: usize, ways: usize, mark_only: bool) -> Self {
        assert!(sets.is_power_of_two() && (1..=32).contains(&ways), "{sets} sets of {ways} ways");
        let words = vec![EMPTY; sets * row_of(ways) + HOST_LINE];
        let start = words.as_ptr().align_offset(HOST_LINE * size_of::<Word>()).min(HOST_LINE);
        Self { words, start, sets, ways, host, mark_only, clean: true, mixed: false }
    }

    /// Takes a block of words and passes words to the next level. `stores` says whether there may be any among them.
    pub fn run(&mut self, words: &[Word], stores: bool, out: &mut Vec<Word>) -> BlockMisses {
        self.has_seen(stores);
        let kind = self.kind(words);
        let passed = self.run_as(kind, words, out);
        let hits = words.len() as u64 - passed.misses;
        self.mixed = passed.misses.min(hits) * self.guesses_worth() > words.len() as u64;
        passed
    }

    /// The words on which the loop without a branch loses what one wrong guess of the other costs. Seen on an AMD Zen 3:
    /// random lines, 4 to 16 ways, where 3 % to 50 % miss.
    fn guesses_worth(&self) -> u64 {
        if self.clean { 24 } else { 8 }
    }

    /// Stores have come, or come with the next block.
    pub(super) fn has_seen(&mut self, stores: bool) {
        self.clean &= !stores;
    }

    fn kind(&self, words: &[Word]) -> Kind {
        // While there is no store, it does not matter what one means.
        if self.mark_only && !self.clean {
            if self.mixed { Kind::MixedMarkOnly } else { Kind::SteadyMarkOnly }
        } else if neighbours_agree(words, self.sets as Word - 1) {
            Kind::SameSet
        } else if self.mixed {
            Kind::Mixed
        } else {
            Kind::Steady
        }
    }

    pub(super) fn run_as(&mut self, kind: Kind, words: &[Word], out: &mut Vec<Word>) -> BlockMisses {
        if self.clean { self.run_with::<true>(kind, words, out) } else { self.run_with::<false>(kind, words, out) }
    }

    fn run_with<const CLEAN: bool>(&mut self, kind: Kind, words: &[Word], out: &mut Vec<Word>) -> BlockMisses {
        match kind {
            Kind::Steady => self.walk::<Steady<CLEAN, false>, CLEAN>(words, out),
            Kind::SteadyMarkOnly => self.walk::<Steady<CLEAN, true>, CLEAN>(words, out),
            Kind::SameSet => self.walk::<SameSet<CLEAN>, CLEAN>(words, out),
            Kind::Mixed => self.walk::<Mixed<CLEAN, false>, CLEAN>(words, out),
            Kind::MixedMarkOnly => self.walk::<Mixed<CLEAN, true>, CLEAN>(words, out),
        }
    }

    fn walk<W: TableLoop, const CLEAN: bool>(&mut self, words: &[Word], out: &mut Vec<Word>) -> BlockMisses {
        let row = row_of(self.ways);
        match self.host {
            Host::Any => match row {
                4 => self.walk_plain::<W, 4, CLEAN>(words, out),
                8 => self.walk_plain::<W, 8, CLEAN>(words, out),
                16 => self.walk_plain::<W, 16, CLEAN>(words, out),
                24 => self.walk_plain::<W, 24, CLEAN>(words, out),
                _ => self.walk_plain::<W, 32, CLEAN>(words, out),
            },
            #[cfg(target_arch = "x86_64")]
            Host::Avx2 => match row {
                4 => self.walk_avx2::<W, Quad, CLEAN>(words, out),
                8 => self.walk_avx2::<W, Octets<1>, CLEAN>(words, out),
                16 => self.walk_avx2::<W, Octets<2>, CLEAN>(words, out),
                24 => self.walk_avx2::<W, Octets<3>, CLEAN>(words, out),
                _ => self.walk_avx2::<W, Octets<4>, CLEAN>(words, out),
            },
        }
    }

    fn walk_plain<W: TableLoop, const N: usize, const CLEAN: bool>(
        &mut self,
        words: &[Word],
        out: &mut Vec<Word>,
    ) -> BlockMisses {
        let mut table = self.table::<Plain<N>, false>();
        pass::<CLEAN>(words.len(), out, |out| W::walk(&mut table, words, out))
    }

    #[cfg(target_arch = "x86_64")]
    fn walk_avx2<W: TableLoop, R: OnAvx2, const CLEAN: bool>(
        &mut self,
        words: &[Word],
        out: &mut Vec<Word>,
    ) -> BlockMisses {
        // SAFETY: `Host::this` has found what the loops need.
        if self.ways == R::LENGTH {
            let mut table = self.table::<R, true>();
            pass::<CLEAN>(words.len(), out, |out| unsafe { avx2::walk::<W, R, true>(&mut table, words, out) })
        } else {
            let mut table = self.table::<R, false>();
            pass::<CLEAN>(words.len(), out, |out| unsafe { avx2::walk::<W, R, false>(&mut table, words, out) })
        }
    }

    fn table<R: RecencyRow, const FULL: bool>(&mut self) -> Table<'_, R, FULL> {
        let words = &mut self.words[self.start..][..self.sets * row_of(self.ways)];
        Table::new(words, self.ways)
    }

    /// Whether a line is held.
    pub fn holds(&self, line: Word) -> bool {
        let row = row_of(self.ways);
        let set = line as usize & (self.sets - 1);
        self.words[self.start + set * row..][..self.ways].iter().any(|word| word & EMPTY == line)
    }
}

impl Clone for Recency {
    fn clone(&self) -> Self {
        // Another piece of memory begins at another place of a host's line.
        let mut copy = Self::on(self.host, self.sets, self.ways, self.mark_only);
        let length = self.sets * row_of(self.ways);
        copy.words[copy.start..][..length].copy_from_slice(&self.words[self.start..][..length]);
        (copy.clean, copy.mixed) = (self.clean, self.mixed);
        copy
    }
}

/// Words in a row.
fn row_of(ways: usize) -> usize {
    if ways <= 4 { 4 } else { ways.next_multiple_of(8) }
}
