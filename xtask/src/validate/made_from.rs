//! What each chapter of the validation document was made from.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::plan::Part;

const FIRST: &str = "Made at commit ";

/// The plan, as a file of the repository.
pub const PLAN: &str = "validation.toml";

/// The last line of a chapter: the commit, and the files with the first 64 bits of their SHA-256. Of the plan only the
/// chapter's own part counts, and of a platform what the simulator reads.
///
/// # Errors
/// A file cannot be read.
pub fn line(root: &Path, part: &Part, commit: &str) -> Result<String, String> {
    let mut entries = Vec::new();
    for file in [format!("experiments/{}.toml", part.name), format!("{PLATFORMS}{}.toml", part.platform)] {
        entries.push(format!("`{file}` (`{}`)", digest_of_file(root, &file)?));
    }
    entries.push(format!("its part of `{PLAN}` (`{}`)", digest_of_part(part)?));
    Ok(format!("{FIRST}`{commit}` from {}.\n", entries.join(", ")))
}

const PLATFORMS: &str = "platforms/";

/// Keys of a platform that no simulated figure depends on: words, and what only real machines use.
const NOT_SIMULATED: [&str; 15] = [
    "cpuid",
    "monitoring",
    "code_data_masks",
    "title",
    "sources",
    "source",
    "reason",
    "way_control",
    "architecture",
    "mpidr_shift",
    "performance_per_100_mhz",
    "priority_levels",
    "registers_at",
    "disable_bit",
    "ring_step_mhz",
];

fn digest_of_file(root: &Path, file: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    if !file.starts_with(PLATFORMS) {
        return Ok(digest(text.as_bytes()));
    }
    let mut platform: toml::Value = toml::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    leave_out(&mut platform);
    Ok(digest(platform.to_string().as_bytes()))
}

fn leave_out(value: &mut toml::Value) {
    match value {
        toml::Value::Table(table) => {
            table.retain(|key, _| !NOT_SIMULATED.contains(&key));
            table.iter_mut().for_each(|(_, inner)| leave_out(inner));
        }
        toml::Value::Array(array) => array.iter_mut().for_each(leave_out),
        _ => {}
    }
}

fn digest_of_part(part: &Part) -> Result<String, String> {
    serde_json::to_vec(part).map(|bytes| digest(&bytes)).map_err(|error| format!("{PLAN}: {error}"))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What is no longer as it was when the document was made: `TITLE: FILE`, and chapters of the plan that it lacks.
///
/// # Errors
/// A chapter that does not say what it was made from, or a file that cannot be read.
#[cfg(test)]
pub fn changed(root: &Path, plan: &super::plan::Plan, document: &str) -> Result<Vec<String>, String> {
    let mut changed = Vec::new();
    for part in &plan.experiments {
        let title = part.title();
        let Some(text) = chapters(document).find(|(of, _)| *of == title).map(|(_, text)| text) else {
            changed.push(format!("{title}: there is no chapter"));
            continue;
        };
        let made = text.lines().rfind(|line| line.starts_with(FIRST));
        let made = made.ok_or_else(|| format!("{title}: there is no line `{FIRST}...`"))?;
        // The odd pieces between backticks: the commit, then files and digests in turns.
        let pieces: Vec<_> = made.split('`').skip(1).step_by(2).skip(1).collect();
        for pair in pieces.chunks_exact(2) {
            let now = if pair[0] == PLAN { digest_of_part(part)? } else { digest_of_file(root, pair[0])? };
            if now != pair[1] {
                changed.push(format!("{title}: {}", pair[0]));
            }
        }
    }
    Ok(changed)
}

/// The chapters of a document: title and text, the title's line included.
pub fn chapters(document: &str) -> impl Iterator<Item = (&str, &str)> {
    const HEAD: &str = "\n## ";
    let starts: Vec<_> = document.match_indices(HEAD).map(|(at, _)| at + 1).collect();
    let ends: Vec<_> = starts.iter().skip(1).copied().chain([document.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| {
        let text = &document[start..end];
        (text.lines().next().unwrap_or_default().trim_start_matches("## "), text)
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::Plan;
    use super::*;

    const PLAN_TEXT: &str = "
        members = 0
        accept_within = 2.0
        seed = 1
        [[experiment]]
        name = \"a\"
        platform = \"p\"
        base = {}
        member = {}
    ";

    #[test]
    fn what_has_changed_is_named() {
        let folder = std::env::temp_dir().join(format!("waykeeper-made-from-{}", std::process::id()));
        let platform = |value: u32, reason: &str| format!("a = {{ value = {value}, reason = \"{reason}\" }}");
        for (file, text) in [("experiments/a.toml", "abc"), ("platforms/p.toml", &platform(1, "x"))] {
            std::fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
            std::fs::write(folder.join(file), text).unwrap();
        }
        let plan: Plan = toml::from_str(PLAN_TEXT).unwrap();
        let made = line(&folder, &plan.experiments[0], "c0ffee").unwrap();
        // The well-known SHA-256 of "abc" begins with ba7816bf8f01cfea.
        assert!(made.contains("`experiments/a.toml` (`ba7816bf8f01cfea`)"), "{made}");
        let document = format!("# V\n\n## b\n\nx\n\n## a\n\ny\n\n{made}");
        assert!(changed(&folder, &plan, &document).unwrap().is_empty());
        std::fs::write(folder.join("platforms/p.toml"), platform(1, "other words")).unwrap();
        assert!(changed(&folder, &plan, &document).unwrap().is_empty());
        std::fs::write(folder.join("platforms/p.toml"), platform(2, "x")).unwrap();
        assert_eq!(changed(&folder, &plan, &document).unwrap(), ["a: platforms/p.toml"]);
        let longer: Plan = toml::from_str(&PLAN_TEXT.replace("base = {}", "base = { repeats = 2 }")).unwrap();
        assert_eq!(changed(&folder, &longer, &document).unwrap(), ["a: platforms/p.toml", "a: validation.toml"]);
        assert_eq!(changed(&folder, &plan, "# V\n\n## b\n").unwrap(), ["a: there is no chapter"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
