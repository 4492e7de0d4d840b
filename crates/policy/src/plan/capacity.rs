//! Whether the machine is ready for a policy: classes, groups that are there, the mount.

use crate::refusal::Refusal;
use crate::step::MountSettings;

use super::{Planner, limits};

impl Planner<'_> {
    /// The running machine's resctrl must not stand in the way.
    pub(super) fn resctrl_is_free(&self) -> Result<(), Refusal> {
        let Some(state) = &self.offer.resctrl else { return Ok(()) };
        let classes = self.policy.classes.iter().enumerate().map(|(i, it)| (format!("classes.{i}.name"), &it.name));
        let locks = self.policy.pseudo_locks.iter().enumerate();
        let locks = locks.map(|(i, lock)| (format!("pseudo_locks.{i}.name"), &lock.name));
        for (key, name) in classes.chain(locks) {
            if state.groups.iter().any(|group| group.name == *name) {
                let message = format!("resctrl has a group `{name}` already; another name would do, or its removal");
                return Err(Refusal::wrong(key, message));
            }
        }
        if state.root_mode != "shareable" {
            let message = format!("resctrl's root group is `{}`; it has to be `shareable`", state.root_mode);
            return Err(Refusal::lacking("", message));
        }
        self.new_groups_have_space()
    }

    /// The kernel assigns to a new group what no group keeps for itself, or the lowest run of it, before a mask can be written;
    /// less than the least makes it refuse the group.
    fn new_groups_have_space(&self) -> Result<(), Refusal> {
        for cache in &self.offer.caches {
            for domain in &cache.domains {
                let free = domain.full().without(domain.kept);
                let bits = if cache.sparse { free.count() } else { free.first_run() };
                if bits < cache.min_bits {
                    let message = format!(
                        "groups that resctrl has keep so much of L{} {} that the kernel makes no further group",
                        cache.level, domain.id
                    );
                    return Err(Refusal::lacking("", message));
                }
            }
        }
        Ok(())
    }

    /// How resctrl has to be mounted: with code and data apart where the policy says so, or where it is so already.
    pub(super) fn mount(&self) -> Result<MountSettings, Refusal> {
        let mut wanted = MountSettings::default();
        for level in [2, 3] {
            let Some((key, _)) = self.shares(level).into_iter().find(|(_, share)| share.is_apart()) else { continue };
            if let Some(cache) = self.used_cache(level)?
                && !cache.cdp
            {
                let message = format!("{} cannot tell code from data in its L{level} (no CDP)", self.offer.called);
                return Err(Refusal::lacking(key, message));
            }
            *if level == 3 { &mut wanted.cdp } else { &mut wanted.cdp_l2 } = true;
        }
        wanted.mbps = limits::needs_rates(self.policy, self.offer)?;
        let Some(state) = &self.offer.resctrl else { return Ok(wanted) };
        let now = state.mounted;
        for (option, wanted, now) in
            [("cdp", wanted.cdp, now.cdp), ("cdpl2", wanted.cdp_l2, now.cdp_l2), ("mba_MBps", wanted.mbps, now.mbps)]
        {
            if wanted && !now {
                let message = format!(
                    "the policy needs resctrl mounted with `{option}`, and it is mounted without; `umount` it first, which ends its groups"
                );
                return Err(Refusal::lacking("", message));
            }
        }
        Ok(now)
    }

    /// Classes of their own for everyone, the others, and groups that are there.
    pub(super) fn classes_suffice(&self, mount: MountSettings) -> Result<(), Refusal> {
        let locks = u32::from(!self.policy.pseudo_locks.is_empty());
        let own = (self.policy.classes.len() as u32).max(locks);
        let taken = self.offer.taken_classes();
        let live = self.offer.resctrl.is_some();
        let caches = self.offer.caches.iter().filter(|cache| live || !self.shares(cache.level).is_empty());
        let caches = caches.filter_map(|cache| {
            let classes = cache.classes?;
            let apart = self.is_apart(cache.level, mount);
            Some((format!("its L{}", cache.level), if apart { classes / 2 } else { classes }))
        });
        let limits = self.policy.classes.iter().any(|class| class.bandwidth.is_some());
        let bandwidth = self.offer.bandwidth.as_ref().filter(|_| live || limits);
        let bandwidth = bandwidth.and_then(|bandwidth| Some(("its memory bandwidth".to_owned(), bandwidth.classes?)));
        let Some((what, there)) = caches.chain(bandwidth).min_by_key(|(_, classes)| *classes) else { return Ok(()) };
        if own.saturating_add(taken).saturating_add(1) <= there {
            return Ok(());
        }
        let present = if taken > 0 { format!(", {taken} for groups that are there already") } else { String::new() };
        Err(Refusal::lacking(
            "classes",
            format!(
                "{} are needed ({own} and one for the others{present}), and {what} tells {there} apart",
                own + taken + 1
            ),
        ))
    }
}
