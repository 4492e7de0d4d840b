//! Whether the caches that shares name are there and used.

use crate::offer::{CacheOffer, DomainOffer};
use crate::refusal::Refusal;

use super::{Planner, class_shares, others_shares};

impl Planner<'_> {
    /// A share of a cache that is not there, or that its class never uses, would be passed over in silence.
    pub(super) fn named_caches_are_there(&self, cache: &CacheOffer) -> Result<(), Refusal> {
        let level = cache.level;
        let ids = |of: &dyn Fn(&DomainOffer) -> bool| {
            let ids: Vec<_> = cache.domains.iter().filter(|domain| of(domain)).map(|it| it.id.to_string()).collect();
            ids.join(", ")
        };
        let of_class = |i| Some((Some(i), class_shares(self.policy, i, level)?));
        let classes = (0..self.policy.classes.len()).filter_map(of_class);
        for (class, shares) in classes.chain(others_shares(self.policy, level).map(|shares| (None, shares))) {
            let key = class.map_or("others".to_owned(), |i| format!("classes.{i}"));
            for (place, named) in shares.named().iter().enumerate() {
                let key = format!("{key}.l{level}.{place}.cache");
                let Some(domain) = cache.domains.iter().find(|domain| domain.id == named.cache) else {
                    let (called, there) = (&self.offer.called, ids(&|_| true));
                    let message = format!("{called} has no L{level} with the id {}; there are {there}", named.cache);
                    return Err(Refusal::wrong(key, message));
                };
                if let Some(i) = class.filter(|i| !self.touches(*i, domain)) {
                    let (name, used) = (&self.policy.classes[i].name, ids(&|domain| self.touches(i, domain)));
                    let message = format!(
                        "no core of `{name}` uses L{level} {}, so the share would do nothing; its cores use {used}",
                        named.cache
                    );
                    return Err(Refusal::wrong(key, message));
                }
            }
        }
        Ok(())
    }
}
