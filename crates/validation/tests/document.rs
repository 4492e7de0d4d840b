//! The document in the repository was made from the files that are in it.

use std::path::Path;

use waykeeper_validation::made_from::changed;
use waykeeper_validation::plan::Plan;

#[test]
fn the_document_belongs_to_these_experiments_and_platforms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    let plan: Plan = toml::from_str(&read("validation.toml")).unwrap();
    let changed = changed(&root, &plan, &read("docs/validation.md")).unwrap();
    assert!(changed.is_empty(), "run `cargo xtask validate --only TITLE` for: {changed:#?}");
}
