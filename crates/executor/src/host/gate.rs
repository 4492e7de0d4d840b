//! A gate that threads wait at until everybody is set up, or until it is known that somebody could not be.

use std::sync::{Condvar, Mutex};

use waykeeper_kernels::clock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// Since this reading of the counter.
    Open(u64),
    Abandoned,
}

/// Starts closed.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    pub fn new() -> Self {
        Self { state: Mutex::new(State::Closed), changed: Condvar::new() }
    }

    /// Waits. Returns the reading of the counter at which the gate was opened, the same for everybody; `None` where it was
    /// abandoned.
    pub fn pass(&self) -> Option<u64> {
        let guard = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let guard = self.changed.wait_while(guard, |state| *state == State::Closed).unwrap_or_else(|e| e.into_inner());
        match *guard {
            State::Open(at) => Some(at),
            State::Closed | State::Abandoned => None,
        }
    }

    /// Lets everybody through.
    pub fn open(&self) {
        self.set(State::Open(clock::now()));
    }

    /// Sends everybody home.
    pub fn abandon(&self) {
        self.set(State::Abandoned);
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(|e| e.into_inner()) = state;
        self.changed.notify_all();
    }
}
