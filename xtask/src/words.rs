//! The documentation and `--help` keep to the field's words: `xtask/words.txt` lists what they avoid.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::files_below;
use crate::step::root;

const LIST: &str = "xtask/words.txt";
/// Beside the pages of `docs`.
const FILES: [&str; 6] =
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "crates/cli/src/arguments.rs", "python/README.md"];
/// Written by `cargo xtask validate`, with the words of publications in it.
const WRITTEN_BY_PROGRAM: &str = "validation.md";

/// Checks all pages, and prints how many words are to be replaced.
///
/// # Errors
/// Each of them, with file, line and advice.
pub fn check() -> Result<(), String> {
    println!("== words");
    let root = Path::new(root());
    let list = read(&root.join(LIST))?;
    let avoided = list_of(&list).map_err(|why| format!("{LIST}: {why}"))?;
    let mut files: Vec<PathBuf> = FILES.iter().map(|file| root.join(file)).collect();
    let pages = files_below(&root.join("docs"), "md")?;
    files.extend(pages.into_iter().filter(|page| !page.ends_with(WRITTEN_BY_PROGRAM)));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = read(&file)?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display();
        found.extend(hits(&text, &avoided).into_iter().map(|(line, said)| format!("{shown}:{line}: {said}")));
    }
    println!("words to be replaced: {}", found.len());
    match found.as_slice() {
        [] => Ok(()),
        found => Err(format!("words:\n{}", found.join("\n"))),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A word or phrase, and what to write instead.
type Avoided = (Vec<String>, String);

fn list_of(text: &str) -> Result<Vec<Avoided>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let avoided = |(line, number): (&str, usize)| {
        let (phrase, advice) =
            line.split_once(" = ").ok_or_else(|| format!("line {number}: found no ` = ` between phrase and advice"))?;
        let words = phrase.split_whitespace().map(str::to_lowercase).collect();
        Ok((words, advice.to_owned()))
    };
    lines.map(avoided).collect()
}

/// Where a text has one of them: the line, and what it says there. A phrase may go over the end of a line.
fn hits(text: &str, avoided: &[Avoided]) -> Vec<(usize, String)> {
    let words = words(text);
    let mut found = Vec::new();
    for (at, (line, _)) in words.iter().enumerate() {
        let here = |phrase: &[String]| words[at..].iter().map(|(_, word)| word).take(phrase.len()).eq(phrase);
        for (phrase, advice) in avoided.iter().filter(|(phrase, _)| here(phrase)) {
            found.push((*line, format!("found \"{}\"; write {advice}", phrase.join(" "))));
        }
    }
    found
}

/// Words in small letters with their lines, apart from what stands between backquotes.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut is_code = false;
    for (line, number) in text.lines().zip(1..) {
        for part in line.split_inclusive('`') {
            if !is_code {
                let separate = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
                let all = part.split(separate).filter(|word| !word.is_empty());
                words.extend(all.map(|word| (number, word.to_lowercase())));
            }
            is_code ^= part.ends_with('`');
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let avoided = list_of("# comment\n\ntold = \"reported\"\nto be had = \"available\"\n").unwrap();
        hits(text, &avoided).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_phrase_is_found_over_the_end_of_a_line_and_in_any_case() {
        assert_eq!(found("One.\nTold so, not to be\nhad here."), [2, 2]);
        assert_eq!(found("not to be held, had, or told"), [1]);
    }

    #[test]
    fn names_and_code_are_not_words() {
        assert_eq!(found("`told` and told_apart and un-told\n```\ntold\n```\n"), [0; 0]);
        assert_eq!(found("`a` told `b`"), [1]);
    }

    #[test]
    fn a_line_without_advice_is_named() {
        assert_eq!(list_of("# a\ntold\n").unwrap_err(), "line 2: found no ` = ` between phrase and advice");
    }
}
