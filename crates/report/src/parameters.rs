//! The parameters of a simulated platform, as a run kept them.

use waykeeper_run::Run;

use crate::text::paragraph;

/// Every parameter with its value, what it is, and what it rests on.
pub fn parameters(run: &Run) -> String {
    let Some(parameters) = &run.parameters else {
        return "This run was measured on a machine; only simulated platforms have parameters.\n".into();
    };
    let mut text = String::new();
    for parameter in &parameters.list {
        let entry = format!("{} = {} ({}) {}", parameter.key, parameter.value, parameter.is, parameter.note);
        text += &paragraph(entry.trim_end(), "    ");
        text.push('\n');
    }
    text
}
