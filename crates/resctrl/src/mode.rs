//! Writes to `mode`.

use crate::group::{GroupId, Mode};
use crate::pseudo_lock::Target;
use crate::{Caller, Errno, Resctrl};

impl Resctrl {
    pub(crate) fn write_mode(&mut self, caller: &Caller, id: GroupId, text: &[u8]) -> Result<(), Errno> {
        let wanted = Mode::ALL.into_iter().find(|mode| mode.name().as_bytes() == text);
        let mode = self.group(id).mode;
        if wanted == Some(mode) {
            return Ok(());
        }
        if mode == Mode::PseudoLocked {
            return self.refuse("Cannot change pseudo-locked group\n");
        }
        match wanted {
            Some(new @ (Mode::Shareable | Mode::Exclusive)) => {
                if new == Mode::Exclusive {
                    self.refuse_sharing(id)?;
                }
                if mode == Mode::PseudoLocksetup {
                    self.leave_locksetup(id)?;
                }
                self.group_mut(id).mode = new;
                Ok(())
            }
            Some(Mode::PseudoLocksetup) => self.enter_locksetup(caller, id),
            _ => self.refuse("Unknown or unsupported mode\n"),
        }
    }

    /// A group can be exclusive when no cache mask of it overlaps with another's.
    fn refuse_sharing(&mut self, id: GroupId) -> Result<(), Errno> {
        let closid = self.group(id).closid;
        let mut has_cache = false;
        for schema in 0..self.schemas.len() {
            let resource = self.schemas[schema].resource;
            if !self.resources[resource].id.is_cache() {
                continue;
            }
            has_cache = true;
            for domain in 0..self.resources[resource].domains.len() {
                let target = Target { schema, domain };
                let mask = self.domain(target).control(closid, self.schemas[schema].kind);
                if self.overlaps(target, mask, closid, false) {
                    return self.refuse("Schemata overlaps\n");
                }
            }
        }
        if has_cache { Ok(()) } else { self.refuse("Cannot be exclusive without CAT/CDP\n") }
    }
}
