//! Candidates: what a machine offers, as ladders of policies from the smallest share to the largest.

use waykeeper_platform::{CoreId, WayControl, format_cpulist};
use waykeeper_policy::{
    Amount, BandwidthLimit, BusPriority, CacheQuantity, CacheShare, Class, ClockRange, Colours, CoreFrequency,
    CoreList, Cores, Location, Lockdown, LockedLines, Offer, Others, Policy, PseudoLock,
};

use super::dimension::TuneOver;

/// The class of the target.
const TARGET: &str = "target";

/// The class of its neighbours, where the target's core is to stay as it is.
const NEIGHBOURS: &str = "neighbours";

/// Who a search is for.
#[derive(Debug, Clone)]
pub struct TuneParties {
    /// The target's core.
    pub target: CoreId,
    /// The cores of its neighbours.
    pub neighbours: Vec<CoreId>,
    /// Bytes of the target's buffer; 0 where that is not known.
    pub data_bytes: u64,
}

/// Candidates of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// What they are: `ways of the L2`.
    pub what: String,
    /// What of the machine they use.
    pub dimensions: Vec<TuneOver>,
    /// The policies, from the smallest share to the largest.
    pub rungs: Vec<Rung>,
    /// The level whose ways each rung has one more of, where that is all that the rungs differ in.
    pub ways_of: Option<u8>,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Short: `l2-3`.
    pub name: String,
    /// `3 of 8 segments of the L2`.
    pub called: String,
    /// What is taken from everyone else, as a share of what there is: 0 to 1.
    pub taken: f64,
    /// The policy.
    pub policy: Policy,
}

/// All families that a machine offers, the simplest first; `over` limits them to some dimensions.
pub fn families(offer: &Offer, parties: &TuneParties, over: &[TuneOver]) -> Vec<Family> {
    let builder = Builder { offer, parties };
    let mut found = builder.singles();
    let combined = builder.combined();
    found.extend(combined);
    let is_allowed = |dimension: &TuneOver| over.is_empty() || over.contains(dimension);
    found.retain(|family| !family.rungs.is_empty() && family.dimensions.iter().all(is_allowed));
    found
}

struct Builder<'a> {
    offer: &'a Offer,
    parties: &'a TuneParties,
}

/// A share of something for the target, and what to call it.
struct Part {
    name: String,
    called: String,
    taken: f64,
    change: Change,
}

/// What a part adds to a policy.
type Change = std::rc::Rc<dyn Fn(&mut Policy)>;

impl Builder<'_> {
    fn singles(&self) -> Vec<Family> {
        let mut found = Vec::new();
        let levels: Vec<u8> = [2, 3].into_iter().filter(|level| self.domain(*level).is_some()).collect();
        for level in &levels {
            let what = format!("ways of the L{level}");
            found.push(self.family(what, &[TuneOver::Ways], self.ways(*level), Some(*level)));
        }
        if let [inner, outer] = levels.as_slice() {
            let what = format!("ways of the L{inner} and the L{outer}");
            found.push(self.family(what, &[TuneOver::Ways], self.both(*inner, *outer), None));
        }
        found.extend(self.locks());
        found.extend(self.lockdown());
        found.push(self.family("priority".into(), &[TuneOver::Priority], self.priority(), None));
        found.push(self.family("no bypass of the L3".into(), &[TuneOver::Allocation], self.allocation(), None));
        found.push(self.family("bandwidth of the others".into(), &[TuneOver::Bandwidth], self.bandwidth(), None));
        found.push(self.family("weights of bandwidth".into(), &[TuneOver::Bandwidth], self.weights(), None));
        found.push(self.family("colours".into(), &[TuneOver::Colours], self.colours(), None));
        found.push(self.family("clock of the neighbours".into(), &[TuneOver::Clock], self.clocks(), None));
        found
    }

    /// Ways of the outermost level together with each other measure, and with all of them, at their strongest.
    fn combined(&self) -> Vec<Family> {
        let Some(level) = [3, 2].into_iter().find(|level| self.domain(*level).is_some()) else { return Vec::new() };
        let strongest: Vec<(String, TuneOver, Part)> = [
            (TuneOver::Priority, self.priority()),
            (TuneOver::Allocation, self.allocation()),
            (TuneOver::Bandwidth, self.bandwidth()),
            (TuneOver::Bandwidth, self.weights()),
        ]
        .into_iter()
        .filter_map(|(dimension, mut parts)| parts.pop().map(|part| (part.called.clone(), dimension, part)))
        .collect();
        let mut found = Vec::new();
        let mut with = |chosen: &[&(String, TuneOver, Part)]| {
            let called: Vec<&str> = chosen.iter().map(|(called, ..)| called.as_str()).collect();
            let what = format!("ways of the L{level}, {}", called.join(", "));
            let parts = self
                .ways(level)
                .into_iter()
                .map(|ways| chosen.iter().fold(ways, |whole, (_, _, part)| whole.and(part)));
            let dimensions: Vec<TuneOver> =
                std::iter::once(TuneOver::Ways).chain(chosen.iter().map(|(_, dimension, _)| *dimension)).collect();
            found.push(self.family(what, &dimensions, parts.collect(), Some(level)));
        };
        for one in &strongest {
            with(&[one]);
        }
        if strongest.len() > 1 {
            with(&strongest.iter().collect::<Vec<_>>());
        }
        found
    }

    fn family(&self, what: String, dimensions: &[TuneOver], parts: Vec<Part>, ways_of: Option<u8>) -> Family {
        let rungs = parts.into_iter().map(|part| {
            let blank = self.policy(&part.called);
            let mut policy = blank.clone();
            (part.change)(&mut policy);
            // A class that gets nothing is a mistake to the planner.
            if policy.classes == blank.classes {
                policy.classes.clear();
            }
            Rung { name: part.name, called: part.called, taken: part.taken, policy }
        });
        Family { what, dimensions: dimensions.to_vec(), rungs: rungs.collect(), ways_of }
    }

    /// A policy that assigns nothing yet.
    fn policy(&self, called: &str) -> Policy {
        Policy {
            title: format!("found by a search: {called}"),
            classes: vec![Class {
                name: TARGET.into(),
                cores: Some(self.core()),
                tasks: Vec::new(),
                cgroups: Vec::new(),
                l2: None,
                l3: None,
                bandwidth: None,
                priority: None,
                weight: None,
                clock: None,
                colours: None,
            }],
            pseudo_locks: Vec::new(),
            lockdown: None,
            no_allocate_mode: None,
            ring: None,
            others: Others::default(),
        }
    }

    fn core(&self) -> Cores {
        Cores::Everywhere(CoreList::parse(&self.parties.target.to_string()).expect("one core is a list"))
    }

    fn neighbours(&self) -> Cores {
        Cores::Everywhere(CoreList::parse(&format_cpulist(&self.parties.neighbours)).expect("it was written as a list"))
    }

    /// What a bit of a mask is called there.
    fn word(&self, level: u8) -> &'static str {
        let Some(cache) = self.offer.cache(level) else { return "ways" };
        match cache.control {
            Some(WayControl::DsuSchemes) => "way groups",
            Some(WayControl::MpamPortions) => "portions",
            _ if cache.domains.iter().all(|domain| domain.bits == domain.ways) => "ways",
            _ => "segments",
        }
    }

    /// The target's cache of a level, where it can be divided and a neighbour uses it too: bits of a mask, the fewest in one,
    /// and bytes.
    fn domain(&self, level: u8) -> Option<(u32, u32, u64)> {
        let cache = self.offer.cache(level)?;
        cache.control?;
        let domain = cache.domains.iter().find(|domain| domain.cores.contains(&self.parties.target))?;
        let shared = domain.cores.iter().any(|core| self.parties.neighbours.contains(core));
        shared.then_some((domain.bits, cache.min_bits.max(1), domain.size_bytes))
    }

    fn ways(&self, level: u8) -> Vec<Part> {
        let Some((bits, least, _)) = self.domain(level) else { return Vec::new() };
        (least..=bits.saturating_sub(least)).map(|count| Part::ways(level, count, bits, self.word(level))).collect()
    }

    /// Both levels in proportion: as many rungs as the outer one has.
    fn both(&self, inner: u8, outer: u8) -> Vec<Part> {
        let Some((inner_bits, least, _)) = self.domain(inner) else { return Vec::new() };
        let part = |outer_part: Part| {
            let inner_count = (outer_part.taken * f64::from(inner_bits)).round() as u32;
            let inner_count = inner_count.clamp(least, inner_bits.saturating_sub(least).max(least));
            Part::ways(inner, inner_count, inner_bits, self.word(inner)).and(&outer_part)
        };
        self.ways(outer).into_iter().map(part).collect()
    }

    /// The target's buffer locked into one of its caches.
    fn locks(&self) -> Vec<Family> {
        let levels = [2, 3].into_iter().filter(|level| self.offer.cache(*level).is_some_and(|cache| cache.pseudo_lock));
        let of_level = |level: u8| {
            let (bits, least, bytes) = self.domain(level)?;
            let needed = match self.parties.data_bytes {
                0 => least,
                data => (data.div_ceil(bytes / u64::from(bits)) as u32).max(least),
            };
            let most = if self.parties.data_bytes == 0 { bits.saturating_sub(least) } else { needed };
            let parts: Vec<Part> =
                (needed..=most.min(bits.saturating_sub(least))).map(|count| self.lock(level, count, bits)).collect();
            Some(self.family(format!("the buffer locked into the L{level}"), &[TuneOver::Lock], parts, None))
        };
        levels.filter_map(of_level).collect()
    }

    fn lock(&self, level: u8, count: u32, bits: u32) -> Part {
        let core = self.core();
        let change = move |policy: &mut Policy| {
            // A region is for whoever maps it: no class is needed.
            policy.classes.clear();
            policy.pseudo_locks.push(PseudoLock {
                name: TARGET.into(),
                level,
                core: core.clone(),
                size: CacheShare::of(amount(count)),
            });
        };
        Part {
            name: format!("lock-l{level}-{count}"),
            called: format!("the buffer locked into {count} of {bits} {} of the L{level}", self.word(level)),
            taken: f64::from(count) / f64::from(bits),
            change: std::rc::Rc::new(change),
        }
    }

    /// Lines and pages of an event handler, by the symbols that its linker script defines.
    fn lockdown(&self) -> Vec<Family> {
        let Some(offered) = &self.offer.controls.lockdown else { return Vec::new() };
        let way = self.offer.cache(2).and_then(|cache| cache.domains.first());
        let Some(way) = way.map(|domain| 1.0 / f64::from(domain.ways.max(1))) else { return Vec::new() };
        let part = |name: &str, called: &str, pages: bool, lines: bool| {
            let core = self.core();
            let change = move |policy: &mut Policy| {
                policy.classes.clear();
                policy.lockdown = Some(Lockdown {
                    core: core.clone(),
                    l2: lines.then(|| CacheShare::of(Amount { bound: None, quantity: CacheQuantity::Ways(1) })),
                    lines: if lines { handler_lines() } else { Vec::new() },
                    pages: if pages { handler_pages() } else { Vec::new() },
                });
            };
            let taken = if lines { way } else { 0.0 };
            Part { name: name.into(), called: called.into(), taken, change: std::rc::Rc::new(change) }
        };
        let pages_fit = offered.tlb_entries as usize >= handler_pages().len();
        let mut parts = vec![part("lock-lines", "the handler's lines locked into 1 way of the L2", false, true)];
        if pages_fit {
            parts.insert(0, part("lock-pages", "the handler's pages locked into the TLB", true, false));
            let both = "the handler's pages locked into the TLB, its lines into 1 way of the L2";
            parts.push(part("lock-pages-lines", both, true, true));
        }
        // None of them is more of another one: each stands for itself.
        let what = "lockdown of the handler";
        let family = |part: Part| self.family(what.into(), &[TuneOver::Lock], vec![part], None);
        parts.into_iter().map(family).collect()
    }

    fn priority(&self) -> Vec<Part> {
        let offered = self.offer.controls.priority_levels.is_some_and(|levels| levels > 1);
        let change = |policy: &mut Policy| {
            of_target(policy, |class| class.priority = Some(BusPriority::Highest));
            policy.others.priority = Some(BusPriority::Lowest);
        };
        let part = Part {
            name: "priority".into(),
            called: "the highest priority".into(),
            taken: 0.0,
            change: std::rc::Rc::new(change),
        };
        if offered && !self.parties.neighbours.is_empty() { vec![part] } else { Vec::new() }
    }

    fn allocation(&self) -> Vec<Part> {
        let change = |policy: &mut Policy| policy.no_allocate_mode = Some(false);
        let part = Part {
            name: "no-bypass".into(),
            called: "no bypass of the L3".into(),
            taken: 0.0,
            change: std::rc::Rc::new(change),
        };
        let offered = self.offer.controls.no_allocate_bit.is_some() && !self.parties.neighbours.is_empty();
        if offered { vec![part] } else { Vec::new() }
    }

    /// The others held to less and less: in tenths of what there is.
    fn bandwidth(&self) -> Vec<Part> {
        let Some(bandwidth) = self.offer.bandwidth.as_ref().filter(|_| !self.parties.neighbours.is_empty()) else {
            return Vec::new();
        };
        let percent_of = |value: u32| value * 100 / bandwidth.max.max(1);
        let steps =
            (1..10).rev().map(|tenth| tenth * 10).filter(|percent| *percent >= percent_of(bandwidth.min).max(1));
        let whole = bandwidth.max;
        let part = |percent: u32| {
            let change = move |policy: &mut Policy| {
                // Without a class of its own the target is one of the others.
                of_target(policy, |class| class.bandwidth = Some(BandwidthLimit::Percent(whole * 1000)));
                policy.others.bandwidth = Some(BandwidthLimit::Percent(percent * 1000));
            };
            Part {
                name: format!("bandwidth-{percent}"),
                called: format!("the others held to {percent} % of the bandwidth"),
                taken: 1.0 - f64::from(percent) / 100.0,
                change: std::rc::Rc::new(change),
            }
        };
        steps.map(part).collect()
    }

    /// More and more of the bandwidth for the target where not all can have what they want.
    fn weights(&self) -> Vec<Part> {
        let Some(largest) = self.offer.controls.largest_stride.filter(|_| !self.parties.neighbours.is_empty()) else {
            return Vec::new();
        };
        let weights = (1..).map(|power| 1u32 << power).take_while(|weight| *weight <= largest + 1);
        let part = |weight: u32| {
            let change = move |policy: &mut Policy| {
                of_target(policy, |class| class.weight = Some(weight));
                policy.others.weight = Some(1);
            };
            let others = self.parties.neighbours.len() as f64;
            Part {
                name: format!("weight-{weight}"),
                called: format!("{weight} times the weight of the others on the bandwidth"),
                taken: f64::from(weight) / (f64::from(weight) + others) - 1.0 / (1.0 + others),
                change: std::rc::Rc::new(change),
            }
        };
        weights.map(part).collect()
    }

    fn colours(&self) -> Vec<Part> {
        let Some(colours) = self.offer.controls.colours.as_ref().filter(|_| !self.parties.neighbours.is_empty()) else {
            return Vec::new();
        };
        let part = |count: u32| {
            let change = move |policy: &mut Policy| {
                of_target(policy, |class| class.colours = Some(Colours::Count(count)));
            };
            Part {
                name: format!("colours-{count}"),
                called: format!("{count} of {} colours of the L{}", colours.colours, colours.level),
                taken: f64::from(count) / f64::from(colours.colours),
                change: std::rc::Rc::new(change),
            }
        };
        [8, 4, 2].into_iter().map(|of| colours.colours / of).filter(|count| *count > 0).map(part).collect()
    }

    /// The neighbours at less and less of their base clocks. The target's stays as it is: no policy names it.
    fn clocks(&self) -> Vec<Part> {
        let bases = self
            .offer
            .controls
            .clocks
            .iter()
            .filter(|clock| clock.cores.iter().any(|core| self.parties.neighbours.contains(core)));
        let Some(base) = bases.filter_map(|clock| clock.base_mhz).min() else { return Vec::new() };
        let part = |quarters: u32| {
            // Levels of performance are multiples of 100 MHz.
            let mhz = (base * quarters / 4 / 100).max(1) * 100;
            let cores = self.neighbours();
            let change = move |policy: &mut Policy| {
                of_target(policy, |class| {
                    class.name = NEIGHBOURS.into();
                    class.cores = Some(cores.clone());
                    class.clock = Some(ClockRange::Between(CoreFrequency::Mhz(mhz.min(400)), CoreFrequency::Mhz(mhz)));
                });
            };
            Part {
                name: format!("clock-{mhz}"),
                called: format!("the neighbours at {mhz} MHz at most"),
                taken: 1.0 - f64::from(quarters) / 4.0,
                change: std::rc::Rc::new(change),
            }
        };
        [3, 2, 1].into_iter().map(part).collect()
    }
}

impl Part {
    fn ways(level: u8, count: u32, bits: u32, word: &str) -> Self {
        let change = move |policy: &mut Policy| {
            let share = Some(CacheShare::of(amount(count)).into());
            of_target(policy, |class| *if level == 2 { &mut class.l2 } else { &mut class.l3 } = share.clone());
        };
        Self {
            name: format!("l{level}-{count}"),
            called: format!("{count} of {bits} {word} of the L{level}"),
            taken: f64::from(count) / f64::from(bits),
            change: std::rc::Rc::new(change),
        }
    }

    /// Both together.
    fn and(self, other: &Part) -> Self {
        let (first, second) = (self.change, other.change.clone());
        Self {
            name: format!("{}-{}", self.name, other.name),
            called: format!("{}, {}", self.called, other.called),
            taken: self.taken.max(other.taken),
            change: std::rc::Rc::new(move |policy| {
                first(policy);
                second(policy);
            }),
        }
    }
}

fn amount(bits: u32) -> Amount {
    Amount { bound: None, quantity: CacheQuantity::Bits(bits) }
}

/// Changes the one class of a policy.
fn of_target(policy: &mut Policy, change: impl FnOnce(&mut Class)) {
    if let Some(class) = policy.classes.first_mut() {
        change(class);
    }
}

/// The symbols of the bundled policy `zynq-lockdown`: a linker script defines them.
fn handler_lines() -> Vec<LockedLines> {
    let lines = |part: &str| LockedLines {
        start: Location::Symbol(format!("__handler_{part}_start")),
        end: Some(Location::Symbol(format!("__handler_{part}_end"))),
        bytes: None,
    };
    vec![lines("code"), lines("data")]
}

fn handler_pages() -> Vec<Location> {
    ["__handler_code_start", "__handler_data_start", "__page_tables"]
        .map(|symbol| Location::Symbol(symbol.into()))
        .to_vec()
}

#[cfg(test)]
mod tests {
    use waykeeper_platform::{Platform, find_bundled};
    use waykeeper_policy::offer::{BandwidthOffer, BandwidthUnit};

    use super::*;

    fn of(over: TuneOver) -> Vec<Policy> {
        let bundled = find_bundled("i7-13800hre").unwrap();
        let mut offer = Offer::of_platform(&Platform::from_toml(bundled.text, "i7-13800hre").unwrap());
        offer.bandwidth = Some(BandwidthOffer {
            domains: vec![(0, offer.cores.clone())],
            unit: BandwidthUnit::Percent,
            min: 10,
            max: 100,
            step: 10,
            classes: None,
            rates: false,
        });
        let parties = TuneParties { target: 0, neighbours: vec![1, 2, 4], data_bytes: 0 };
        let families = families(&offer, &parties, &[over]);
        families.into_iter().flat_map(|family| family.rungs).map(|rung| rung.policy).collect()
    }

    fn cores(class: &Class) -> &[CoreId] {
        class.cores.as_ref().unwrap().on("i7-13800hre").unwrap()
    }

    #[test]
    fn what_holds_back_the_others_leaves_the_target_alone() {
        let bandwidth = of(TuneOver::Bandwidth);
        assert_eq!(bandwidth.len(), 9);
        for policy in bandwidth {
            assert_eq!(cores(&policy.classes[0]), [0]);
            assert_eq!(policy.classes[0].bandwidth, Some(BandwidthLimit::Percent(100_000)));
            assert!(policy.others.bandwidth.is_some());
        }
        let clocks = of(TuneOver::Clock);
        assert_eq!(clocks.len(), 3);
        for policy in clocks {
            // Whoever is in no class is one of the others: the target keeps its clock only where they have none.
            assert_eq!(policy.others.clock, None);
            assert_eq!(policy.classes.len(), 1);
            assert_eq!(cores(&policy.classes[0]), [1, 2, 4]);
            assert!(policy.classes[0].clock.is_some());
        }
    }
}
