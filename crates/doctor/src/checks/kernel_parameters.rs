//! Parameters that the kernel does not know.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::parameters::unknown::ineffective_words;
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "kernel-parameters",
    subject: "kernel parameters that do nothing",
    why: "The kernel passes what it does not know on to init silently: what the parameter was to prevent still happens.",
    source: "TCC user guide 3.4, 3.8 and chapter 4, each parameter looked up in the images of 6.1, 6.12, 6.18 and 7.3",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let words = view.words()?;
    let unknown = ineffective_words(words, view.last);
    if unknown.is_empty() {
        let seen = vec![Seen::new("/proc/cmdline", format!("{} parameters", words.words.len()))];
        return fine("none that is known to do nothing", seen);
    }
    let seen =
        unknown.iter().map(|(word, row)| Seen::new("/proc/cmdline", format!("{word}: {}", row.status))).collect();
    let fixes = unknown.iter().map(|(word, row)| match &row.instead {
        Some(instead) => Fix::Parameter(format!("{instead}   (in the place of {word})")),
        None => Fix::Other(format!("take {word} out")),
    });
    let list: Vec<String> = unknown.iter().map(|(word, _)| format!("`{word}`")).collect();
    let verb = if list.len() == 1 { "has" } else { "have" };
    let what = format!("{} {verb} no effect, or not the one that was meant.", list.join(", "));
    found(Severity::Warning, what, seen, fixes.collect())
}
