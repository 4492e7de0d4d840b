//! A multi-core, cycle-approximate memory hierarchy.
