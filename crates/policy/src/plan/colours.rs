//! Page colours: each class takes consecutive ones from the lowest on, the others have the rest.

use crate::amount::size;
use crate::assignment::{AssignedColours, Assignment, ColourShare};
use crate::describe::Policy;
use crate::offer::{Offer, PAGE_BYTES};
use crate::refusal::Refusal;

use super::controls::of_all;

/// Assigns classes their colours.
///
/// # Errors
/// A cache whose colours are not known or are none, colours handed out twice.
pub fn assign(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    let wanted = of_all(policy, "colours", policy.others.colours, |class| class.colours);
    let Some((key, ..)) = wanted.first() else { return Ok(()) };
    let Some(cache) = &offer.controls.colours else {
        let why = offer.controls.no_colours.as_deref().unwrap_or("nothing is known of its caches' sets");
        return Err(Refusal::lacking(key.clone(), format!("{} has no page colours: {why}", offer.called)));
    };
    let page_shift = PAGE_BYTES.trailing_zeros();
    let mut shares = Vec::new();
    let mut next = 0;
    for (key, class, colours) in wanted.iter().filter(|(_, class, _)| *class > 0) {
        let bits = colours.of(cache.colours, cache.size_bytes);
        let left = cache.colours - next;
        if bits.bits == 0 || bits.bits > left {
            let message =
                format!("found {colours}, which are {} of {} colours; {left} are left", bits.bits, cache.colours);
            return Err(Refusal::wrong(key.clone(), message));
        }
        if bits.rounded {
            let each = size(cache.size_bytes / u64::from(cache.colours));
            to.notes.push(format!("{colours} becomes {} colours of {each} of the L{}", bits.bits, cache.level));
        }
        shares.push(ColourShare { class: *class, first: next, count: bits.bits });
        next += bits.bits;
    }
    let left = cache.colours - next;
    let others = wanted.iter().find(|(_, class, _)| *class == 0);
    let count = match others {
        Some((key, _, colours)) => {
            let count = colours.of(cache.colours, cache.size_bytes).bits;
            if count == 0 || count > left {
                let message =
                    format!("found {colours}, which are {count} of {} colours; {left} are left", cache.colours);
                return Err(Refusal::wrong(key.clone(), message));
            }
            count
        }
        None => left,
    };
    if count == 0 {
        let message =
            format!("the classes take all {} colours of the L{}, and the others need one", cache.colours, cache.level);
        return Err(Refusal::wrong(key.clone(), message));
    }
    shares.insert(0, ColourShare { class: 0, first: next, count });
    to.controls.colours = Some(AssignedColours {
        level: cache.level,
        colours: cache.colours,
        bits: (page_shift, page_shift + cache.colours.trailing_zeros() - 1),
        size_bytes: cache.size_bytes,
        ways: cache.ways,
        first_level_way_bytes: cache.first_level_way_bytes,
        shares,
    });
    Ok(())
}
