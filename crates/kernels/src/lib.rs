//! Timed loops and hammers in freestanding C11, and their Rust interface.
