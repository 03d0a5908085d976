//! Box-drawing characters with heavy arms, for highlighted lines that meet other lines.

use crate::ui::graph::Path;
use crate::ui::graph::canvas::{EAST, NORTH, SOUTH, WEST, walk};

/// The line characters that a drawing uses, each with its arms. The arms are the sides of the cell that the line
/// reaches, as a combination of the bits [`NORTH`], [`EAST`], [`SOUTH`] and [`WEST`].
const ARMS: [(char, u8); 11] = [
    ('│', NORTH | SOUTH),
    ('─', EAST | WEST),
    ('╭', EAST | SOUTH),
    ('╮', SOUTH | WEST),
    ('╰', NORTH | EAST),
    ('╯', NORTH | WEST),
    ('├', NORTH | EAST | SOUTH),
    ('┤', NORTH | SOUTH | WEST),
    ('┬', EAST | SOUTH | WEST),
    ('┴', NORTH | EAST | WEST),
    ('┼', NORTH | EAST | SOUTH | WEST),
];

/// The line characters with heavy arms. Each entry holds the bits of all arms, the bits of the heavy arms, and the
/// character.
const HEAVY: [(u8, u8, char); 51] = {
    const N: u8 = NORTH;
    const E: u8 = EAST;
    const S: u8 = SOUTH;
    const W: u8 = WEST;
    [
        (N | S, N | S, '┃'),
        (E | W, E | W, '━'),
        (E | S, E | S, '┏'),
        (S | W, S | W, '┓'),
        (N | E, N | E, '┗'),
        (N | W, N | W, '┛'),
        (N | S, N, '╿'),
        (N | S, S, '╽'),
        (N | E | S, E, '┝'),
        (N | E | S, N, '┞'),
        (N | E | S, S, '┟'),
        (N | E | S, N | S, '┠'),
        (N | E | S, N | E, '┡'),
        (N | E | S, E | S, '┢'),
        (N | E | S, N | E | S, '┣'),
        (N | S | W, W, '┥'),
        (N | S | W, N, '┦'),
        (N | S | W, S, '┧'),
        (N | S | W, N | S, '┨'),
        (N | S | W, N | W, '┩'),
        (N | S | W, S | W, '┪'),
        (N | S | W, N | S | W, '┫'),
        (E | S | W, W, '┭'),
        (E | S | W, E, '┮'),
        (E | S | W, E | W, '┯'),
        (E | S | W, S, '┰'),
        (E | S | W, S | W, '┱'),
        (E | S | W, E | S, '┲'),
        (E | S | W, E | S | W, '┳'),
        (N | E | W, W, '┵'),
        (N | E | W, E, '┶'),
        (N | E | W, E | W, '┷'),
        (N | E | W, N, '┸'),
        (N | E | W, N | W, '┹'),
        (N | E | W, N | E, '┺'),
        (N | E | W, N | E | W, '┻'),
        (N | E | S | W, W, '┽'),
        (N | E | S | W, E, '┾'),
        (N | E | S | W, E | W, '┿'),
        (N | E | S | W, N, '╀'),
        (N | E | S | W, S, '╁'),
        (N | E | S | W, N | S, '╂'),
        (N | E | S | W, N | W, '╃'),
        (N | E | S | W, N | E, '╄'),
        (N | E | S | W, S | W, '╅'),
        (N | E | S | W, E | S, '╆'),
        (N | E | S | W, N | E | W, '╇'),
        (N | E | S | W, E | S | W, '╈'),
        (N | E | S | W, N | S | W, '╉'),
        (N | E | S | W, N | E | S, '╊'),
        (N | E | S | W, N | E | S | W, '╋'),
    ]
};

/// Returns the line character `glyph` with the given arms drawn heavy. Arms that `glyph` does not have are ignored.
/// Returns `glyph` unchanged in these cases:
///
/// - It is not a line character.
/// - None of its arms is to be heavy.
/// - Only one arm of a corner or of `─` is to be heavy, for which [`HEAVY`] has no character.
pub fn heavy(glyph: char, arms: u8) -> char {
    let own = ARMS.iter().find(|(of, _)| *of == glyph).map(|(_, a)| *a);
    let Some(all) = own else { return glyph };
    let found = HEAVY.iter().find(|(a, h, _)| (*a, *h) == (all, arms & all));
    found.map_or(glyph, |(.., heavy)| *heavy)
}

impl Path {
    /// Returns the cells of the path, each with the arms that the path uses in it.
    pub fn arms(&self) -> Vec<((usize, usize), u8)> {
        let way: Vec<(usize, usize)> = walk(&self.corners).collect();
        let toward = |from: (usize, usize), to: (usize, usize)| match () {
            () if to.0 > from.0 => EAST,
            () if to.0 < from.0 => WEST,
            () if to.1 > from.1 => SOUTH,
            () => NORTH,
        };
        // At both ends, the path continues horizontally to a node.
        let arms = |(at, here): (usize, &(usize, usize))| {
            let before = at.checked_sub(1).and_then(|at| way.get(at));
            let back = before.map_or(WEST, |before| toward(*here, *before));
            let on = way.get(at + 1).map_or(EAST, |next| toward(*here, *next));
            (*here, back | on)
        };
        way.iter().enumerate().map(arms).collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::graph::canvas::ARROW;

    #[test]
    fn only_the_given_arms_become_heavy() {
        let cases = [
            ('─', EAST | WEST, '━'),
            ('╭', EAST | SOUTH, '┏'),
            ('┬', EAST | WEST, '┯'),
            ('┬', SOUTH | WEST, '┱'),
            ('┴', NORTH | EAST, '┺'),
            ('┼', NORTH | SOUTH, '╂'),
            ('├', NORTH | EAST | SOUTH, '┣'),
            // The path passes behind a vertical line.
            ('│', EAST | WEST, '│'),
            (ARROW, EAST | WEST, ARROW),
        ];
        for (glyph, arms, expected) in cases {
            assert_eq!(heavy(glyph, arms), expected, "{glyph} {arms}");
        }
    }

    #[test]
    fn every_path_through_a_junction_has_a_unique_glyph() {
        let mut seen = Vec::new();
        for (glyph, all) in ARMS {
            for arms in 1..16_u8 {
                let is_way = arms & all == arms && arms.count_ones() > 1;
                if is_way {
                    let found = heavy(glyph, arms);
                    assert!(found != glyph && !seen.contains(&found), "{glyph} {arms}");
                    seen.push(found);
                }
            }
        }
    }

    #[test]
    fn path_cells_have_their_arms() {
        let path = Path {
            from: 0,
            to: 1,
            corners: vec![(3, 2), (4, 2), (4, 0), (5, 0)],
        };
        let expected = [
            ((3, 2), WEST | EAST),
            ((4, 2), WEST | NORTH),
            ((4, 1), SOUTH | NORTH),
            ((4, 0), SOUTH | EAST),
            ((5, 0), WEST | EAST),
        ];
        assert_eq!(path.arms(), expected);
    }
}
