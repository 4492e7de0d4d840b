//! One thing that is looked at.

use crate::finding::{Finding, Fix, Outcome, Seen, Severity};
use crate::view::View;

/// One thing that is looked at: a file of `checks` each.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name, which does not change between releases.
    pub id: &'static str,
    /// What is looked at.
    pub subject: &'static str,
    /// Why it matters for latency.
    pub why: &'static str,
    /// Where that is written down.
    pub source: &'static str,
    pub(crate) look: fn(&View) -> Result<Looked, NotSeen>,
}

/// What a check saw.
#[derive(Debug)]
pub(crate) enum Looked {
    /// Nothing is wrong; what shows it.
    Fine(String, Vec<Seen>),
    /// Something is.
    Found(Found),
}

/// Something that is wrong.
#[derive(Debug)]
pub(crate) struct Found {
    pub severity: Severity,
    /// A sentence with the value that was found.
    pub what: String,
    pub seen: Vec<Seen>,
    pub fixes: Vec<Fix>,
}

/// Why something could not be seen, as half a sentence.
#[derive(Debug)]
pub(crate) struct NotSeen(pub String);

/// That nothing is wrong.
pub(crate) fn fine(what: impl Into<String>, seen: Vec<Seen>) -> Result<Looked, NotSeen> {
    Ok(Looked::Fine(what.into(), seen))
}

/// That something is wrong.
pub(crate) fn found(
    severity: Severity,
    what: impl Into<String>,
    seen: Vec<Seen>,
    fixes: Vec<Fix>,
) -> Result<Looked, NotSeen> {
    Ok(Looked::Found(Found { severity, what: what.into(), seen, fixes }))
}

/// That it is unknown.
pub(crate) fn not_seen(why: impl Into<String>) -> Result<Looked, NotSeen> {
    Err(NotSeen(why.into()))
}

impl Check {
    /// Looks at a machine.
    pub fn run(&self, view: &View) -> Finding {
        let (outcome, severity, what, seen, fixes) = match (self.look)(view) {
            Ok(Looked::Found(found)) => (Outcome::Found, Some(found.severity), found.what, found.seen, found.fixes),
            Ok(Looked::Fine(what, seen)) => (Outcome::Fine, None, what, seen, Vec::new()),
            Err(NotSeen(why)) => (Outcome::NotSeen, None, why, Vec::new(), Vec::new()),
        };
        Finding {
            id: self.id.into(),
            subject: self.subject.into(),
            outcome,
            severity,
            what,
            seen,
            why: self.why.into(),
            fixes,
            source: self.source.into(),
        }
    }
}
