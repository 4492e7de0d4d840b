//! One meaning for each type name: no two crates declare a public type of the same name, but for those of a list that may
//! only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::files_below;

use super::{entries, name_of, read};

/// The list, from the root on: a name and the crates that declare it, a line each.
pub const LIST: &str = "xtask/shared-names.txt";

/// Words before the name of a type.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];

/// The crates that declare each name, each with the place of the first declaration.
pub type Names = BTreeMap<String, BTreeMap<String, String>>;

/// The program: what its library declares, its own `main` sees, and nobody else.
const PROGRAM: &str = "cli";

/// The public types of all crates that have a library. Those of programs are seen by nobody else.
///
/// # Errors
/// Files that cannot be read.
pub fn declared(crates: &Path) -> Result<Names, String> {
    let mut names = Names::new();
    for folder in entries(crates)?.into_iter().filter(|folder| is_library(folder)) {
        let source = folder.join("src");
        for file in files_below(&source, "rs")?.into_iter().filter(|file| !is_of_tests(file, &source)) {
            let shown = file.strip_prefix(crates).unwrap_or(&file).display();
            for (line, name) in types(&read(&file)?) {
                let place = || format!("crates/{shown}:{line}");
                names.entry(name).or_default().entry(name_of(&folder)).or_insert_with(place);
            }
        }
    }
    Ok(names)
}

fn is_library(folder: &Path) -> bool {
    folder.join("src/lib.rs").exists() && name_of(folder) != PROGRAM
}

/// Whether a file is one of tests, or lies in a folder of tests below a source folder.
fn is_of_tests(file: &Path, source: &Path) -> bool {
    let below = file.strip_prefix(source).unwrap_or(file);
    below.iter().any(|part| name_of(Path::new(part)) == "tests")
}

/// The public types that a file declares outside its inline modules: line and name.
fn types(text: &str) -> Vec<(usize, String)> {
    let name = |line: &str| {
        let (kind, rest) = line.strip_prefix("pub ")?.split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        KINDS.contains(&kind).then(|| name.to_owned())
    };
    text.lines().zip(1..).filter_map(|(line, number)| Some((number, name(line)?))).collect()
}

/// Names with more than one meaning that are not on the list, and lines of the list that no longer hold.
pub fn shared(names: &Names, list: &str) -> Vec<String> {
    let listed: BTreeMap<&str, BTreeSet<&str>> = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, crates)| (name, crates.split_whitespace().collect()))
        .collect();
    let mut wrong = Vec::new();
    for (name, places) in names.iter().filter(|(_, places)| places.len() > 1) {
        let allowed = |of: &str| listed.get(name.as_str()).is_some_and(|crates| crates.contains(of));
        if let Some((_, place)) = places.iter().find(|(of, _)| !allowed(of)) {
            let others: Vec<&str> = places.values().filter(|other| *other != place).map(String::as_str).collect();
            let others = others.join(", ");
            wrong
                .push(format!("{place}: `{name}` is a public type of other crates too ({others}); rename one of them"));
        }
    }
    for (name, crates) in listed {
        let places = names.get(name);
        let gone = |of: &&str| places.is_none_or(|places| places.len() < 2 || !places.contains_key(*of));
        if let Some(gone) = crates.into_iter().find(gone) {
            wrong.push(format!("{LIST}: `{name}` of `{gone}` is shared no longer; remove it from the list"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[(&str, &[&str])]) -> Names {
        let places = |crates: &&[&str]| crates.iter().map(|one| ((*one).to_owned(), format!("{one}.rs:1"))).collect();
        of.iter().map(|(name, crates)| ((*name).to_owned(), places(crates))).collect()
    }

    #[test]
    fn types_are_found_by_their_declarations() {
        let text = "/// A.\npub struct A<T>(T);\npub(crate) struct B;\npub enum C {\n}\nmod tests {\n    pub struct D;\n}\n\
                    pub fn e() {}\npub type F = u8;\npub use g::H;\n";
        assert_eq!(types(text), [(2, "A".to_owned()), (4, "C".to_owned()), (10, "F".to_owned())]);
    }

    #[test]
    fn a_name_of_two_crates_is_wrong_unless_it_is_listed() {
        let names = names(&[("One", &["a"]), ("Two", &["a", "b"])]);
        assert!(shared(&names, "# Names\nTwo a b\n").is_empty());
        let wrong = shared(&names, "Two a\n");
        assert!(wrong.len() == 1 && wrong[0].starts_with("b.rs:1: `Two`"), "{wrong:?}");
    }

    #[test]
    fn the_list_only_shrinks() {
        let names = names(&[("One", &["a"]), ("Two", &["a", "b"])]);
        let wrong = shared(&names, "One a b\nTwo a b c\nGone a b\n");
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
