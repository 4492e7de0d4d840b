//! Checks of the book and of the pages beside it: no page is left out, no link leads nowhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::files_below;
use crate::step::root;

/// The pages of the book.
fn pages(docs: &Path) -> Vec<PathBuf> {
    files_below(docs, "md").expect("the folder can be read")
}

/// The targets of a page's links to files beside it, without their anchors.
fn links(text: &str) -> Vec<String> {
    let after_brackets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = after_brackets.filter(|link| !link.contains("://") && !link.starts_with('#'));
    files.map(|link| link.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_page_is_in_the_book() {
    let docs = Path::new(root()).join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("the book has a summary");
    let listed: Vec<PathBuf> = links(&summary).iter().map(|link| docs.join(link)).collect();
    assert!(listed.len() > 10, "only {} pages are listed", listed.len());
    for page in pages(&docs).iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(listed.contains(page), "{} is not in docs/SUMMARY.md", page.display());
    }
}

#[test]
fn no_link_leads_nowhere() {
    let root = Path::new(root());
    let mut all = pages(&root.join("docs"));
    all.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    for page in all {
        let text = fs::read_to_string(&page).expect("a page can be read");
        let folder = page.parent().expect("a page lies in a folder");
        for link in links(&text) {
            assert!(folder.join(&link).exists(), "{} links to {link}, which is not there", page.display());
        }
    }
}
