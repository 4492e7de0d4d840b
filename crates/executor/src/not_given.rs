//! What a platform's file does not say of its cores, and what the simulator takes instead.

use waykeeper_platform::{CoreKind, Execution, Platform};

/// A sentence for each kind of core of which something is not given that decides on its speed.
pub fn not_given(platform: &Platform) -> impl Iterator<Item = String> {
    platform.cores.iter().filter_map(|core| {
        let taken = taken(core);
        let ids: Vec<_> = core.ids.iter().map(u32::to_string).collect();
        let cores = if ids.len() == 1 { "core" } else { "cores" };
        (!taken.is_empty()).then(|| {
            format!("Not given for {} ({cores} {}), so taken: {}.", core.kind, ids.join(", "), taken.join("; "))
        })
    })
}

fn taken(core: &CoreKind) -> Vec<&'static str> {
    let out_of_order = core.execution.as_ref().is_some_and(|execution| execution.value == Execution::OutOfOrder);
    [
        (core.issue_width.is_none(), "one instruction a cycle (`issue_width`)"),
        (out_of_order && core.window_instructions.is_none(), "a window without bound (`window_instructions`)"),
        (core.tlbs.is_empty(), "translation at no cost (`tlbs`)"),
        (core.prefetchers.is_empty(), "no prefetchers (`prefetchers`)"),
    ]
    .into_iter()
    .filter_map(|(is_taken, what)| is_taken.then_some(what))
    .collect()
}

#[cfg(test)]
mod tests {
    use waykeeper_platform::find_bundled;

    use super::*;

    #[test]
    fn what_decides_on_the_speed_of_a_core_is_told() {
        let mut platform = Platform::from_toml(find_bundled("apollo-lake-e3950").unwrap().text, "x").unwrap();
        let whole: Vec<_> = not_given(&platform).collect();
        platform.cores[0].issue_width = None;
        platform.cores[0].tlbs.clear();
        let told: Vec<_> = not_given(&platform).collect();
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("(cores 0, 1, 2, 3)") && told[0].contains("one instruction a cycle"), "{told:?}");
        assert!(told[0].contains("translation at no cost") && told != whole, "{told:?}");
    }
}
