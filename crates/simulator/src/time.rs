//! Time: whole picoseconds.
//!
//! All parts count time in [`Ps`], which cannot be mixed up with a count, a share or a handle. Other crates see
//! bare numbers of picoseconds, such as `at_ps`; what is public converts.

use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub};

/// Picoseconds: since time 0, or the length of a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Ps(u64);

impl Ps {
    /// Time 0, or no time.
    pub const ZERO: Self = Self(0);

    /// A time that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// So many picoseconds.
    #[inline(always)]
    pub const fn new(ps: u64) -> Self {
        Self(ps)
    }

    /// Nanoseconds, rounded to whole picoseconds.
    pub fn from_ns(ns: f64) -> Self {
        Self((ns * 1e3).round() as u64)
    }

    /// The number of picoseconds.
    #[inline(always)]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum, at most [`Ps::NEVER`].
    #[inline(always)]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least 0.
    #[inline(always)]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// So many times as long, at most [`Ps::NEVER`].
    #[inline(always)]
    pub const fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    /// How often a length of time fits in, and once more for what is left.
    #[inline(always)]
    pub const fn div_ceil(self, length: Self) -> u64 {
        self.0.div_ceil(length.0)
    }

    /// The difference; none if it is negative.
    #[inline(always)]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

impl Add for Ps {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Ps {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Ps {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// So many times as long.
impl Mul<u64> for Ps {
    type Output = Self;

    #[inline(always)]
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

/// One of so many equal parts.
impl Div<u64> for Ps {
    type Output = Self;

    #[inline(always)]
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

/// How often a length of time fits in.
impl Div for Ps {
    type Output = u64;

    #[inline(always)]
    fn div(self, length: Self) -> u64 {
        self.0 / length.0
    }
}

/// What is left over of so many equal parts.
impl Rem<u64> for Ps {
    type Output = Self;

    #[inline(always)]
    fn rem(self, parts: u64) -> Self {
        Self(self.0 % parts)
    }
}

/// What is left after whole lengths of time.
impl Rem for Ps {
    type Output = Self;

    #[inline(always)]
    fn rem(self, length: Self) -> Self {
        Self(self.0 % length.0)
    }
}
