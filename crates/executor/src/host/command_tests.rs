use std::sync::atomic::Ordering;
use std::time::Instant;

use waykeeper_linux::schedule;

use super::super::signals;
use super::*;

fn shell(script: &str) -> External {
    let argv = ["sh", "-c", script].map(str::to_owned);
    External::start(&argv, schedule::allowed()[0]).unwrap()
}

fn running(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line) == format!("sleep\0{mark}\0"))
        .count()
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Children, a new session, a daemon of a double fork, one that ignores signals.
fn family(mark: &str) -> String {
    format!(
        "sleep {mark} & setsid sleep {mark} & (setsid sh -c 'sleep {mark} & sleep {mark} & exit' &) ; \
         (trap '' HUP TERM INT QUIT; exec sleep {mark}) & wait; wait; sleep {mark}"
    )
}

#[test]
fn all_descendants_end_with_the_value() {
    let mark = "7001.25";
    let external = shell(&family(mark));
    eventually("five descendants", || running(mark) == 5);
    let group = external.group.as_ref().map(|group| group.path().to_owned());
    drop(external);
    assert_eq!(running(mark), 0);
    assert!(group.is_none_or(|group| !group.exists()));
}

#[test]
fn a_program_that_leaves_its_core_is_noticed() {
    let [core, other] = schedule::allowed()[..2] else { panic!("this test needs two cores") };
    let stays = shell("sleep 7001.5 & wait");
    eventually("its child", || running("7001.5") == 1);
    assert_eq!(stays.other_cores(core), [0; 0]);
    // Deep below: a child of a child.
    let leaves = shell(&format!("sh -c 'taskset -c {core},{other} sleep 7001.75 & wait' & wait"));
    eventually("its descendant", || running("7001.75") == 1);
    assert_eq!(leaves.other_cores(core), [other]);
}

#[test]
fn the_guardian_of_a_timed_program_waits_on_its_core_and_above_it() {
    let [core, _] = schedule::allowed()[..2] else { panic!("this test needs two cores") };
    let longest_us = 60_000_000;
    for (timed, realtime) in [(true, Some((10, longest_us))), (true, None), (false, None)] {
        let as_target = AsTarget { inherits: -1, realtime, small_pages: false, timed };
        let argv = ["sleep", "7001.875"].map(str::to_owned);
        let surroundings = Surroundings { variables: Vec::new(), as_target };
        let mut external = External::prepare_target(&argv, core, std::process::id(), &surroundings).unwrap();
        external.go().unwrap();
        assert_eq!(schedule::allowed_of(external.guardian as u32) == [core], timed, "{as_target:?}");
        let program = external.process().expect("it sleeps");
        assert_eq!(schedule::allowed_of(program), [core]);
        // SAFETY: no memory is passed; the number is that of a child that was not waited for.
        let policy = |process: u32| unsafe { libc::syscall(libc::SYS_sched_getscheduler, process) } as libc::c_int;
        if policy(program) == libc::SCHED_FIFO {
            assert!(timed && realtime.is_some());
            assert_eq!(policy(external.guardian as u32), libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK);
        } else {
            assert_eq!(policy(program), libc::SCHED_OTHER, "{as_target:?}");
        }
        drop(external);
        assert_eq!(running("7001.875"), 0);
    }
}

/// Takes single means of the kernel away, as old kernels do, and ends the family.
fn ends_with(means: Means, mark: &str) {
    let argv = ["sh".to_owned(), "-c".to_owned(), family(mark)];
    let mut external = External::prepare_with(&argv, schedule::allowed()[0], means, None, None).unwrap();
    external.go().unwrap();
    assert!(means.group || external.group.is_none(), "the program is in a group");
    eventually("five descendants", || running(mark) == 5);
    let guardian = external.guardian;
    drop(external);
    assert_eq!(running(mark), 0, "{means:?}");
    assert!(!std::path::Path::new(&format!("/proc/{guardian}")).exists());
}

#[test]
fn all_descendants_end_without_a_group() {
    ends_with(Means { group: false, ..Means::default() }, "7002.25");
}

#[test]
fn all_descendants_end_without_a_list_of_children() {
    ends_with(Means { group: false, children: false, ..Means::default() }, "7004.25");
}

#[test]
fn all_descendants_end_on_a_kernel_without_close_range() {
    ends_with(Means { close_range: false, ..Means::default() }, "7005.25");
}

#[test]
fn all_descendants_end_on_a_kernel_that_kills_no_group() {
    ends_with(Means { group_kill: false, ..Means::default() }, "7006.25");
}

/// A group that cannot be killed at once is frozen, killed one by one, and left able to end.
#[test]
fn a_group_is_frozen_and_killed_without_descent() {
    let Ok(group) = OwnedCgroup::create() else { return eprintln!("skipped: no group can be created here") };
    let mut stranger = std::process::Command::new("sleep").arg("7007.25").spawn().unwrap();
    std::fs::write(group.path().join("cgroup.procs"), stranger.id().to_string()).unwrap();
    // SAFETY: the paths are those of a group that exists.
    unsafe { guardian::kill_group(&paths(&group).unwrap(), Means { group_kill: false, ..Means::default() }) };
    assert_eq!(stranger.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert_eq!(std::fs::read_to_string(group.path().join("cgroup.freeze")).unwrap().trim(), "0");
}

#[test]
fn a_group_is_created_where_allowed_and_removed() {
    if OwnedCgroup::create().is_err() {
        return eprintln!("skipped: no group can be created here");
    }
    let external = shell("sleep 7008.25");
    let path = external.group.as_ref().expect("a group is allowed here").path().to_owned();
    eventually("the program in its group", || {
        let inside = std::fs::read_to_string(path.join("cgroup.procs")).unwrap();
        inside.lines().count() >= 1 && running("7008.25") == 1
    });
    drop(external);
    assert!(!path.exists());
}

#[test]
fn a_core_beyond_the_mask_is_refused_before_the_fork() {
    let why = External::prepare(&["true".to_owned()], 1_000_000).unwrap_err();
    assert!(why.contains("core 1000000 is beyond the 1024 that fit an affinity mask"), "{why}");
}

/// The side that dies is a fork of the test, killed by each signal.
#[test]
fn all_descendants_end_when_the_starter_is_killed() {
    for (index, signal) in [libc::SIGHUP, libc::SIGQUIT, libc::SIGTERM, libc::SIGINT, libc::SIGKILL].iter().enumerate()
    {
        let mark = format!("7003.{}25", index + 1);
        let (script, core) = (family(&mark), schedule::allowed()[0]);
        // SAFETY: the child starts a program, waits for a signal, and never returns into the test.
        let starter = unsafe {
            let starter = libc::fork();
            if starter == 0 {
                let argv = ["sh".to_owned(), "-c".to_owned(), script];
                libc::signal(*signal, libc::SIG_DFL);
                let _external = External::start(&argv, core);
                loop {
                    libc::pause();
                }
            }
            starter
        };
        eventually("five descendants", || running(&mark) == 5);
        // SAFETY: the process is this test's own child.
        unsafe {
            libc::kill(starter, *signal);
            libc::waitpid(starter, std::ptr::null_mut(), 0);
        }
        eventually(&format!("nobody left after signal {signal}"), || running(&mark) == 0);
    }
}

/// A parent with SIGTERM blocked for its worker, and the worker with a program. Returns parent, worker and guardian.
fn household(script: &str, means: Means) -> [libc::pid_t; 3] {
    let (mut told, tell) = io::pipe().unwrap();
    let argv = ["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let core = schedule::allowed()[0];
    // SAFETY: the forked processes never return into the test.
    let parent = unsafe {
        let parent = libc::fork();
        if parent == 0 {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut term = std::mem::zeroed::<libc::sigset_t>();
            libc::sigaddset(&mut term, libc::SIGTERM);
            libc::sigprocmask(libc::SIG_BLOCK, &term, std::ptr::null_mut());
            if libc::fork() == 0 {
                work(&argv, core, means, tell);
            }
            libc::sigprocmask(libc::SIG_UNBLOCK, &term, std::ptr::null_mut());
            drop(tell);
            loop {
                libc::pause();
            }
        }
        parent
    };
    drop(tell);
    let mut ids = [0; 8];
    told.read_exact(&mut ids).unwrap();
    let id = |at: usize| i32::from_ne_bytes(ids[at..at + 4].try_into().unwrap());
    [parent, id(0), id(4)]
}

/// What a worker does about its program.
fn work(argv: &[String], core: u32, means: Means, mut tell: io::PipeWriter) -> ! {
    let parent = std::os::unix::process::parent_id();
    signals::catch();
    let _ = schedule::end_with_parent();
    {
        let _adopted = Adopted::begin();
        let mut external = External::prepare_with(argv, core, means, Some(parent), None).unwrap();
        external.go().unwrap();
        let ids = [std::process::id() as i32, external.guardian].map(i32::to_ne_bytes).concat();
        tell.write_all(&ids).unwrap();
        while signals::STOP.load(Ordering::Relaxed) == 0 && external.ended().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    // SAFETY: ends the fork without the test's own clean-up.
    unsafe { libc::_exit(0) }
}

fn send(process: libc::pid_t, signal: i32) {
    // SAFETY: no memory is passed; the processes are of this test.
    unsafe { libc::kill(process, signal) };
}

fn clean_up([parent, worker, _]: [libc::pid_t; 3]) {
    send(worker, libc::SIGKILL);
    send(parent, libc::SIGKILL);
    // SAFETY: the parent is this test's own child.
    unsafe { libc::waitpid(parent, std::ptr::null_mut(), 0) };
}

const SIGNALS: [i32; 5] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGKILL];

/// Each side by each signal, each kind of descendant, with and without a group: nobody is left.
#[test]
fn nobody_is_left_whoever_dies_by_whichever_signal() {
    for (group, side, signal) in [true, false]
        .into_iter()
        .flat_map(|group| (0..3).flat_map(move |side| SIGNALS.map(|signal| (group, side, signal))))
    {
        for (kind, script) in [
            "sleep M & wait",
            "(setsid sh -c 'sleep M & exit' &); sleep 7019.5",
            "setsid sleep M & wait",
            "nohup sleep M & wait",
        ]
        .iter()
        .enumerate()
        {
            let mark = format!("70{}{side}{kind}{signal}.5", 20 + u8::from(group));
            let ids = household(&script.replace('M', &mark), Means { group, ..Means::default() });
            eventually("one descendant", || running(&mark) == 1);
            send(ids[[1, 0, 2][side]], signal);
            if side == 2 && signal != libc::SIGKILL {
                // A guardian ends by SIGKILL alone, and goes on with its duty.
                assert_eq!(running(&mark), 1);
                send(ids[1], libc::SIGKILL);
            }
            eventually(&format!("nobody left: {mark}"), || running(&mark) == 0);
            clean_up(ids);
        }
    }
}

#[test]
fn a_stopped_worker_leaves_nobody_when_its_parent_is_killed() {
    let mark = "7009.25";
    let ids = household(&family(mark), Means { group: false, ..Means::default() });
    eventually("five descendants", || running(mark) == 5);
    send(ids[1], libc::SIGSTOP);
    send(ids[0], libc::SIGKILL);
    eventually("nobody left", || running(mark) == 0);
    clean_up(ids);
}

#[test]
fn a_failure_says_the_programs_own_words() {
    let mut external = shell("echo lost >&2; printf 'no \\033[31mdevice\\n' >&2; exit 3");
    let mut how = None;
    let begin = Instant::now();
    while how.is_none() && begin.elapsed() < Duration::from_secs(20) {
        how = external.ended();
    }
    assert_eq!(how.unwrap(), "exit status: 3; its last lines on standard error: lost / no \\u{1b}[31mdevice");
}

#[test]
fn a_missing_program_is_named() {
    let why = External::start(&["no-such-program".to_owned()], schedule::allowed()[0]).unwrap_err();
    let ExecutorError::Input(why) = why else { panic!("{why}") };
    assert!(why.starts_with("the program `no-such-program` cannot be started: No such file"), "{why}");
}

#[test]
fn processor_time_counts_descendants() {
    let external = shell("(while :; do :; done) & wait");
    eventually("100 ms of processor time", || external.cpu_time().unwrap() > Duration::from_millis(100));
    let by_proc = tree_cpu_time(external.guardian as u32).unwrap();
    assert!(by_proc > Duration::from_millis(50), "{by_proc:?}");
}
