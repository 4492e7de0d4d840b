//! Page colours for hypervisors: Xen, Bao and Jailhouse.

use waykeeper_platform::{Architecture, WayControl, format_cpulist};

use crate::amount::size;
use crate::assignment::{AssignedClass, AssignedColours, Assignment, ColourShare};
use crate::mask::ContiguousBits;
use crate::offer::{Offer, PAGE_BYTES};
use crate::refusal::Refusal;

use super::{Form, Lowered, ScriptLine, control, plain};

/// The colours of an assignment, on a machine that a hypervisor colours.
fn coloured<'a>(assignment: &'a Assignment, offer: &Offer, form: Form) -> Result<&'a AssignedColours, Refusal> {
    match offer.controls.architecture {
        Some(Architecture::Arm) => {}
        Some(_) => {
            let message = format!("{form} colours memory on 64-bit Arm only, which {} is not", offer.called);
            return Err(Refusal::lacking("classes", message));
        }
        None => {
            let message = format!("the instruction set of {} is not known (`architecture`)", offer.called);
            return Err(Refusal::lacking("classes", message));
        }
    }
    assignment.controls.colours.as_ref().ok_or_else(|| {
        Refusal::wrong(
            "classes",
            format!("as {form} classes get page colours, and none asks for any; expected `colours`"),
        )
    })
}

/// Which bits make a colour, in a sentence.
fn bits(colours: &AssignedColours) -> String {
    let (low, high) = colours.bits;
    let way = colours.size_bytes / u64::from(colours.ways.max(1));
    format!(
        "A page's colour is bits {high} to {low} of its physical address: {} colours, as a way of the L{} has {} and a page {}.",
        colours.colours,
        colours.level,
        size(way),
        size(PAGE_BYTES)
    )
}

/// `2-6`, or `4`.
fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn in_order(colours: &AssignedColours) -> impl Iterator<Item = &ColourShare> {
    colours.shares.iter().filter(|share| share.class > 0)
}

fn class<'a>(assignment: &'a Assignment, share: &ColourShare) -> Option<&'a AssignedClass> {
    assignment.classes.iter().find(|class| class.number == share.class)
}

fn cores(class: &AssignedClass) -> Option<String> {
    (!class.cores.is_empty()).then(|| format_cpulist(&class.cores))
}

/// What the texts themselves say of names that stand in documents and were never read by the program that takes them.
const UNCHECKED: &str =
    "The names of the fields were not checked against the hypervisor's own headers: compile it with them first.";
const UNCHECKED_XL: &str =
    "xl's parser takes this form; that it knows llc_colors (since 4.20) was not checked: `xl create -n` shows it.";

/// As parameters of Xen and lines of its domains' configurations (Xen, docs/misc/cache-coloring.rst). The others are dom0
/// and Xen itself, which takes the highest of their colours. The document's `llc-colors` is the property of a device tree; xl's
/// parser takes no hyphen in a key.
pub fn xen(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let colours = coloured(assignment, offer, Form::Xen)?;
    let others = colours.share(0).ok_or_else(|| Refusal::wrong("others.colours", "the others have no colour"))?;
    let mut notes = vec!["a domain's memory is allocated page by page, so that it has no large pages".to_owned()];
    let (dom0, xen) = match others.count {
        1 => {
            notes.push("dom0 and Xen itself share their one colour".into());
            (range(others.first, others.first), range(others.first, others.first))
        }
        _ => (range(others.first, others.last() - 1), range(others.last(), others.last())),
    };
    let boot = format!(
        "llc-coloring=on llc-size={} llc-nr-ways={} dom0-llc-colors={dom0} xen-llc-colors={xen}",
        short_size(colours.size_bytes),
        colours.ways
    );
    let mut lines = vec![line(boot, "on Xen's command line".into())];
    let mut text = super::comment(assignment, "# ", &[&bits(colours), UNCHECKED_XL]);
    text += &format!("\n# Xen's command line\n{}\n", lines[0].shell);
    for share in in_order(colours) {
        let Some(class) = class(assignment, share) else { continue };
        let own = line(
            format!("llc_colors = [\"{}\"]", range(share.first, share.last())),
            format!("in the configuration of the domain {}", class.name),
        );
        let property =
            format!("without xl: llc-colors = \"{}\" in its device-tree node", range(share.first, share.last()));
        text += &format!("\n# Configuration of the domain {} ({property})\n{}\n", plain(&class.name), own.shell);
        lines.push(own);
        if let Some(cores) = cores(class) {
            let pinned = line(format!("cpus = \"{cores}\""), format!("its CPUs are {cores}"));
            text += &format!("{}\n", pinned.shell);
            lines.push(pinned);
        }
    }
    Ok(Lowered { form: Form::Xen, lines, notes, writes: Vec::new(), text: Some(text) })
}

fn short_size(bytes: u64) -> String {
    match (bytes >> 20, bytes % (1 << 20)) {
        (mib, 0) => format!("{mib}M"),
        _ => format!("{}K", bytes >> 10),
    }
}

/// As fields of a Bao configuration (Bao, src/core/cache.c): a colour is as many consecutive pages as a way of the first
/// level has, so that it divides that too.
pub fn bao(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let colours = coloured(assignment, offer, Form::Bao)?;
    let first_level = colours.first_level_way_bytes.ok_or_else(|| {
        Refusal::lacking("classes", "Bao counts colours by the first-level data cache, whose size is not known here")
    })?;
    let pages = (first_level / PAGE_BYTES).max(1) as u32;
    let of_bao = colours.colours / pages;
    if of_bao == 0 || of_bao > 64 {
        let message = format!("it would have {of_bao} colours of {pages} pages, and Bao's maps have 64 bits");
        return Err(Refusal::lacking("classes", message));
    }
    let map = |share: &ColourShare| {
        if !share.first.is_multiple_of(pages) || !share.count.is_multiple_of(pages) {
            let message = format!(
                "colours {} are no whole number of Bao's, which are {pages} pages each ({} a way of the first level)",
                range(share.first, share.last()),
                size(first_level)
            );
            return Err(Refusal::wrong("classes", message));
        }
        Ok(run(share.first / pages, share.count / pages))
    };
    let mut lines = Vec::new();
    let head = format!(
        "Bao's colours are {pages} pages each, as a way of the first level of core 0 has {}.",
        size(first_level)
    );
    let mut text = super::c_comment(assignment, &[&bits(colours), &head, UNCHECKED]);
    text += "\n#include <config.h>\n\nstruct config config = {\n";
    if let Some(others) = colours.share(0) {
        let map = map(&others)?;
        lines.push(line(format!(".hyp.colors = {map:#x}"), "the hypervisor itself, with what is left".into()));
        text += &format!("\t.hyp.colors = {map:#x},\n");
    }
    text += &format!("\t.vmlist_size = {},\n\t.vmlist = (struct vm_config[]) {{\n", in_order(colours).count());
    for share in in_order(colours) {
        let Some(class) = class(assignment, share) else { continue };
        let map = map(share)?;
        lines.push(line(format!(".colors = {map:#x}"), format!("of the VM {}", class.name)));
        text += &format!("\t\t{{ /* {} */\n\t\t\t.colors = {map:#x},\n", super::in_comment(&class.name));
        if !class.cores.is_empty() {
            let affinity = class.cores.iter().fold(0_u64, |map, core| map | 1_u64.checked_shl(*core).unwrap_or(0));
            lines.push(line(format!(".cpu_affinity = {affinity:#x}"), format!("of the VM {}", class.name)));
            text += &format!("\t\t\t.cpu_affinity = {affinity:#x},\n");
        }
        text += "\t\t\t/* .image, .entry, .platform */\n\t\t},\n";
    }
    text += "\t},\n};\n";
    let notes = vec!["the file has to be completed with each VM's image, entry and platform".into()];
    Ok(Lowered { form: Form::Bao, lines, notes, writes: Vec::new(), text: Some(text) })
}

fn run(first: u32, count: u32) -> u64 {
    let ones = u64::MAX.checked_shr(64 - count.min(64)).unwrap_or(0);
    ones.checked_shl(first).unwrap_or(0)
}

/// As regions of a Jailhouse configuration: colours for the fork that has them (Minervasys), `cache_regions` where the
/// policy divides an L3 by Intel CAT (upstream, hypervisor/arch/x86/cat.c).
pub fn jailhouse(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    if !assignment.divided.is_empty() {
        return cache_regions(assignment, offer);
    }
    let colours = coloured(assignment, offer, Form::Jailhouse)?;
    if colours.colours > 64 {
        let message = format!("there are {} colours, and Jailhouse's maps have 64 bits", colours.colours);
        return Err(Refusal::lacking("classes", message));
    }
    let way = colours.size_bytes / u64::from(colours.ways.max(1));
    let mut lines = vec![line(format!(".color.way_size = {way:#x}"), "in platform_info of the root cell".into())];
    let fork = "For the fork of Jailhouse that colours memory (Minervasys).";
    let mut text = super::c_comment(assignment, &[&bits(colours), fork, UNCHECKED]);
    text += &format!("\n/* Root cell, in .platform_info. */\n{},\n", lines[0].shell);
    for share in &colours.shares {
        let Some(class) = class(assignment, share) else { continue };
        let who = if share.class == 0 { "root cell".to_owned() } else { format!("cell {}", class.name) };
        let map = line(format!(".colors = {:#x}", run(share.first, share.count)), format!("memory of the {who}"));
        text += &format!(
            "\n/* Memory of the {who}. */\n.flags = JAILHOUSE_MEM_READ | JAILHOUSE_MEM_WRITE | JAILHOUSE_MEM_EXECUTE | JAILHOUSE_MEM_COLORED,\n{},\n",
            super::in_comment(&map.shell)
        );
        lines.push(map);
    }
    let notes = vec!["upstream Jailhouse does not colour memory; the root cell's own memory has to be moved to its colours (`.color.root_map_offset`)".into()];
    Ok(Lowered { form: Form::Jailhouse, lines, notes, writes: Vec::new(), text: Some(text) })
}

/// Runs of bits of the L3's mask, as upstream Jailhouse takes them for each cell.
fn cache_regions(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    if let Some(cache) = assignment.divided.iter().find(|cache| cache.level != 3) {
        let message = format!("the policy divides the L{}, and Jailhouse the L3 alone", cache.level);
        return Err(Refusal::lacking("classes", message));
    }
    if control(offer, 3) != Some(WayControl::Cat) {
        let message =
            format!("Jailhouse divides an L3 whose CAT CPUID enumerates, and that of {} is none", offer.called);
        return Err(Refusal::lacking("classes", message));
    }
    if assignment.mount.cdp {
        return Err(Refusal::lacking("classes", "Jailhouse assigns code and data the same ways"));
    }
    let mut lines = Vec::new();
    let mut text = super::c_comment(assignment, &["Regions of the L3 in bits of its capacity mask.", UNCHECKED]);
    for class in &assignment.classes {
        let mask = class.masks.iter().find(|mask| mask.level == 3).map(|mask| mask.mask).unwrap_or_default();
        let runs = mask.runs();
        let [ContiguousBits { low, bits }] = runs.as_slice() else {
            let message = format!("the mask {mask} of `{}` is no single run of bits", class.name);
            return Err(Refusal::wrong("classes", message));
        };
        let who = if class.number == 0 { "root cell".to_owned() } else { format!("cell {}", class.name) };
        let region = format!("{{ .start = {low}, .size = {bits}, .type = JAILHOUSE_CACHE_L3 }}");
        text += &format!("\n/* {} */\n.cache_regions = {{\n\t{region},\n}},\n", super::in_comment(&who));
        lines.push(line(region, format!("cache region of the {who}: ways {}", mask.ways())));
    }
    let notes = vec!["the root cell's region has to stay in one run of bits when cells take theirs".into()];
    Ok(Lowered { form: Form::Jailhouse, lines, notes, writes: Vec::new(), text: Some(text) })
}

fn line(shell: String, why: String) -> ScriptLine {
    ScriptLine { shell, why, steps: Vec::new() }
}
