//! A gate that threads wait at until everybody is set up, or until it is known that somebody could not be.

use std::sync::{Condvar, Mutex};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open,
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

    /// Waits. True where the gate was opened, false where it was abandoned.
    pub fn pass(&self) -> bool {
        let guard = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let guard = self.changed.wait_while(guard, |state| *state == State::Closed).unwrap_or_else(|e| e.into_inner());
        *guard == State::Open
    }

    /// Lets everybody through.
    pub fn open(&self) {
        self.set(State::Open);
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
