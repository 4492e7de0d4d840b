//! Which files a validation document was made from.

use std::path::Path;

use sha2::{Digest, Sha256};

/// The title of the section that lists them.
pub const TITLE: &str = "## Made from";

/// The digest of a file as it stands in the document.
///
/// # Errors
/// The file cannot be read.
pub fn digest(root: &Path, file: &str) -> Result<String, String> {
    let bytes = std::fs::read(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let hash = Sha256::digest(&bytes);
    Ok(hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// The section that lists files with their digests.
///
/// # Errors
/// A file cannot be read.
pub fn section(root: &Path, files: &[String]) -> Result<String, String> {
    let mut text = format!("{TITLE}\n\n| file | first 64 bits of its SHA-256 |\n|---|---|\n");
    for file in files {
        text.push_str(&format!("| `{file}` | `{}` |\n", digest(root, file)?));
    }
    Ok(text)
}

/// Files of a document that are no longer as they were when it was made.
///
/// # Errors
/// A document without such a section.
pub fn changed(root: &Path, document: &str) -> Result<Vec<String>, String> {
    let (_, section) = document.split_once(TITLE).ok_or_else(|| format!("it has no section `{TITLE}`"))?;
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.split('`');
        Some((cells.nth(1)?, cells.nth(1)?))
    });
    Ok(rows.filter(|(file, was)| digest(root, file).as_deref() != Ok(was)).map(|(file, _)| file.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_named() {
        let folder = std::env::temp_dir().join(format!("waykeeper-made-from-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.toml"), "abc").unwrap();
        std::fs::write(folder.join("b.toml"), "b").unwrap();
        // The well-known SHA-256 of "abc" begins with ba7816bf8f01cfea.
        assert_eq!(digest(&folder, "a.toml").unwrap(), "ba7816bf8f01cfea");
        let document = section(&folder, &["a.toml".into(), "b.toml".into()]).unwrap();
        assert!(changed(&folder, &document).unwrap().is_empty());
        std::fs::write(folder.join("b.toml"), "c").unwrap();
        assert_eq!(changed(&folder, &document).unwrap(), ["b.toml"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
