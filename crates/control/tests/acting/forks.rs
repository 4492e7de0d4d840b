//! Tasks that are born while a policy is applied: they end where they would be had nothing been applied.

use std::collections::BTreeMap;

use proptest::prelude::*;
use waykeeper_resctrl::KernelRelease;

use crate::cut::{Cut, Memory};
use crate::identity::{apply, restore};
use crate::model::Model;
use crate::plans::{Kind, group, history, live, write};

/// Births and deaths, the same on both machines. A child is born in its parent's group.
fn events() -> impl Strategy<Value = Vec<(bool, i32, bool)>> {
    prop::collection::vec((prop::bool::weighted(0.8), 1_i32..6, any::<bool>()), 0..8)
}

fn happen(model: &mut Model, events: &[(bool, i32, bool)]) {
    for (number, (birth, tid, thread)) in events.iter().enumerate() {
        let new = 100 + number as i32;
        match model.tasks.get(tid).map(|task| task.process) {
            // A thread may be born of any thread; its home is that of its process.
            Some(process) if *birth && *thread && process == *tid => model.start_thread(Some(*tid), process, new),
            Some(_) if *birth => model.start(Some(*tid), new),
            // A child whose parent has ended is the root's: only tasks without children end here.
            Some(_)
                if !model
                    .tasks
                    .values()
                    .any(|task| task.parent == *tid || task.process == *tid && *tid != task.began as i32) =>
            {
                model.end(*tid);
            }
            _ => {}
        }
    }
}

fn tasks(model: &mut Model) -> BTreeMap<String, String> {
    model.everything().into_iter().filter(|(path, _)| path.ends_with("tasks")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_born_go_where_their_parents_came_from(
        kernel in prop::sample::select(&KernelRelease::ALL[..]),
        history in history(Kind::Plain),
        events in events(),
        moved in prop::collection::vec(1_i32..6, 1..4),
    ) {
        let mut other = Kind::Plain.model(kernel);
        live(&mut other, &history);
        let cut = Cut::default();
        let (mut acting, mut store) = (crate::model::Acting::on(other.clone(), &cut), Memory::with(&cut));
        let mut steps = vec![group("x")];
        steps.extend(moved.iter().map(|tid| write("x/tasks", format!("{tid}\n"))));
        if apply(&mut acting, &mut store, &steps).is_err() {
            return Ok(());
        }
        happen(&mut acting.model.borrow_mut(), &events);
        happen(&mut other, &events);
        restore(&mut acting, &mut store, false);
        prop_assert_eq!(tasks(&mut acting.model.borrow_mut()), tasks(&mut other));
    }
}
