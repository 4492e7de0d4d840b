//! The computation executes as many instructions as it says: a tracer steps through it.

use waykeeper_packets::compute::{Computation, InstructionCount};

/// Instructions between two stops of a child that computes once in between.
fn steps(count: &str) -> u64 {
    let count: InstructionCount = count.parse().unwrap();
    // SAFETY: the child allocates its buffer alone, which no fork would get, and ends with _exit; the parent steps it and reaps it.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0, "{}", std::io::Error::last_os_error());
        if child == 0 {
            let Ok(mut computation) = Computation::new(&count.pattern(), count.instructions) else { libc::_exit(1) };
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
            computation.run();
            libc::raise(libc::SIGSTOP);
            libc::_exit(0);
        }
        let mut status = 0;
        let mut stopped_by = || {
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert!(libc::WIFSTOPPED(status), "the child ended: {status:#x}");
            libc::WSTOPSIG(status)
        };
        assert_eq!(stopped_by(), libc::SIGSTOP);
        let mut steps = 0;
        loop {
            assert_eq!(libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0), 0, "{}", std::io::Error::last_os_error());
            if stopped_by() == libc::SIGSTOP {
                break;
            }
            steps += 1;
        }
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &raw mut status, 0);
        steps
    }
}

#[test]
fn a_cycle_has_the_instructions_of_the_guide() {
    // What stops the child costs the same each time: it is in both, and not in the difference.
    let (none, twelve, sixty) = (steps("264KiBx3"), steps("264KiBx12k"), steps("1296KiBx60k"));
    assert_eq!((twelve - none, sixty - none), (12_000 - 3, 60_000 - 3));
}
