//! Acceptance tests of a real-time machine, after Intel's guide to Time Coordinated Compute: how late threads wake up, and how long
//! a control loop between packets takes, beside best-effort load, under several settings.
//!
//! A [`KpiSession`] is a folder. Each measurement (wake-ups, and each cycle of packets) is an ordinary run in it, with the
//! policies as mitigations, so that they are interleaved, resumed and reported as any run is. Settings of firmware need a
//! reboot: each boot adds runs, and says which other settings changed with it.

mod experiment;
mod figures;
mod guide;
mod preface;
mod record;
mod report;
mod rows;
mod session;
mod settings;
mod text;

pub use guide::GuideRow;
pub use preface::preface;
pub use record::{BootRecord, DoctorFinding, KpiRecord, MeasuredRun, SCHEMA};
pub use report::{KpiReport, schema};
pub use rows::{KpiRow, KpiVerdict, Outlier};
pub use session::{KpiError, KpiSession, NextStep, RECORD_FILE, is_kept_record};
pub use settings::{Cycle, KpiSettings, Measurand, PacketSettings};
pub use text::{before, text};
