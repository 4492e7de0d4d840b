//! Processes that do nothing but exist.

use crate::real::system::{Full, errno};

/// A process that waits until it is ended.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    /// Its threads, the first one first.
    pub tids: Vec<i32>,
}

impl Process {
    /// Starts a process with some more threads than the first.
    pub fn start(threads: u32) -> Full<Process> {
        let mut pipe = [0; 2];
        // SAFETY: the array has room for both ends.
        if unsafe { libc::pipe(pipe.as_mut_ptr()) } != 0 {
            return Err(errno());
        }
        // SAFETY: this program has one thread, so the child may do anything.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            wait_with_threads(threads, pipe[1]);
        }
        // SAFETY: the ends are open and used nowhere else in this process.
        unsafe { libc::close(pipe[1]) };
        let mut tids = Vec::new();
        while tids.len() <= threads as usize && pid > 0 {
            let mut tid = 0_i32;
            // SAFETY: the buffer is as long as is said.
            if unsafe { libc::read(pipe[0], (&raw mut tid).cast(), 4) } != 4 {
                break;
            }
            tids.push(tid);
        }
        // SAFETY: as above.
        unsafe { libc::close(pipe[0]) };
        if pid < 0 { Err(errno()) } else { Ok(Process { pid, tids }) }
    }

    /// Ends the process and waits until it is gone.
    pub fn end(self) {
        // SAFETY: the process is our child and was not waited for yet.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Starts threads one after the other, writes all numbers to the pipe, and waits for ever.
fn wait_with_threads(threads: u32, pipe: i32) -> ! {
    announce(pipe);
    for _ in 0..threads {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            announce(pipe);
            let _ = sender.send(());
            pause();
        });
        let _ = receiver.recv();
    }
    pause()
}

fn announce(pipe: i32) {
    // SAFETY: the buffer is as long as is said.
    unsafe {
        let tid = libc::gettid();
        libc::write(pipe, (&raw const tid).cast(), 4);
    }
}

fn pause() -> ! {
    loop {
        // SAFETY: has no arguments.
        unsafe { libc::pause() };
    }
}
