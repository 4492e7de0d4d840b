//! A binary tree of bits that point away from recent use. It takes a power of two of ways.

/// A use of a way: the nodes above it point away from it.
#[inline(always)]
pub fn touched(tree: u32, way: usize, ways: usize) -> u32 {
    let path = PATHS[(ways + way) % PATHS.len()];
    tree & !path.nodes | path.right
}

/// Follows the bits from the root, but never into a half of which the mask allows nothing.
#[inline(always)]
pub fn victim(tree: u32, ways: usize, mask: u32) -> usize {
    let all = u32::MAX >> (32 - ways);
    if mask & all == all {
        // Nothing is forbidden: the bits alone lead to the way.
        let mut node = 1;
        while node < ways {
            node = 2 * node + (tree >> node & 1) as usize;
        }
        return node - ways;
    }
    let (mut node, mut low, mut width) = (1, 0, ways);
    while width > 1 {
        width /= 2;
        let half = ((1u64 << width) - 1) as u32;
        let (left, right) = (mask >> low & half, mask >> (low + width) & half);
        let go_right = left == 0 || (right != 0 && tree >> node & 1 == 1);
        node = 2 * node + usize::from(go_right);
        low += if go_right { width } else { 0 };
    }
    low
}

/// The nodes between the root and a way, and those of them that point right after a use of that way.
#[derive(Debug, Clone, Copy)]
struct Path {
    nodes: u32,
    right: u32,
}

/// The path of each way, by the number that its leaf has in a tree of so many ways: ways + way, for up to 32 ways.
static PATHS: [Path; 64] = paths();

const fn paths() -> [Path; 64] {
    let mut paths = [Path { nodes: 0, right: 0 }; 64];
    let mut leaf = 1;
    while leaf < paths.len() {
        let mut node = leaf;
        while node > 1 {
            let parent = node / 2;
            paths[leaf].nodes |= 1 << parent;
            // Away from the way just used: right if it was the left child.
            paths[leaf].right |= ((node + 1) as u32 % 2) << parent;
            node = parent;
        }
        leaf += 1;
    }
    paths
}
