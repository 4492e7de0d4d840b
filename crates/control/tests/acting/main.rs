//! Acting on the model of the kernel's resctrl: what is applied is undone to the last bit, whatever comes between.

mod cgroups;
mod cut;
mod findings;
mod forks;
mod identity;
mod killed;
mod model;
mod plans;
mod refusals;
mod registers;
mod remains;
mod tampered;
mod versions;
