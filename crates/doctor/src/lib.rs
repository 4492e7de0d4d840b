//! The doctor: what keeps a machine from answering in time, found in its files, with what helps against it.
//!
//! Nothing is changed. [`examine`] runs every [`Check`] on a [`View`] of a machine, which may be a recorded tree. A check
//! ends in one of three ways: something was found, nothing was, or it could not be seen; the last is never taken for fine.
//! [`advise`] names the kernel parameters that a machine lacks for its real-time cores.

mod check;
mod checks;
mod command_line;
mod cores;
mod finding;
mod interface;
pub mod parameters;
mod register;
mod smi;
mod text;
mod view;

pub use check::Check;
pub use checks::{CHECKS, INTERFACE_CHECKS};
pub use command_line::{BootParameter, CommandLine};
pub use finding::{Examination, Finding, Fix, Outcome, Seen, Severity, schema};
pub use interface::{DriverSettings, Interface, NoInterface};
pub use parameters::advice::{Advice, Parameter, advise};
pub use smi::{Smis, count_smis};
pub use text::{advice_text, text};
pub use view::{BadCores, ChosenBy, View};

/// Runs every check; those of an interface where one was named.
pub fn examine(view: &View) -> Examination {
    let of_interface = view.interface.iter().flat_map(|_| &INTERFACE_CHECKS);
    let findings = CHECKS.iter().chain(of_interface).map(|check| check.run(view)).collect();
    Examination::new(view, findings)
}
