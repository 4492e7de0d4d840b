//! Steps on the model.

use waykeeper_resctrl::{
    Attributes, Caller, FileOperation, MonitorEvent, Reading, Reply, Resctrl, ResctrlMachine, Task,
};

use crate::step::{Answer, Outcome, Step};

/// An occupancy, in counts, that is above any threshold: 1 GiB.
pub const FULL: u32 = 1 << 14;

/// The model with the processes that began.
#[derive(Clone, Debug)]
pub struct Modelled {
    /// The model.
    pub resctrl: Resctrl,
    /// Threads of each process that began and did not end.
    pub processes: Vec<Vec<i32>>,
}

impl Modelled {
    /// After boot, with the guest itself as process 1 and full caches.
    pub fn new(machine: ResctrlMachine) -> Self {
        let mut resctrl = Resctrl::new(machine);
        resctrl.start_task(None, Task::new(1));
        resctrl.set_all_counters(MonitorEvent::LlcOccupancy, Reading::Value(FULL.into()));
        Modelled { resctrl, processes: Vec::new() }
    }

    /// Carries a step out. Processes that begin get the numbers that they got in the kernel.
    pub fn run(&mut self, step: &Step, started: &[i32]) -> Outcome {
        let answer = self.answer(step, started);
        // The file is asked, not the text behind it: a changed permission can hide it.
        let status = FileOperation::Read { path: b"info/last_cmd_status".to_vec() };
        let status = match self.resctrl.apply(&status) {
            Ok(Reply::Bytes(text)) => Some(text),
            _ => None,
        };
        Outcome { answer, status }
    }

    fn answer(&mut self, step: &Step, started: &[i32]) -> Result<Answer, i32> {
        match step {
            Step::Mount(options) => self.resctrl.mount(*options).map(|()| Answer::Done).map_err(|e| e.number()),
            Step::Unmount => {
                self.resctrl.unmount();
                Ok(Answer::Done)
            }
            Step::Do(operation) => {
                let reply = self.resctrl.apply_for(&Caller::default(), operation);
                reply.map(answer).map_err(|refusal| refusal.errno.number())
            }
            Step::Start { .. } => {
                for &tid in started {
                    let process = started.first().copied().unwrap_or(tid);
                    self.resctrl.start_task(Some(1), Task { process, ..Task::new(tid) });
                }
                self.processes.push(started.to_vec());
                Ok(Answer::Started(started.to_vec()))
            }
            Step::End(index) => {
                if *index < self.processes.len() {
                    for tid in self.processes.remove(*index) {
                        self.resctrl.end_task(tid);
                    }
                }
                Ok(Answer::Done)
            }
            Step::Count(event, reading) => {
                self.resctrl.set_all_counters(*event, *reading);
                Ok(Answer::Done)
            }
            Step::Settle => {
                self.resctrl.set_all_counters(MonitorEvent::LlcOccupancy, Reading::Value(0));
                self.resctrl.check_limbo();
                self.resctrl.set_all_counters(MonitorEvent::LlcOccupancy, Reading::Value(FULL.into()));
                Ok(Answer::Done)
            }
            Step::Groups(tid) => self.resctrl.task_groups(*tid).map(Answer::Bytes).map_err(|e| e.number()),
        }
    }
}

fn answer(reply: Reply) -> Answer {
    match reply {
        Reply::Done | Reply::Written(_) => Answer::Done,
        Reply::Bytes(bytes) => Answer::Bytes(bytes),
        Reply::Entries(entries) => Answer::Entries(entries),
        Reply::Attributes(Attributes { directory, mode, links, uid, gid, .. }) => {
            Answer::Attributes { directory, mode, links, uid, gid, size: 0 }
        }
    }
}
