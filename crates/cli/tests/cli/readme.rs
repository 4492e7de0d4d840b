//! What the README shows.

use crate::program::{Desk, repository};

const PICTURE: &str = "docs/pictures/agilex5-cluster-latency.svg";

#[test]
fn its_picture_is_what_its_command_draws() {
    let desk = Desk::new();
    let command = ["run", "agilex5-cluster-latency", "--duration=20ms", "--repeats=5", "--out=run"];
    desk.run(&command).with(0);
    desk.run(&["report", "run", "--svg=pictures"]).with(0);
    let drawn = std::fs::read_to_string(desk.path().join("pictures/exceedance.svg")).unwrap();
    let shown = std::fs::read_to_string(repository().join(PICTURE)).unwrap();
    assert!(drawn == shown, "{PICTURE} is of other figures: draw it anew with {command:?} and `report run --svg`");
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.contains(PICTURE) && readme.contains("run agilex5-cluster-latency --duration 20ms --repeats 5"));
}
