//! Classes by cgroup: who is put where, who is followed, and where all of them end.

use std::io;

use waykeeper_control::{ApplyError, ApplyState, FollowError, Followed, Follower, Restored, Status, Store, status};
use waykeeper_policy::Step;
use waykeeper_resctrl::KernelRelease;

use crate::cut::{Cut, Memory};
use crate::identity::{apply, restore};
use crate::model::{Acting, Model};
use crate::plans::{Kind, cgroup_step, group, write};

/// Tasks 1 and 3 are in the cgroup `pods`, 2 and 4 (a thread of 3) in `pods/a`, 5 (a child of 3) in `batch`. Others have a
/// group with task 2, and a monitoring group of the root with task 5.
fn model() -> Model {
    let mut model = Kind::Plain.model(KernelRelease::V6_18);
    model.mkdir("theirs").unwrap();
    model.write("theirs/tasks", "2\n").unwrap();
    model.mkdir("mon_groups/m").unwrap();
    model.write("mon_groups/m/tasks", "5\n").unwrap();
    model
}

/// `pods` is in the group x, but for `pods/a`, which is in y.
fn steps() -> Vec<Step> {
    vec![group("x"), group("y"), cgroup_step("x", "pods"), cgroup_step("y", "pods/a")]
}

fn acting(model: Model, steps: &[Step]) -> (Acting, Memory) {
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(model, &cut), Memory::with(&cut));
    apply(&mut acting, &mut store, steps).unwrap();
    (acting, store)
}

#[track_caller]
fn tasks(acting: &Acting, expected: &[(&str, &str)]) {
    for (group, tids) in expected {
        let file = if group.is_empty() { "tasks".into() } else { format!("{group}/tasks") };
        let text = acting.model.borrow_mut().read(&file);
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), *tids, "{group}");
    }
}

fn look(acting: &mut Acting, store: &mut Memory, follower: &mut Follower) -> (usize, Vec<i32>) {
    match follower.look_with(&mut acting.machine(), store, true).unwrap() {
        Followed::Looked { moved, left, .. } => (moved, left),
        other => panic!("{other:?}"),
    }
}

fn state(acting: &mut Acting, store: &mut Memory) -> Status {
    status(&mut acting.machine(), store).unwrap().unwrap()
}

fn differences(status: &Status) -> Vec<String> {
    status.differences.iter().map(ToString::to_string).collect()
}

#[test]
fn a_cgroup_is_its_tasks_and_those_below_it_but_for_what_others_name() {
    let mut before = model();
    let (mut acting, mut store) = acting(model(), &steps());
    tasks(&acting, &[("x", "1 3"), ("y", "2 4"), ("theirs", ""), ("", "5")]);
    let told = state(&mut acting, &mut store);
    assert_eq!((told.phase, differences(&told)), (ApplyState::Applied, Vec::new()));
    let shown: Vec<_> = told.cgroups.iter().map(ToString::to_string).collect();
    let expected = ["cgroup pods: all tasks (2) are in group x", "cgroup pods/a: all tasks (2) are in group y"];
    assert_eq!(shown, expected);
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
    assert_eq!(acting.model.borrow_mut().everything(), before.everything());
}

#[test]
fn who_is_named_by_number_stays_there_with_all_threads() {
    // 3 and its thread 4 belong to y by number, although their cgroups are in x.
    let steps = [group("x"), group("y"), cgroup_step("x", "pods"), write("y/tasks", "3\n"), write("y/tasks", "4\n")];
    let (mut acting, mut store) = acting(model(), &steps);
    tasks(&acting, &[("x", "1 2"), ("y", "3 4")]);
    // A new thread of 3 is born in y and in the cgroup: it stays.
    acting.model.borrow_mut().start_thread(Some(3), 3, 9);
    acting.model.borrow_mut().cgroups.get_mut("pods").unwrap().push(9);
    assert_eq!(look(&mut acting, &mut store, &mut Follower::default()), (0, vec![]));
    assert_eq!(differences(&state(&mut acting, &mut store)), Vec::<String>::new());
    tasks(&acting, &[("x", "1 2"), ("y", "3 4 9")]);
}

#[test]
fn children_that_are_born_while_their_parents_move_are_caught() {
    let mut model = model();
    model.births = 3;
    let (mut acting, mut store) = acting(model, &steps());
    // 6 is born of 1, 7 of 3, 8 of the next that is moved, in the order of their numbers: of 6.
    tasks(&acting, &[("x", "1 3 6 7 8"), ("y", "2 4"), ("", "5")]);
    restore(&mut acting, &mut store, false);
    tasks(&acting, &[("theirs", "2"), ("", "1 3 4 5 6 7 8")]);
}

#[test]
fn a_cgroup_that_never_comes_to_rest_undoes_the_plan() {
    let mut model = model();
    model.births = usize::MAX;
    let cut = Cut::default();
    let (mut acting, mut store) = (Acting::on(model, &cut), Memory::with(&cut));
    let error = apply(&mut acting, &mut store, &steps()).unwrap_err();
    assert!(matches!(error, ApplyError::RolledBack { .. }), "{error}");
    let told = error.to_string();
    assert!(told.contains("cgroup pods had tasks outside of the group x in each of 64 looks"), "{told}");
    assert!(store.is_empty());
    assert!(!acting.model.borrow_mut().everything().contains_key("x"));
    tasks(&acting, &[("theirs", "2")]);
}

#[test]
fn tasks_that_come_later_are_followed_and_go_home() {
    let (mut acting, mut store) = acting(model(), &steps());
    let mut follower = Follower::default();
    assert_eq!(look(&mut acting, &mut store, &mut follower), (0, vec![]));
    // A process of the root and one of another's group come into the cgroup, and one into a cgroup that is new.
    let shared = acting.model.clone();
    let mut model = shared.borrow_mut();
    (20..=22).for_each(|tid| model.start(None, tid));
    model.write("theirs/tasks", "21\n").unwrap();
    model.cgroups.get_mut("pods").unwrap().extend([20, 21]);
    model.cgroups.insert("pods/b".into(), vec![22]);
    drop(model);
    let told = state(&mut acting, &mut store);
    let expected =
        ["group of cgroup pods, tasks 20, 21, 22: group x was written, it reads group theirs, the root group"];
    assert_eq!(differences(&told), expected);
    // A look without a lock moves nothing.
    let looked = follower.look_with(&mut acting.machine(), &mut store, false).unwrap();
    assert!(matches!(looked, Followed::Looked { moved: 0, .. }), "{looked:?}");
    tasks(&acting, &[("x", "1 3"), ("theirs", "21")]);
    assert_eq!(look(&mut acting, &mut store, &mut follower), (3, vec![]));
    tasks(&acting, &[("x", "1 3 20 21 22"), ("theirs", "")]);
    assert_eq!(differences(&state(&mut acting, &mut store)), Vec::<String>::new());
    // Children of theirs go where they came from.
    shared.borrow_mut().start(Some(21), 30);
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
    tasks(&acting, &[("theirs", "2 21 30"), ("", "1 3 4 5 20 22")]);
    assert!(matches!(follower.look_with(&mut acting.machine(), &mut store, true), Ok(Followed::Nothing)));
}

#[test]
fn who_came_from_the_root_goes_there_though_an_ancestor_came_from_elsewhere() {
    let mut model = model();
    model.start(Some(2), 6);
    model.write("tasks", "6\n").unwrap();
    model.cgroups.get_mut("pods/a").unwrap().push(6);
    let (mut acting, mut store) = acting(model, &steps());
    tasks(&acting, &[("y", "2 4 6")]);
    restore(&mut acting, &mut store, false);
    tasks(&acting, &[("theirs", "2"), ("", "1 3 4 5 6")]);
}

#[test]
fn a_task_that_changes_its_cgroup_changes_its_group_and_still_goes_home() {
    let (mut acting, mut store) = acting(model(), &steps());
    acting.model.borrow_mut().cgroups = [("pods".to_owned(), vec![2, 3]), ("pods/a".to_owned(), vec![1, 4])].into();
    assert_eq!(look(&mut acting, &mut store, &mut Follower::default()), (2, vec![]));
    tasks(&acting, &[("x", "2 3"), ("y", "1 4")]);
    assert!(matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty()));
    tasks(&acting, &[("theirs", "2"), ("", "1 3 4 5")]);
}

#[test]
fn a_task_that_was_moved_out_of_the_group_is_told_and_stays_there() {
    let (mut acting, mut store) = acting(model(), &steps());
    let mut follower = Follower::default();
    let shared = acting.model.clone();
    shared.borrow_mut().start(None, 20);
    shared.borrow_mut().cgroups.get_mut("pods").unwrap().push(20);
    assert_eq!(look(&mut acting, &mut store, &mut follower), (1, vec![]));
    shared.borrow_mut().write("theirs/tasks", "20\n").unwrap();
    assert_eq!(look(&mut acting, &mut store, &mut follower), (0, vec![20]));
    tasks(&acting, &[("theirs", "20")]);
    let told = differences(&state(&mut acting, &mut store));
    assert_eq!(told, ["group of cgroup pods, tasks 20: group x was written, it reads group theirs"]);
    // Another task that has its number later is a new one.
    shared.borrow_mut().end(20);
    shared.borrow_mut().start(None, 20);
    shared.borrow_mut().tasks.get_mut(&20).unwrap().began = 999;
    assert_eq!(look(&mut acting, &mut store, &mut follower), (1, vec![]));
}

#[test]
fn tasks_of_a_group_that_are_in_none_of_its_cgroups_are_noted() {
    let steps = [steps(), vec![write("x/tasks", "5\n")]].concat();
    let (mut acting, mut store) = acting(model(), &steps);
    assert_eq!(state(&mut acting, &mut store).strays, []);
    let shared = acting.model.clone();
    let mut model = shared.borrow_mut();
    // 1 leaves its cgroup, 2 changes it, 3 ends, a foreign 20 comes, and 21 is born of 5, which is named by number.
    model.cgroups = [("pods".to_owned(), vec![2, 3]), ("pods/a".to_owned(), vec![4])].into();
    model.end(3);
    model.start(None, 20);
    model.write("x/tasks", "20\n").unwrap();
    model.start(Some(5), 21);
    drop(model);
    let told = state(&mut acting, &mut store);
    let strays: Vec<_> = told.strays.iter().map(ToString::to_string).collect();
    let expected = "group x has tasks of none of its cgroups: 1, 20; they have left them since, or somebody put them there, \
                    and they keep what the group has";
    assert_eq!(strays, [expected]);
    // Whoever changed its cgroup is in the wrong group, which is a difference.
    let moved = ["group of cgroup pods, tasks 2: group x was written, it reads group y"];
    assert_eq!(differences(&told), moved);
}

#[test]
fn a_cgroup_that_is_not_there_may_come() {
    let mut empty = model();
    empty.cgroups.clear();
    let (mut acting, mut store) = acting(empty, &steps());
    let told = state(&mut acting, &mut store);
    assert_eq!(differences(&told), Vec::<String>::new());
    assert_eq!(told.cgroups[0].to_string(), "cgroup pods is not there: it has no task that could be in group x");
    acting.model.borrow_mut().cgroups.insert("pods".into(), vec![1]);
    assert_eq!(look(&mut acting, &mut store, &mut Follower::default()), (1, vec![]));
    tasks(&acting, &[("x", "1")]);
}

#[test]
fn nothing_is_followed_where_nothing_can_be() {
    let cut = Cut::default();
    let (mut bare, mut store) = (Acting::on(model(), &cut), Memory::with(&cut));
    let mut follower = Follower::default();
    assert!(matches!(follower.look_with(&mut bare.machine(), &mut store, true), Ok(Followed::Nothing)));
    apply(&mut bare, &mut store, &[group("x"), write("x/tasks", "1\n")]).unwrap();
    let error = follower.look_with(&mut bare.machine(), &mut store, true).unwrap_err();
    assert_eq!(error.to_string(), "`test` is applied, and names no cgroup: there is nothing to follow");
    restore(&mut bare, &mut store, false);

    apply(&mut bare, &mut store, &steps()).unwrap();
    bare.model.borrow_mut().rmdir("y").unwrap();
    let error = follower.look_with(&mut bare.machine(), &mut store, true).unwrap_err();
    assert!(matches!(&error, FollowError::NoGroup(group) if group == "y"), "{error}");
    // A group that somebody else makes in its place has tasks of theirs.
    bare.model.borrow_mut().boot = "second".into();
    assert!(matches!(follower.look_with(&mut bare.machine(), &mut store, true), Ok(Followed::Nothing)));
}

/// A journal that is read before somebody else goes on with it.
struct ReadBefore {
    first: Option<Vec<u8>>,
    then: Memory,
}

impl Store for ReadBefore {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.first.take().map_or_else(|| self.then.read(), |bytes| Ok(Some(bytes)))
    }

    fn create(&mut self, bytes: &[u8], space: u64) -> io::Result<()> {
        self.then.create(bytes, space)
    }

    fn append(&mut self, end: u64, bytes: &[u8]) -> io::Result<()> {
        self.then.append(end, bytes)
    }

    fn reserve(&mut self, end: u64, bytes: u64) -> io::Result<()> {
        self.then.reserve(end, bytes)
    }

    fn remove(&mut self) -> io::Result<()> {
        self.then.remove()
    }
}

#[test]
fn a_restore_in_the_middle_of_a_look_ends_the_following() {
    // Cut before each of its effects: the groups go one by one, and the journal last.
    let mut effect = 0;
    loop {
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(model(), &cut), Memory::with(&cut));
        apply(&mut acting, &mut store, &steps()).unwrap();
        let applied = store.bytes();
        cut.again(effect);
        let done = cut.survive(|| restore(&mut acting, &mut store, false));
        cut.heal();
        let mut stale = ReadBefore { first: applied, then: store };
        let looked = Follower::default().look_with(&mut acting.machine(), &mut stale, false);
        // Whatever has gone by then, it is the restore's doing and no failure.
        assert!(matches!(looked, Ok(Followed::Nothing | Followed::Looked { moved: 0, .. })), "{effect}: {looked:?}");
        if done.is_some() {
            assert!(matches!(looked, Ok(Followed::Nothing)), "{looked:?}");
            break;
        }
        effect += 1;
    }
    assert!(effect > 5, "{effect}");
}

#[test]
fn a_follower_that_is_killed_anywhere_leaves_what_a_restore_undoes() {
    let come = |model: &mut Model| {
        (20..=21).for_each(|tid| model.start(None, tid));
        model.write("theirs/tasks", "21\n").unwrap();
        model.write("mon_groups/m/tasks", "20\n").unwrap();
        model.cgroups.get_mut("pods").unwrap().extend([20, 21]);
    };
    let mut before = model();
    come(&mut before);
    let mut effect = 0;
    loop {
        let cut = Cut::default();
        let (mut acting, mut store) = (Acting::on(model(), &cut), Memory::with(&cut));
        apply(&mut acting, &mut store, &steps()).unwrap();
        come(&mut acting.model.borrow_mut());
        cut.again(effect);
        let done = cut.survive(|| look(&mut acting, &mut store, &mut Follower::default()));
        cut.heal();
        assert!(
            matches!(restore(&mut acting, &mut store, false), Restored::Back { findings, .. } if findings.is_empty())
        );
        assert_eq!(acting.model.borrow_mut().everything(), before.everything(), "cut before effect {effect}");
        if done.is_some() {
            break;
        }
        effect += 1;
    }
    // The line of the journal, and the two moves.
    assert_eq!(effect, 3);
}
