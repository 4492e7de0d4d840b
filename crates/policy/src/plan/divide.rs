//! Dividing one cache: masks first, then exclusive shares from the ends, then those who share what is left.

use crate::amount::{Amount, MaskGeometry, size};
use crate::mask::{End, Mask};
use crate::refusal::Refusal;
use crate::share::{CacheShare, Extent};

use super::ask::{Ask, ClassMasks, Division, amounts, parts};

/// Divides a cache.
///
/// # Errors
/// Shares that do not fit, or less than the machine takes.
pub fn divide(ask: &Ask, notes: &mut Vec<String>) -> Result<Division, Refusal> {
    let mut divider = Divider { ask, owned: Vec::new(), notes };
    divider.divide()
}

/// What to do about groups of others.
const REMOVE: &str = "`rmdir` of its folder removes a group that nobody needs";

struct Divider<'a, 'p> {
    ask: &'a Ask<'p>,
    /// Ways that somebody has alone, and who.
    owned: Vec<(Mask, String)>,
    notes: &'a mut Vec<String>,
}

fn joined<'m>(masks: impl IntoIterator<Item = &'m (Mask, String)>) -> Mask {
    masks.into_iter().fold(Mask(0), |all, (mask, _)| all.with(*mask))
}

impl Divider<'_, '_> {
    fn called(&self) -> String {
        format!("L{} {}", self.ask.cache.level, self.ask.domain.id)
    }

    fn divide(&mut self) -> Result<Division, Refusal> {
        let ask = self.ask;
        let mut shares = Vec::new();
        let mut locks = vec![Mask(0); ask.locks.len()];
        // Masks say where they lie, so they come before what can lie anywhere.
        let mut fixed_shared = Mask(0);
        for (lock, mask) in ask.locks.iter().zip(&mut locks) {
            if let Some(wanted) = amounts(&lock.size)[0].mask() {
                self.own_mask(&lock.key, &lock.name, &[wanted])?;
                *mask = wanted;
            }
        }
        for claim in ask.claims {
            let masks: Vec<Mask> = amounts(claim.share).iter().filter_map(Amount::mask).collect();
            if claim.share.exclusive {
                self.own_mask(&claim.key, &claim.name, &masks)?;
            } else {
                fixed_shared = masks.iter().fold(fixed_shared, |all, mask| all.with(*mask));
            }
        }
        if let Some((_, share)) = &ask.others {
            fixed_shared = amounts(share).iter().filter_map(Amount::mask).fold(fixed_shared, Mask::with);
        }
        for (lock, mask) in ask.locks.iter().zip(&mut locks) {
            if mask.is_empty() {
                *mask = self.own_amount(&lock.key, &lock.name, &amounts(&lock.size)[0], lock.size.at, fixed_shared)?;
            }
        }
        for claim in ask.claims.iter().filter(|claim| claim.share.exclusive) {
            let mut place = |amount: &Amount| match amount.mask() {
                Some(mask) => Ok(mask),
                None => self.own_amount(&claim.key, &claim.name, amount, claim.share.at, fixed_shared),
            };
            let [code, data] = match claim.share.extent {
                Extent::Together(amount) => [place(&amount)?; 2],
                Extent::Apart { code, data } => [place(&code)?, place(&data)?],
            };
            shares.push((claim.who, ClassMasks { code, data, exclusive: true }));
        }
        let rest = self.rest()?;
        for claim in ask.claims.iter().filter(|claim| !claim.share.exclusive) {
            shares.push((claim.who, self.shared(&claim.key, &claim.name, claim.share, rest)?));
        }
        let rest_of_all = ClassMasks { code: rest, data: rest, exclusive: false };
        if let Some((key, share)) = &ask.others {
            shares.push((0, self.shared(key, "the others", share, rest)?));
        }
        Ok(Division { shares, rest: rest_of_all, locks })
    }

    fn least(&self) -> u32 {
        self.ask.cache.min_bits.max(1)
    }

    /// The bits of an amount that is no mask.
    fn bits(&mut self, key: &str, amount: &Amount) -> Result<u32, Refusal> {
        let domain = self.ask.domain;
        let shape = MaskGeometry { bits: domain.bits, ways: domain.ways, size_bytes: domain.size_bytes };
        let bits = amount.bits(&shape);
        let (least, called) = (self.least(), self.called());
        let up = bits.bits > 0 && bits.bits < least && amount.bound == Some(crate::amount::Bound::AtLeast);
        let count = if up { least } else { bits.bits };
        if count < least {
            let smallest = size(domain.size_bytes / u64::from(domain.bits) * u64::from(least));
            let message = format!(
                "{amount} of {called} is less than the least share there, {least} of its {} ({smallest})",
                parts(domain)
            );
            return Err(Refusal::wrong(key, message));
        }
        if count > domain.bits {
            let message = format!("{amount} is more than {called} has: {}, {}", size(domain.size_bytes), parts(domain));
            return Err(Refusal::wrong(key, message));
        }
        if bits.rounded || up {
            self.notes
                .push(format!("{called}: {amount} is no whole number of its {}, and becomes {count}", parts(domain)));
        }
        Ok(count)
    }

    /// Whether a mask can be written at all.
    fn is_a_mask(&self, key: &str, mask: Mask) -> Result<(), Refusal> {
        let (domain, called) = (self.ask.domain, self.called());
        if !mask.without(domain.full()).is_empty() {
            let message = format!("{mask} goes beyond {called}, whose full mask is {}", domain.full());
            return Err(Refusal::wrong(key, message));
        }
        if !self.ask.cache.sparse && !mask.is_contiguous() {
            let message = format!("{mask} has holes, and {called} takes masks of consecutive bits only");
            return Err(Refusal::wrong(key, message));
        }
        if mask.first_run() < self.least() {
            let message = format!("{mask} has fewer bits in a row than {called} takes: {} at least", self.least());
            return Err(Refusal::wrong(key, message));
        }
        Ok(())
    }

    /// Assigns masks to one owner, who may have them overlap among themselves.
    fn own_mask(&mut self, key: &str, name: &str, masks: &[Mask]) -> Result<(), Refusal> {
        let called = self.called();
        for mask in masks {
            self.is_a_mask(key, *mask)?;
            if let Some((other, owner)) = self.owned.iter().find(|(other, _)| other.overlaps(*mask)) {
                let message = format!("{mask} overlaps in {called} with {other} of `{owner}`; exclusive shares cannot");
                return Err(Refusal::wrong(key, message));
            }
            self.is_free(key, *mask)?;
            let devices = mask.within(self.ask.domain.devices());
            if !devices.is_empty() {
                let message = format!(
                    "devices fill {} of {called}, which {mask} would have alone; a mask without {}, or `exclusive = false`, would do",
                    devices.named("way"),
                    if devices.count() == 1 { "it" } else { "them" }
                );
                return Err(Refusal::lacking(key, message));
            }
        }
        self.owned.extend(masks.iter().map(|mask| (*mask, name.to_owned())));
        Ok(())
    }

    /// Groups that are there already must not fill a mask that is to be exclusive.
    fn is_free(&self, key: &str, mask: Mask) -> Result<(), Refusal> {
        let filled = mask.within(self.ask.domain.filled);
        if filled.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{} ways {} of {}, which {mask} would have alone; they are not Waykeeper's to change ({REMOVE})",
            self.ask.domain.groups_do("fills", "fill"),
            filled.ways(),
            self.called()
        );
        Err(Refusal::lacking(key, message))
    }

    /// Finds room for an exclusive amount.
    fn own_amount(&mut self, key: &str, name: &str, amount: &Amount, at: End, fixed: Mask) -> Result<Mask, Refusal> {
        let bits = self.bits(key, amount)?;
        let domain = self.ask.domain;
        let taken = joined(&self.owned).with(domain.filled).with(domain.devices()).with(fixed);
        let free = domain.full().without(taken);
        let found = self.find(free, bits, at);
        let Some(mask) = found else { return Err(self.no_room(key, name, amount, bits, free)) };
        self.owned.push((mask, name.to_owned()));
        Ok(mask)
    }

    /// Bits in a row or, where masks may have holes, any; but then enough of them in the first row, for the kernel counts no
    /// further.
    fn find(&self, free: Mask, bits: u32, at: End) -> Option<Mask> {
        let with_holes = || {
            let free = free.from_run_of(self.least());
            free.take_any(bits, at).filter(|mask| self.ask.cache.sparse && mask.first_run() >= self.least())
        };
        free.take(bits, at).or_else(with_holes)
    }

    fn no_room(&self, key: &str, name: &str, amount: &Amount, bits: u32, free: Mask) -> Refusal {
        let domain = self.ask.domain;
        let mut reasons: Vec<_> =
            self.owned.iter().map(|(mask, owner)| format!("`{owner}` has {}", mask.ways())).collect();
        let mut also = |mask: Mask, what: &str| {
            if !mask.is_empty() {
                reasons.push(format!("{what} {}", mask.ways()));
            }
        };
        also(domain.devices(), "devices fill");
        also(domain.filled, &domain.groups_do("fills", "fill"));
        let remove = if domain.filled.is_empty() { String::new() } else { format!("; {REMOVE}") };
        let run = free.longest_run().count();
        let left = match (free.count(), run) {
            (0, _) => "none is free".to_owned(),
            (count, run) if count == run || self.ask.cache.sparse => format!("{count} are free"),
            (count, run) => format!("{count} are free, {run} in a row"),
        };
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        let message = format!(
            "`{name}` asks for {amount} of {}, {bits} of its {}, and {left}{reasons}{remove}",
            self.called(),
            parts(domain)
        );
        Refusal::wrong(key, message)
    }

    /// What nobody has alone, as one mask.
    fn rest(&mut self) -> Result<Mask, Refusal> {
        let domain = self.ask.domain;
        let all = domain.full().without(joined(&self.owned)).without(domain.kept);
        let rest = if self.ask.cache.sparse { all.from_run_of(self.least()) } else { all.longest_run() };
        if rest.count() < self.least() {
            let key = self.ask.claims.last().map(|claim| claim.key.clone());
            let key = key.or_else(|| self.ask.locks.last().map(|lock| lock.key.clone())).unwrap_or_default();
            let message = format!(
                "nothing is left of {} for the others; a mask has {} of its {} at least",
                self.called(),
                self.least(),
                parts(domain)
            );
            return Err(Refusal::wrong(key, message));
        }
        if rest != all {
            let lost = all.without(rest);
            self.notes.push(format!(
                "{}: ways {} are left to nobody, since a mask is of bits in a row",
                self.called(),
                lost.ways()
            ));
        }
        Ok(rest)
    }

    /// A share of what nobody has alone.
    fn shared(&mut self, key: &str, name: &str, share: &CacheShare, rest: Mask) -> Result<ClassMasks, Refusal> {
        let domain = self.ask.domain;
        let mut place = |amount: &Amount| -> Result<Mask, Refusal> {
            if let Some(mask) = amount.mask() {
                self.is_a_mask(key, mask)?;
                if let Some((other, owner)) = self.owned.iter().find(|(other, _)| other.overlaps(mask)) {
                    let message =
                        format!("{mask} overlaps in {} with {other}, which `{owner}` has alone", self.called());
                    return Err(Refusal::wrong(key, message));
                }
                if mask.overlaps(domain.kept) {
                    let message = format!("{} a part of {mask} alone ({REMOVE})", domain.groups_do("has", "have"));
                    return Err(Refusal::lacking(key, message));
                }
                return Ok(mask);
            }
            let bits = self.bits(key, amount)?;
            let found = self.find(rest, bits, share.at);
            found.ok_or_else(|| {
                let message = format!(
                    "{amount} of {} is {bits} of its {}, and exclusive shares leave {} for {name}",
                    self.called(),
                    parts(domain),
                    rest.count()
                );
                Refusal::wrong(key, message)
            })
        };
        let [code, data] = match share.extent {
            Extent::Together(amount) => [place(&amount)?; 2],
            Extent::Apart { code, data } => [place(&code)?, place(&data)?],
        };
        Ok(ClassMasks { code, data, exclusive: false })
    }
}
