//! The tables of `docs/architecture.md` beside the code: which crate depends on which, and which folder of the simulator
//! uses which.
//!
//! Arrows point downwards: a row may use the rows below it. Uses that run upwards inside the simulator are counted and held
//! to [`ALLOWED`], which may only shrink. What is counted are paths in the code (`use` and others, in macros and tests too),
//! not links in comments, and calls of [`methods`] that a higher folder adds to a type of a lower one.
//!
//! And no two crates declare a public type of the same name, see [`names`].

mod methods;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use self::methods::File;
use crate::step::root;

/// Uses between folders of the simulator that run upwards: from, to, how many. A smaller number is an error too, so that
/// nothing grows back unseen.
const ALLOWED: [(&str, &str, usize); 0] = [];

/// Heads of the two tables in `docs/architecture.md`.
const CRATES: &str = "| crate |";
const FOLDERS: &str = "| folder |";

/// Checks both tables, and prints how many uses run upwards.
///
/// # Errors
/// All that disagrees, a line each: where it is, what was found, what would do.
pub fn check() -> Result<(), String> {
    println!("== architecture");
    let page = read(&Path::new(root()).join("docs/architecture.md"))?;
    let mut wrong = crates_disagree(&table(&page, CRATES), &manifests()?);
    let source = Path::new(root()).join("crates/simulator/src");
    let order: Vec<String> = table(&page, FOLDERS).into_iter().map(|row| row.0).collect();
    wrong.extend(folders_disagree(&order, &folders(&source)?));
    let files = files_of(&source)?;
    let uses = uses_of(&files);
    wrong.extend(uses.iter().filter(|one| is_unknown(&order, one)).map(|one| {
        let Use { file, path, .. } = one;
        format!(
            "{file}: `crate::{path}` is neither a folder nor a module of the root; name it by the file that it is in"
        )
    }));
    let calls = methods::upward_calls(&order, &files);
    let upwards: Vec<&Use> = uses.iter().filter(|one| runs_upwards(&order, one)).chain(&calls).collect();
    println!("uses between folders of the simulator that run upwards: {}", upwards.len());
    wrong.extend(more_or_fewer(&upwards, &ALLOWED));
    let list = read(&Path::new(root()).join(names::LIST))?;
    println!(
        "type names that more than one crate declares: {}",
        list.lines().filter(|line| !line.starts_with('#')).count()
    );
    wrong.extend(names::shared(&names::declared(&Path::new(root()).join("crates"))?, &list));
    match wrong.as_slice() {
        [] => Ok(()),
        wrong => Err(format!("architecture:\n{}", wrong.join("\n"))),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The rows of the Markdown table under this head: the name in the first column, the text of the last one.
fn table(page: &str, head: &str) -> Vec<(String, String)> {
    let rows = page.lines().skip_while(|line| !line.starts_with(head)).skip(2).take_while(|line| line.starts_with('|'));
    let cells =
        |row: &str| -> Vec<String> { row.trim_matches('|').split('|').map(|cell| cell.trim().into()).collect() };
    rows.map(cells)
        .filter_map(|cells| Some((cells.first()?.trim_matches('`').to_owned(), cells.last()?.clone())))
        .collect()
}

/// What each crate of the workspace depends on, among those of the workspace and apart from tests.
fn manifests() -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut all = BTreeMap::new();
    for folder in entries(&Path::new(root()).join("crates"))?.into_iter().filter(|path| path.is_dir()) {
        all.insert(name_of(&folder), dependencies(&read(&folder.join("Cargo.toml"))?));
    }
    Ok(all)
}

/// The crates of the workspace in the sections `dependencies` of a manifest, those of one target included.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut counts = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section == "dependencies" || section.ends_with(".dependencies");
        } else if let Some(name) = line.strip_prefix("waykeeper-").filter(|_| counts) {
            found.insert(name.split(['.', ' ', '=']).next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// What the table of crates and the manifests say differently.
fn crates_disagree(table: &[(String, String)], manifests: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    let place = |name: &str| table.iter().position(|(listed, _)| listed == name);
    for (name, known) in manifests {
        let Some(at) = place(name) else {
            wrong.push(format!("docs/architecture.md: no row for the crate `{name}`; the table of crates lists all"));
            continue;
        };
        for known in known.iter().filter(|known| place(known).is_some_and(|below| below <= at)) {
            wrong.push(format!("crates/{name}/Cargo.toml: it knows `{known}`, whose row is not below its own"));
        }
        let listed: BTreeSet<String> =
            table[at].1.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
        if listed.iter().ne(known) && !listed.contains("all") {
            let [listed, known] =
                [&listed, known].map(|names| names.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
            wrong.push(format!(
                "docs/architecture.md: `{name}` knows `{listed}`; crates/{name}/Cargo.toml says `{known}`"
            ));
        }
    }
    for (name, _) in table.iter().filter(|(name, _)| !manifests.contains_key(name)) {
        wrong.push(format!("docs/architecture.md: a row for `{name}`, which is no folder under crates/"));
    }
    wrong
}

/// What the table of folders and the folders say differently.
fn folders_disagree(listed: &[String], there: &BTreeSet<String>) -> Vec<String> {
    let row = |folder: &String| format!("docs/architecture.md: no row for crates/simulator/src/{folder}");
    let missing = there.iter().filter(|folder| !listed.contains(folder)).map(row);
    let gone = |folder: &String| format!("docs/architecture.md: crates/simulator/src/{folder} is not there");
    missing.chain(listed.iter().filter(|folder| !there.contains(*folder)).map(gone)).collect()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error| format!("{}: {error}", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        all.push(entry.map_err(wrong)?.path());
    }
    all.sort();
    Ok(all)
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn folders(source: &Path) -> Result<BTreeSet<String>, String> {
    Ok(entries(source)?.iter().filter(|path| path.is_dir()).map(|path| name_of(path)).collect())
}

/// A path in the code that leaves its folder.
#[derive(Debug, PartialEq, Eq)]
struct Use {
    /// The file, from the source folder on.
    file: String,
    /// The folder of the file; the name of the file where it lies in no folder.
    from: String,
    /// The path, from the crate's root on.
    path: String,
}

impl Use {
    fn to(&self) -> &str {
        self.path.split("::").next().unwrap_or_default()
    }
}

/// The height of a folder, 0 for what all may use: the modules of the root.
fn height(order: &[String], folder: &str) -> usize {
    order.iter().rev().position(|listed| listed == folder).map_or(0, |from_below| from_below + 1)
}

fn runs_upwards(order: &[String], one: &Use) -> bool {
    height(order, one.to()) > height(order, &one.from)
}

/// Whether a path names an item of the root: those are for other crates, and hide where the item is.
fn is_unknown(order: &[String], one: &Use) -> bool {
    let to = one.to();
    height(order, to) == 0 && !Path::new(root()).join(format!("crates/simulator/src/{to}.rs")).exists()
}

/// The module that a file is, from the source folder on.
fn module_of(file: &str) -> Vec<String> {
    let mut module: Vec<String> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    module.pop_if(|last| last == "mod");
    module
}

/// All files. The root's own file is left out: it names what other crates use.
fn files_of(source: &Path) -> Result<Vec<File>, String> {
    let mut found = Vec::new();
    let mut ahead = entries(source)?;
    while let Some(path) = ahead.pop() {
        if path.is_dir() {
            ahead.extend(entries(&path)?);
            continue;
        }
        let name = path.strip_prefix(source).unwrap_or(&path).display().to_string();
        if !name.ends_with(".rs") || name == "lib.rs" {
            continue;
        }
        let code = read(&path)?.parse().map_err(|error| format!("{}: {error}", path.display()))?;
        found.push(File { folder: module_of(&name)[0].clone(), name, code });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The paths of all files that leave their folders.
fn uses_of(files: &[File]) -> Vec<Use> {
    let mut found = Vec::new();
    for File { folder, name, code } in files {
        let mut paths = Vec::new();
        collect(code.clone(), &module_of(name), &mut paths);
        let leaves = paths.into_iter().filter(|path| path.split("::").next() != Some(folder));
        found.extend(leaves.map(|path| Use { file: name.clone(), from: folder.clone(), path }));
    }
    found
}

/// Adds the paths that begin with `crate`, or with a `super` that is the root, in the code of a module.
fn collect(tokens: TokenStream, module: &[String], paths: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "mod" => {
                if let [_, TokenTree::Ident(name), TokenTree::Group(body), ..] = &tokens[at..] {
                    collect(body.stream(), &[module, &[name.to_string()]].concat(), paths);
                    at += 2;
                }
            }
            TokenTree::Ident(word) if word == "crate" => {
                follow(&tokens[at + 1..], String::new(), paths);
            }
            TokenTree::Ident(word) if word == "super" && !follows_path(&tokens[..at]) => {
                let mut above = module.len().saturating_sub(1);
                while let [TokenTree::Punct(_), TokenTree::Punct(_), TokenTree::Ident(next), ..] = &tokens[at + 1..]
                    && next == "super"
                {
                    above = above.saturating_sub(1);
                    at += 3;
                }
                follow(&tokens[at + 1..], module[..above].join("::"), paths);
            }
            TokenTree::Group(group) => collect(group.stream(), module, paths),
            _ => {}
        }
        at += 1;
    }
}

fn follows_path(before: &[TokenTree]) -> bool {
    matches!(before, [.., TokenTree::Punct(colon), TokenTree::Punct(_)] if colon.as_char() == ':')
}

/// Follows a path through `::`, and into braces; adds it, or each that the braces hold.
fn follow(tokens: &[TokenTree], so_far: String, paths: &mut Vec<String>) {
    match tokens {
        [TokenTree::Punct(colon), TokenTree::Punct(_), TokenTree::Ident(name), rest @ ..] if colon.as_char() == ':' => {
            let path = if so_far.is_empty() { name.to_string() } else { format!("{so_far}::{name}") };
            follow(rest, path, paths);
        }
        [TokenTree::Punct(colon), TokenTree::Punct(_), TokenTree::Group(group), ..]
            if colon.as_char() == ':' && group.delimiter() == Delimiter::Brace =>
        {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',');
            for item in inside.split(is_comma).filter(|item| !item.is_empty()) {
                // The item goes on as if it stood behind `::` itself.
                let behind: TokenStream = "::".parse().unwrap_or_default();
                let item: Vec<TokenTree> = behind.into_iter().chain(item.iter().cloned()).collect();
                follow(&item, so_far.clone(), paths);
            }
        }
        _ if so_far.is_empty() => {}
        _ => paths.push(so_far),
    }
}

/// Where the uses that run upwards are not those that are allowed.
fn more_or_fewer(upwards: &[&Use], allowed: &[(&str, &str, usize)]) -> Vec<String> {
    let mut by_arrow: BTreeMap<(&str, &str), Vec<&Use>> = BTreeMap::new();
    for (from, to, _) in allowed {
        by_arrow.entry((from, to)).or_default();
    }
    for one in upwards {
        by_arrow.entry((&one.from, one.to())).or_default().push(one);
    }
    let mut wrong = Vec::new();
    for ((from, to), uses) in by_arrow {
        let allowed = allowed.iter().find(|(f, t, _)| (*f, *t) == (from, to)).map_or(0, |(.., count)| *count);
        if uses.len() < allowed {
            let left = uses.len();
            wrong.push(format!("`{from}` uses `{to}` {left} times, {allowed} are allowed: lower ALLOWED to {left}"));
        } else if uses.len() > allowed {
            let mut text =
                format!("`{from}` uses `{to}`, which is above it, {} times; {allowed} are allowed:", uses.len());
            uses.iter().for_each(|one| _ = write!(text, "\n    {}: crate::{}", one.file, one.path));
            wrong.push(text);
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths_in(code: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        let mut paths = Vec::new();
        collect(code.parse().unwrap(), &module, &mut paths);
        paths
    }

    fn order() -> Vec<String> {
        ["engine", "core", "caches"].map(String::from).to_vec()
    }

    #[test]
    fn the_tables_are_true() {
        check().unwrap();
    }

    #[test]
    fn paths_are_found_in_uses_code_and_macros_and_not_in_comments() {
        let code = "//! [`crate::a::Doc`]\nuse crate::{b::{C, d::E}, f};\n\
                    fn g(h: &crate::i::J) { println!(\"{}\", crate::k::L); } pub(crate) struct M; // crate::n::O";
        assert_eq!(paths_in(code, &["x"]), ["b::C", "b::d::E", "f", "i::J", "k::L"]);
    }

    #[test]
    fn super_is_counted_from_the_module_that_it_stands_in() {
        let code = "use super::super::y::Z; mod tests { use super::super::w; use super::*; }";
        // In `a::b`, two up is the root; in its `tests`, it is `a`.
        assert_eq!(paths_in(code, &["a", "b"]), ["y::Z", "a::w", "a::b"]);
    }

    #[test]
    fn a_use_runs_upwards_if_its_row_is_higher() {
        let one = |from: &str, path: &str| Use { file: "f.rs".into(), from: from.into(), path: path.into() };
        let runs = |from, path| runs_upwards(&order(), &one(from, path));
        assert_eq!([runs("caches", "core::X"), runs("core", "engine::X")], [true, true]);
        assert_eq!([runs("engine", "caches::X"), runs("core", "line::Line")], [false, false]);
        // What lies beneath all folders uses none of them.
        assert!(runs("line", "caches::X"));
    }

    #[test]
    fn more_uses_and_fewer_are_both_wrong() {
        let one = Use { file: "core/a.rs".into(), from: "core".into(), path: "engine::B".into() };
        assert!(more_or_fewer(&[&one], &[("core", "engine", 1)]).is_empty());
        let more = more_or_fewer(&[&one, &one], &[("core", "engine", 1)]);
        assert!(more.len() == 1 && more[0].contains("core/a.rs: crate::engine::B"), "{more:?}");
        let fewer = more_or_fewer(&[], &[("core", "engine", 1)]);
        assert!(fewer.len() == 1 && fewer[0].contains("lower ALLOWED to 0"), "{fewer:?}");
    }

    #[test]
    fn a_table_that_disagrees_with_a_manifest_is_wrong() {
        let page = "| crate | is | knows |\n|---|---|---|\n| `a` | top | b |\n| `b` | below | |\n\ntext";
        let table = table(page, CRATES);
        let manifests =
            |a: &str, b: &str| BTreeMap::from([("a".to_owned(), dependencies(a)), ("b".to_owned(), dependencies(b))]);
        let knows_b =
            "[dependencies]\nwaykeeper-b.workspace = true\n[dev-dependencies]\nwaykeeper-c = { path = \"c\" }";
        assert!(crates_disagree(&table, &manifests(knows_b, "")).is_empty());
        let missing = crates_disagree(&table, &manifests("", ""));
        assert!(missing.len() == 1 && missing[0].contains("`a` knows `b`"), "{missing:?}");
        // Upwards, and not in the table.
        let upwards = crates_disagree(&table, &manifests(knows_b, "[dependencies]\nwaykeeper-a.workspace = true"));
        assert_eq!(upwards.len(), 2, "{upwards:?}");
    }
}
