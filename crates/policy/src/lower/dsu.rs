//! As system registers of an Arm DynamIQ Shared Unit. Classes are scheme IDs: a core has its own in
//! CLUSTERTHREADSID_EL1, CLUSTERPARTCR_EL1 assigns groups of ways to scheme IDs, CLUSTERBUSQOS_EL1 priorities.

use crate::assignment::Assignment;
use crate::mask::Mask;
use crate::offer::Offer;
use crate::refusal::Refusal;

use super::write::RegisterWrite;
use super::{Form, Lowered, ScriptLine};

/// Scheme IDs of a DSU.
const SCHEMES: u32 = 8;
/// Groups of ways that CLUSTERPARTCR_EL1 distinguishes.
const GROUPS: u32 = 4;

/// Writes for a cluster, in the order in which a core does them.
pub(super) struct Cluster {
    /// Registers of the whole cluster: one core is enough, and it does no harm if every core does it.
    pub shared: Vec<RegisterWrite>,
    /// Registers of each core.
    pub own: Vec<RegisterWrite>,
    /// The bits of ACTLR_EL3 that let lower exception levels write all these.
    pub access: RegisterWrite,
}

/// The writes that an assignment comes to.
///
/// # Errors
/// More classes than scheme IDs, several clusters, masks that the register cannot say.
pub(super) fn cluster(assignment: &Assignment, offer: &Offer) -> Result<Cluster, Refusal> {
    let classes = assignment.classes.len() as u32;
    if classes > SCHEMES {
        let message = format!("{classes} classes with the others, and a DSU distinguishes {SCHEMES} scheme IDs");
        return Err(Refusal::lacking("classes", message));
    }
    let mut shared = Vec::new();
    let mut access = vec![("TSIDEN", 1)];
    if assignment.controls.no_allocate_mode_off {
        let why = "evictions go on into the L3, whatever the snoop filter does".into();
        let bit =
            crate::register::known("CLUSTERACTLR_EL1").register.field("NO_L3_ALLOCATE_OFF").map(|field| field.low);
        if offer.controls.no_allocate_bit != bit {
            let message =
                "the bit of CLUSTERACTLR_EL1 that the platform file names is not the one that is described here";
            return Err(Refusal::lacking("no_allocate_mode", message));
        }
        shared.push(RegisterWrite::some("CLUSTERACTLR_EL1", &[("NO_L3_ALLOCATE_OFF", 1)], &offer.cores, why)?);
    }
    if !assignment.divided.is_empty() {
        shared.push(partition(assignment, offer)?);
        access.push(("SMEN", 1));
    }
    if !assignment.controls.priorities.is_empty() {
        shared.push(priorities(assignment, offer)?);
        access.push(("SMEN", 1));
    }
    let mut own = Vec::new();
    for &core in &offer.cores {
        let class = assignment.classes.iter().find(|class| class.cores.contains(&core));
        let (number, name) = class.map_or((0, "others"), |class| (class.number, class.name.as_str()));
        let why = format!("core {core}: {name}");
        own.push(RegisterWrite::all("CLUSTERTHREADSID_EL1", &[("SID", u64::from(number))], &[core], why)?);
    }
    let why = "lower exception levels may read and change the cluster's settings".into();
    let access = RegisterWrite::some("ACTLR_EL3", &access, &offer.cores, why)?;
    Ok(Cluster { shared, own, access })
}

fn scheme(number: u32) -> String {
    format!("SCHEME{number}")
}

/// A scheme ID fills the groups that it has alone or with others, and those that nobody has. Groups that no class shall fill
/// are given to a scheme ID that no core has.
fn partition(assignment: &Assignment, offer: &Offer) -> Result<RegisterWrite, Refusal> {
    let [cache] = assignment.divided.as_slice() else {
        return Err(Refusal::lacking("classes", "the policy divides several caches, and a DSU has one"));
    };
    if cache.bits != GROUPS {
        let message =
            format!("the L3 has {} groups in the platform file, and CLUSTERPARTCR_EL1 knows {GROUPS}", cache.bits);
        return Err(Refusal::lacking("classes", message));
    }
    let mut fields = Vec::new();
    let mut why = Vec::new();
    let mut given = Mask(0);
    for class in &assignment.classes {
        let own = class.masks.iter().find(|mask| mask.level == cache.level && mask.domain == cache.domain);
        let mask = own.map_or(Mask(0), |own| own.mask);
        given = given.with(mask);
        fields.push((scheme(class.number), u64::from(mask.0)));
        why.push(format!("groups {} for {}", mask.ways(), class.name));
    }
    let left = Mask::full(GROUPS).without(given);
    if !left.is_empty() {
        let unused = assignment.classes.len() as u32;
        if unused >= SCHEMES {
            let message = format!("groups {} are nobody's, and no scheme ID is left to keep them", left.ways());
            return Err(Refusal::lacking("classes", message));
        }
        fields.push((scheme(unused), u64::from(left.0)));
        why.push(format!("groups {} for nobody", left.ways()));
    }
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    RegisterWrite::all("CLUSTERPARTCR_EL1", &fields, &offer.cores, why.join(", "))
}

/// Scheme IDs that nobody has get what the others have.
fn priorities(assignment: &Assignment, offer: &Offer) -> Result<RegisterWrite, Refusal> {
    let controls = &assignment.controls;
    let others = controls.priority(0);
    let mut fields = Vec::new();
    for number in 0..SCHEMES {
        if let Some(level) = controls.priority(number).or(others) {
            fields.push((scheme(number), u64::from(level)));
        }
    }
    let why = controls.priorities.iter().map(|it| format!("{} for {}", it.level, super::named(assignment, it.class)));
    let why = format!("CHI QoS {}", why.collect::<Vec<_>>().join(", "));
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    RegisterWrite::some("CLUSTERBUSQOS_EL1", &fields, &offer.cores, why)
}

/// What a reader should know of every form of these writes.
pub(super) fn notes() -> Vec<String> {
    vec![
        "a cluster that was powered down, and a core that comes up, begin with the values of reset: the writes belong where cores come up".into(),
        "software that moves between cores has to take its scheme ID along; requests from outside the cores have scheme ID 0 unless CLUSTERACPSID_EL1 and CLUSTERSTASHSID_EL1 say otherwise".into(),
    ]
}

/// Lowers an assignment to a list of writes.
///
/// # Errors
/// What the registers cannot say.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let Cluster { shared, own, access } = cluster(assignment, offer)?;
    let writes: Vec<_> = shared.into_iter().chain(own).chain([access]).collect();
    let line = |write: &RegisterWrite| ScriptLine { shell: write.line(), why: write.why.clone(), steps: Vec::new() };
    let lines: Vec<_> = writes.iter().map(line).collect();
    let mut text = super::comment(assignment, "# ", &["Exception level 3 may write all of these."]);
    text += &super::beside(&lines);
    Ok(Lowered { form: Form::Dsu, lines, notes: notes(), writes, text: Some(text) })
}
