//! Reads that are answered when several lines are there.

use crate::memory::Handle;

#[derive(Debug, Clone, Copy)]
struct Joint {
    handle: Handle,
    lines: u32,
}

/// Reads in flight that wait for several lines each.
#[derive(Debug, Clone, Default)]
pub struct Joints {
    joints: Vec<Joint>,
    free: Vec<u32>,
}

impl Joints {
    /// A read that waits for one line so far; returns its number.
    pub fn begin(&mut self, handle: Handle) -> u32 {
        let joint = Joint { handle, lines: 1 };
        match self.free.pop() {
            Some(number) => {
                self.joints[number as usize] = joint;
                number
            }
            None => {
                self.joints.push(joint);
                self.joints.len() as u32 - 1
            }
        }
    }

    /// It waits for one more line.
    pub fn add(&mut self, number: u32) {
        self.joints[number as usize].lines += 1;
    }

    /// One of its lines has come; returns who waits, if it was the last one.
    pub fn arrive(&mut self, number: u32) -> Option<Handle> {
        let joint = &mut self.joints[number as usize];
        joint.lines -= 1;
        (joint.lines == 0).then(|| {
            self.free.push(number);
            joint.handle
        })
    }
}
