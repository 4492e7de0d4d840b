//! Functional mode against a slow and obvious model, access by access, and against counts worked out by hand.

mod by_hand;
mod model;
mod same_as_model;
