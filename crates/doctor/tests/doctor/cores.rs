//! Which cores are to answer in time.

use waykeeper_doctor::{ChosenBy, View};

use crate::tree::Tree;

fn chosen(tree: &Tree, asked: Option<&str>) -> Result<(Vec<u32>, ChosenBy), String> {
    let view = View::new(tree.root(), asked).map_err(|bad| bad.0)?;
    Ok((view.rt_cores, view.chosen_by))
}

#[test]
fn the_users_then_the_isolated_then_the_last() {
    let mut tree = Tree::tuned();
    assert_eq!(chosen(&tree, Some("3,2,2")), Ok((vec![2, 3], ChosenBy::User)));
    assert_eq!(chosen(&tree, None), Ok((vec![4, 5], ChosenBy::Isolated)));
    tree.put("/sys/devices/system/cpu/isolated", "");
    assert_eq!(chosen(&tree, None), Ok((vec![7], ChosenBy::Default)));
    // Isolated, but offline.
    tree.put("/sys/devices/system/cpu/isolated", "8");
    assert_eq!(chosen(&tree, None), Ok((vec![7], ChosenBy::Default)));
}

#[test]
fn cores_that_cannot_be_are_refused_with_what_could() {
    let mut tree = Tree::tuned();
    for (asked, words) in
        [("8", "core 8 is not online"), ("x", "not a list"), ("", "not a list"), ("3-1", "not a list")]
    {
        let why = chosen(&tree, Some(asked)).unwrap_err();
        assert!(why.contains(words) && why.contains("0-7"), "{why}");
    }
    tree.without("/sys/devices/system/cpu/online");
    assert!(chosen(&tree, None).unwrap_err().contains("cpu/online was not recorded"));
}
