//! A process of its own: what is filled in is what is found, and nothing of the repository.

use waykeeper_shelf::{Bundled, Folder, files, fill, find};

#[test]
fn a_filled_shelf_has_what_was_put_in_and_nothing_else() {
    let two = [Bundled { name: "b", text: "2" }, Bundled { name: "a", text: "1" }];
    fill(|folder| if folder == Folder::Policies { two.to_vec() } else { Vec::new() });
    assert_eq!(files(Folder::Policies), [two[1], two[0]]);
    assert_eq!(find(Folder::Policies, "b"), Some(two[0]));
    assert_eq!((find(Folder::Policies, "c"), find(Folder::Platforms, "b")), (None, None));
    assert!(files(Folder::Platforms).is_empty());
    // It was looked at: it stays.
    fill(|_| Vec::new());
    assert_eq!(files(Folder::Policies).len(), 2);
}
