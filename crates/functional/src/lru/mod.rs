//! LRU by order: each set is a row of lines, the most recently used one first.
//!
//! A hit moves a line to the front, a miss puts its line there and moves the others on by one: the last one makes room.
//! There are no ages, and the victim needs no search. A row is one, two or a few registers of the host.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod loops;
mod plain;
mod row;
mod rows;
#[cfg(test)]
mod tests;

pub use rows::Recency;
