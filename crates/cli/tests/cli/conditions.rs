//! A repeat whose conditions did not hold all the time does not count, and the run says so.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::program::{Desk, Ended, case, eventually, list, this_machine};

/// Three repeats of a second each. In the second one something happens.
const EXPERIMENT: &str = "title = 'x'\nsentinel = false\nduration = '1 s'\nrepeats = 3\n";

/// The worker of a run that measures, once so many repeats have ended and its target has been observed for a while.
fn observing(desk: &Desk, child: &Child, ended: usize) -> Pid {
    let log = desk.path().join("kept/repeats.log");
    eventually("the repeats before it", || {
        let lines = std::fs::read(&log).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        (lines == 1 + ended).then_some(())
    });
    // Set up and warmed up in less. The worker of the repeat before is still a child for a moment after its line is in the log.
    std::thread::sleep(Duration::from_millis(400));
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let worker = eventually("the worker", || {
        let text = std::fs::read_to_string(&children).ok()?;
        text.split_whitespace().next()?.parse::<i32>().ok()
    });
    Pid::from_raw(worker).unwrap()
}

/// The thread of a worker's target.
fn target_thread(worker: Pid) -> Pid {
    let tasks = format!("/proc/{}/task", worker.as_raw_nonzero());
    let is_target = |task: &Path| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "target");
    let mut tasks = std::fs::read_dir(tasks).unwrap().map(|task| task.unwrap().path());
    let task = tasks.find(|task| is_target(task)).expect("the worker has a target");
    Pid::from_raw(task.file_name().unwrap().to_str().unwrap().parse().unwrap()).unwrap()
}

fn start(desk: &Desk) -> Child {
    start_with(desk, "latency_loop")
}

fn start_with(desk: &Desk, target: &str) -> Child {
    desk.file("mine.toml", &format!("{EXPERIMENT}targets = [{{ workload = '{target}' }}]\n"));
    let mut command = desk.command(&["run", "mine.toml", "--out=kept"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The record of a run of which the second repeat does not count. Returns why.
#[track_caller]
fn check_second_left_out(desk: &Desk, child: Child) -> (String, Value) {
    let ended = Ended::from(child.wait_with_output().unwrap()).with(0);
    let run = desk.record("kept");
    let idle = case(&run, "idle");
    let repeats = list(idle, "repeats");
    let not_counted = |at: usize| repeats[at].get("not_counted");
    assert_eq!((not_counted(0), not_counted(2)), (None, None), "{ended:?}");
    let why = not_counted(1).expect("the second one does not count").as_str().unwrap().to_owned();
    let said = format!("Repeat 2 of the case `idle` does not count: {why}.");
    assert!(list(&run, "notes").iter().any(|note| *note == *said), "{said}: {run}");
    assert!(ended.stdout.contains("Repeat 2 of the case `idle` does not count"), "{}", ended.stdout);
    // The figures of the case are those of the others.
    let figure = |at: usize, key: &str| repeats[at][key].as_f64().unwrap();
    assert_eq!(idle["samples"].as_f64().unwrap(), figure(0, "samples") + figure(2, "samples"));
    assert_eq!(idle["max_ns"].as_f64().unwrap(), figure(0, "max_ns").max(figure(2, "max_ns")));
    (why, repeats[1].clone())
}

#[test]
fn a_worker_that_was_stopped_is_no_sample_of_interference() {
    let _alone = this_machine();
    let desk = Desk::new();
    let child = start(&desk);
    let worker = observing(&desk, &child, 1);
    kill_process(worker, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    kill_process(worker, Signal::CONT).unwrap();
    let (why, repeat) = check_second_left_out(&desk, child);
    assert!(why.contains("its process was stopped or frozen"), "{why}");
    // It is there to be looked at all the same.
    assert!(repeat["max_ns"].as_f64().unwrap() > 190e6, "{repeat}");
}

#[test]
fn a_sleeper_that_was_stopped_does_not_count_and_one_that_only_sleeps_does() {
    for target in ["wakeup_1ms", "interrupt_1ms"] {
        check_stopped_sleeper(target);
    }
}

#[track_caller]
fn check_stopped_sleeper(target: &str) {
    let _alone = this_machine();
    let desk = Desk::new();
    let child = start_with(&desk, target);
    let worker = observing(&desk, &child, 1);
    kill_process(worker, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    kill_process(worker, Signal::CONT).unwrap();
    let (why, repeat) = check_second_left_out(&desk, child);
    assert!(why.contains("its process was stopped or frozen"), "{why}");
    // 200 ms are 200 periods; the one that it was woken for at the end is a sample.
    assert!(repeat["missed_periods"].as_u64().unwrap() >= 190, "{repeat}");
}

#[test]
fn a_target_that_was_moved_says_where_it_ran() {
    let _alone = this_machine();
    let desk = Desk::new();
    let child = start(&desk);
    let thread = target_thread(observing(&desk, &child, 1));
    let [own, other] = cores_of(thread);
    let mut elsewhere = CpuSet::new();
    elsewhere.set(other);
    sched_setaffinity(Some(thread), &elsewhere).unwrap();
    let (why, repeat) = check_second_left_out(&desk, child);
    assert!(why.contains(&format!("the target was asked to run on core {own} and ran on cores")), "{why}");
    let got = repeat["placement"]["target"]["got"].as_str().unwrap();
    assert!(got.starts_with("cores ") && got.contains(&own.to_string()) && got.contains(&other.to_string()), "{got}");
}

#[test]
fn a_target_that_came_back_was_away() {
    let _alone = this_machine();
    let desk = Desk::new();
    let child = start(&desk);
    let thread = target_thread(observing(&desk, &child, 1));
    let [own, other] = cores_of(thread);
    for core in [other, own] {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(Some(thread), &set).unwrap();
    }
    let (why, repeat) = check_second_left_out(&desk, child);
    // Too short to be seen on the other core, but the kernel counts.
    assert!(why.contains("the target was moved between cores, 2 times"), "{why}: {repeat}");
}

/// The core that a thread is pinned to, and another one that this process may use.
fn cores_of(thread: Pid) -> [usize; 2] {
    let (its, ours) = (sched_getaffinity(Some(thread)).unwrap(), sched_getaffinity(None).unwrap());
    let all = || 0..CpuSet::MAX_CPU;
    let own = all().find(|core| its.is_set(*core)).unwrap();
    let other = all().find(|core| *core != own && ours.is_set(*core)).expect("a machine of two cores or more");
    [own, other]
}
