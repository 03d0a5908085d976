//! The ports that are reserved for the servers of a worktree, so that servers of different worktrees do not collide.

use std::path::Path;

/// Number of consecutive ports that are reserved for a worktree.
pub const PORTS_PER_WORKTREE: u16 = 10;
/// The lowest port that is reserved for a worktree.
const FIRST: u16 = 20_000;
/// Number of blocks of ports. All ports are below 32768, where Linux begins to choose ports for outgoing connections.
const BLOCKS: u16 = 1_270;

/// The lowest port of checks. Their blocks are below those of worktrees.
const FIRST_OF_CHECKS: u16 = 16_000;
/// Number of blocks of ports of checks.
const BLOCKS_OF_CHECKS: u16 = 400;

/// Returns the first port of the block for the check that runs in the place `number`. Checks of one project in different
/// places get different blocks, up to `BLOCKS_OF_CHECKS` places. The blocks depend on `root`, the root of the project, so
/// that two projects seldom get the same ports.
pub fn check_ports(root: &Path, number: u16) -> u16 {
    let blocks = u32::from(BLOCKS_OF_CHECKS);
    let block = (hash(root) % blocks + u32::from(number)) % blocks;
    let block = u16::try_from(block).unwrap_or_default();
    FIRST_OF_CHECKS + block * PORTS_PER_WORKTREE
}

/// Returns a number that depends on `root` and nothing else.
fn hash(root: &Path) -> u32 {
    let bytes = root.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(*byte))
    })
}

/// Returns the first port of a block that overlaps none of the blocks in `taken`, which are given by their first ports.
/// Returns `None` if all blocks are taken. Where the search starts depends on `root`, the root of the project, so that
/// two projects seldom get the same ports.
pub fn free_ports(root: &Path, taken: &[u16]) -> Option<u16> {
    let blocks = u32::from(BLOCKS);
    let start = hash(root) % blocks;
    let at = |n: u32| u16::try_from((start + n) % blocks).ok();
    let first = |block: u16| FIRST + block * PORTS_PER_WORKTREE;
    let is_free = |port: &u16| {
        taken
            .iter()
            .all(|other| port.abs_diff(*other) >= PORTS_PER_WORKTREE)
    };
    (0..blocks).filter_map(at).map(first).find(is_free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn blocks_do_not_overlap_and_are_reused() {
        let root = Path::new("/home/ada/project");
        let mut taken = Vec::new();
        for _ in 0..50 {
            let port = free_ports(root, &taken).unwrap();
            assert!(taken.iter().all(|other: &u16| port.abs_diff(*other) >= 10));
            taken.push(port);
        }
        let free = taken.swap_remove(30);
        assert_eq!(free_ports(root, &taken), Some(free));
    }

    #[test]
    fn all_ports_are_below_those_for_outgoing_connections() {
        let all: Vec<u16> = (0..BLOCKS).map(|n| FIRST + n * 10).collect();
        assert!(all.last().unwrap() + 10 <= 32_768);
        let root = Path::new("/home/ada/project");
        assert_eq!(free_ports(root, &all), None);
        assert_eq!(free_ports(root, &all[1..]), Some(FIRST));
    }

    #[test]
    fn port_of_another_program_blocks_both_blocks_that_it_overlaps() {
        let root = Path::new("/a");
        let first = free_ports(root, &[]).unwrap();
        let port = free_ports(root, &[first + 5]).unwrap();
        assert!(port.abs_diff(first + 5) >= 10, "{first} {port}");
        assert!(free_ports(root, &[u16::MAX, 0, 7]).is_some());
    }

    #[test]
    fn ports_of_checks_overlap_neither_each_other_nor_worktrees() {
        let root = Path::new("/home/ada/project");
        let all: Vec<u16> = (1..=32).map(|number| check_ports(root, number)).collect();
        for (at, port) in all.iter().enumerate() {
            let mut before = all.iter().take(at);
            assert!(before.all(|other| port.abs_diff(*other) >= PORTS_PER_WORKTREE));
            assert!((FIRST_OF_CHECKS..=FIRST - PORTS_PER_WORKTREE).contains(port));
        }
        assert_ne!(check_ports(Path::new("/home/ada/other"), 1), all[0]);
    }

    #[test]
    fn projects_start_at_different_blocks() {
        let of = |root: &str| free_ports(Path::new(root), &[]).unwrap();
        assert_ne!(of("/home/ada/one"), of("/home/ada/two"));
        assert_eq!(of("/home/ada/one"), of("/home/ada/one"));
    }
}
