//! The order of uses, as an age for each way of a set: 0 for the most recent, all distinct.

/// A use of a way: it becomes the youngest.
#[inline(always)]
pub fn touch(ages: &mut [u8], way: usize) {
    let before = ages[way];
    for age in ages.iter_mut() {
        *age += u8::from(*age < before);
    }
    ages[way] = 0;
}

/// The way of the highest age among those of a mask that is not 0; the first of equals.
#[inline(always)]
pub fn oldest(ages: &[u8], mask: u32) -> usize {
    let allowed = (0..ages.len()).rev().filter(|way| mask >> way & 1 == 1);
    allowed.max_by_key(|way| ages[*way]).expect("the mask allows a way")
}

/// The way of the lowest age among those of a mask that is not 0.
#[inline(always)]
pub fn youngest(ages: &[u8], mask: u32) -> usize {
    let allowed = (0..ages.len()).filter(|way| mask >> way & 1 == 1);
    allowed.min_by_key(|way| ages[*way]).expect("the mask allows a way")
}
