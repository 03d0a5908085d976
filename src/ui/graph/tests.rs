//! Tests of the graph drawing: snapshots and invariants.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use crate::ui::graph::canvas::ARROW;
use crate::ui::graph::{Drawing, GraphInput, NodeOverflow, draw};

/// Renders the drawing as text, with each node as its number.
pub fn text(wanted: &GraphInput) -> String {
    let drawing = draw(wanted).unwrap();
    let mut rows = vec![vec![' '; drawing.width]; drawing.height];
    for (y, line) in drawing.lines.iter().enumerate() {
        for cell in line {
            rows[y][cell.x] = cell.glyph;
        }
    }
    for (at, node) in drawing.nodes.iter().enumerate() {
        let name: Vec<char> = format!("{at:_<wide$}", wide = node.width).chars().collect();
        for (i, c) in name.into_iter().take(node.width).enumerate() {
            rows[node.y][node.x + i] = c;
        }
    }
    let rows = rows.into_iter().map(|r| r.into_iter().collect::<String>());
    rows.map(|r| r.trim_end().to_string() + "\n").collect()
}

pub fn graph_input(count: usize, edges: &[(usize, usize)]) -> GraphInput {
    GraphInput {
        widths: vec![6; count],
        edges: edges.to_vec(),
        columns: 84,
        ..GraphInput::default()
    }
}

#[test]
fn pictures() {
    let fan: Vec<(usize, usize)> = (1..6).flat_map(|n| [(0, n), (n, 6)]).collect();
    let cases = [
        ("chain", 4, vec![(0, 1), (1, 2), (2, 3)]),
        ("diamond", 4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]),
        ("fan", 7, fan),
        ("three parts", 8, vec![(0, 1), (2, 3), (2, 4), (5, 6)]),
        ("shared target", 4, vec![(0, 2), (1, 2), (1, 3)]),
        ("crossed", 4, vec![(0, 2), (0, 3), (1, 2), (1, 3)]),
        ("long edge", 5, vec![(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)]),
        (
            "tangled",
            6,
            vec![(0, 3), (0, 4), (1, 4), (1, 5), (2, 5), (2, 3)],
        ),
        ("cycle", 3, vec![(0, 1), (1, 2), (2, 0)]),
    ];
    let mut all = String::new();
    for (name, count, edges) in cases {
        all += &format!("{name}\n{}\n", text(&graph_input(count, &edges)));
    }
    insta::assert_snapshot!(all);
}

/// Generates graphs like those of boards: usually later tasks depend on earlier ones.
fn any_graph() -> impl Strategy<Value = GraphInput> {
    (1_usize..28, 0_usize..60, 20_usize..160).prop_flat_map(|(count, edges, columns)| {
        let edge = (0..count, 0..count);
        let edges = prop::collection::vec(edge, 0..=edges);
        let widths = prop::collection::vec(1_usize..50, count);
        let short = prop_oneof![
            Just(NodeOverflow::Cut),
            Just(NodeOverflow::Wrapped(2)),
            Just(NodeOverflow::Wrapped(9))
        ];
        (
            widths,
            edges,
            Just(columns),
            prop::bool::weighted(0.9),
            short,
        )
            .prop_map(|(widths, edges, columns, ordered, short)| {
                let turned = |(a, b): (usize, usize)| (a.min(b), a.max(b));
                let edges = edges.into_iter();
                GraphInput {
                    min_widths: widths.iter().map(|w| w / 2).collect(),
                    min_rows: widths.iter().map(|w| w % 5).collect(),
                    better_widths: vec![widths.iter().map(|w| w * 2 / 3).collect(), widths.clone()],
                    widths,
                    edges: if ordered {
                        edges.map(turned).collect()
                    } else {
                        edges.collect()
                    },
                    columns,
                    overflow: short,
                }
            })
    })
}

fn cells(drawing: &Drawing) -> HashMap<(usize, usize), char> {
    let mut out = HashMap::new();
    for (y, line) in drawing.lines.iter().enumerate() {
        for cell in line {
            assert!(
                out.insert((cell.x, y), cell.glyph).is_none(),
                "one glyph a cell"
            );
        }
    }
    out
}

/// Follows the lines from each node as a reader would, and returns the edges found. A line continues to the right, or
/// up or down at a turn; where a glyph has no left arm, the line from the left continues behind it.
fn trace_edges(drawing: &Drawing) -> BTreeSet<(usize, usize)> {
    let cells = cells(drawing);
    let at_node: BTreeMap<(usize, usize), usize> = drawing
        .nodes
        .iter()
        .enumerate()
        .map(|(at, n)| ((n.x, n.y), at))
        .collect();
    let arms = |glyph: char| match glyph {
        '│' => "NS",
        '╭' => "ES",
        '╮' => "SW",
        '╰' => "NE",
        '╯' => "NW",
        '├' => "NES",
        '┤' => "NSW",
        '┬' => "ESW",
        '┴' => "NEW",
        '┼' => "NESW",
        _ => "EW",
    };
    let mut out = BTreeSet::new();
    for (at, node) in drawing.nodes.iter().enumerate() {
        let mut todo = vec![((node.x + node.width + 1, node.y), 'E')];
        let mut done = BTreeSet::new();
        while let Some((cell, heading)) = todo.pop() {
            let Some(glyph) = cells.get(&cell) else {
                continue;
            };
            if !done.insert((cell, heading)) {
                continue;
            }
            let (x, y) = cell;
            if *glyph == ARROW {
                out.insert((at, at_node[&(x + 2, y)]));
                continue;
            }
            let has = |arm: char| arms(*glyph).contains(arm);
            let back = match heading {
                'E' => 'W',
                'N' => 'S',
                _ => 'N',
            };
            if !has(back) {
                // Only horizontal lines pass behind others.
                assert_eq!(heading, 'E', "a vertical line breaks at {cell:?}");
                todo.push(((x + 1, y), 'E'));
                continue;
            }
            if has('E') {
                todo.push(((x + 1, y), 'E'));
            }
            if has('N') && heading != 'S' {
                todo.push(((x, y - 1), 'N'));
            }
            if has('S') && heading != 'N' {
                todo.push(((x, y + 1), 'S'));
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn nodes_and_lines_do_not_overlap(wanted in any_graph()) {
        let drawing = draw(&wanted).unwrap();
        prop_assert_eq!(drawing.nodes.len(), wanted.widths.len());
        let mut taken = HashMap::new();
        for (at, node) in drawing.nodes.iter().enumerate() {
            prop_assert!(node.x + node.width <= drawing.width && node.y < drawing.height);
            prop_assert!(node.width <= wanted.widths[at] && node.width >= 1);
            prop_assert!(node.y + node.height <= drawing.height);
            for x in node.x..node.x + node.width {
                for y in node.y..node.y + node.height {
                    prop_assert_eq!(taken.insert((x, y), at), None);
                }
            }
        }
        for cell in cells(&drawing).keys() {
            prop_assert_eq!(taken.get(cell), None, "{:?}", cell);
        }
    }

    #[test]
    fn every_edge_leads_from_source_to_target(wanted in any_graph()) {
        let drawing = draw(&wanted).unwrap();
        let cells = cells(&drawing);
        let asked: BTreeSet<(usize, usize)> =
            wanted.edges.iter().copied().filter(|(a, b)| a != b).collect();
        let drawn: BTreeSet<(usize, usize)> =
            drawing.paths.iter().map(|p| (p.from, p.to)).collect();
        prop_assert_eq!(drawn.len(), drawing.paths.len());
        prop_assert!(drawn.is_subset(&asked));
        prop_assert_eq!(asked.len(), drawn.len() + drawing.omitted_edges);
        for path in &drawing.paths {
            let way: Vec<(usize, usize)> = path.cells().collect();
            let (from, to) = (drawing.nodes[path.from], drawing.nodes[path.to]);
            prop_assert!(from.layer < to.layer);
            prop_assert_eq!(way.first(), Some(&(from.x + from.width + 1, from.y)));
            prop_assert_eq!(way.last(), Some(&(to.x - 2, to.y)));
            prop_assert_eq!(cells[&(to.x - 2, to.y)], ARROW);
            for pair in way.windows(2) {
                prop_assert_eq!(pair[0].0.abs_diff(pair[1].0) + pair[0].1.abs_diff(pair[1].1), 1);
            }
            for cell in &way {
                prop_assert!(cells.contains_key(cell), "{:?}", cell);
            }
        }
    }

    #[test]
    fn followed_lines_match_the_edges(wanted in any_graph()) {
        let drawing = draw(&wanted).unwrap();
        let drawn: BTreeSet<(usize, usize)> =
            drawing.paths.iter().map(|p| (p.from, p.to)).collect();
        prop_assert_eq!(trace_edges(&drawing), drawn);
    }

    #[test]
    fn drawing_is_independent_of_edge_order(wanted in any_graph()) {
        let mut turned = wanted.clone();
        turned.edges.reverse();
        let (one, two) = (draw(&wanted).unwrap(), draw(&turned).unwrap());
        prop_assert_eq!(one, two);
    }
}

#[test]
fn only_edges_that_close_a_cycle_are_omitted() {
    let edges: Vec<(usize, usize)> = (1..40).flat_map(|n| [(n / 2, n), (n / 3, n)]).collect();
    assert_eq!(draw(&graph_input(40, &edges)).unwrap().omitted_edges, 0);
    assert_eq!(
        draw(&graph_input(3, &[(0, 1), (1, 2), (2, 0)]))
            .unwrap()
            .omitted_edges,
        1
    );
}

#[test]
fn layers_that_need_few_columns_get_their_better_width() {
    let wanted = GraphInput {
        widths: vec![40; 3],
        edges: vec![(0, 1), (1, 2)],
        columns: 72,
        overflow: NodeOverflow::Wrapped(3),
        min_widths: vec![14; 3],
        better_widths: vec![vec![21, 23, 18], vec![30, 25, 34]],
        ..GraphInput::default()
    };
    let widths = |wanted: &GraphInput| -> Vec<usize> {
        let drawing = draw(wanted).unwrap();
        drawing.nodes.iter().map(|node| node.width).collect()
    };
    // Without better widths, all layers share the room equally. The lines take eight to ten columns.
    let plain = GraphInput {
        better_widths: Vec::new(),
        ..wanted.clone()
    };
    let equal = widths(&plain);
    assert!(equal.iter().all(|width| *width == equal[0]), "{equal:?}");
    let better = widths(&wanted);
    assert!(
        better[0] >= 21 && better[1] >= 23 && better[2] >= 18,
        "{better:?}"
    );
    assert!(better.iter().sum::<usize>() <= 64, "{better:?}");
}

#[test]
fn oversized_drawing_is_rejected() {
    // 400 nodes, each of which depends on all before it.
    let edges: Vec<(usize, usize)> = (0..400).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    assert_eq!(draw(&graph_input(400, &edges)), None);
}
