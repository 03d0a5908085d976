//! Tests of the plan of an import, also with random dependencies.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;

const NOW: Timestamp = Timestamp(1.0);

/// Returns an item of a file with the number `number`, which is also its line.
fn item(number: u64, waits_for: &[u64]) -> ImportItem {
    ImportItem {
        origin: ItemOrigin::Line(usize::try_from(number).unwrap()),
        number: Some(number),
        url: None,
        subject: format!("Task {number}"),
        description: String::new(),
        tags: Vec::new(),
        waits_for: waits_for.iter().copied().map(ItemRef::Number).collect(),
        is_done: false,
        key: format!("key {number}"),
    }
}

fn issue(number: u64, waits_for: &[u64]) -> ImportItem {
    let url = format!("https://a.example/issues/{number}");
    ImportItem {
        origin: ItemOrigin::Issue(number),
        key: url.clone(),
        url: Some(url),
        ..item(number, waits_for)
    }
}

fn all(items: &[ImportItem], graph: &TaskGraph) -> ImportPlan {
    plan(items, DependencyMode::All, graph).unwrap()
}

/// Adds the tasks of a plan to `graph`.
fn add(graph: &mut TaskGraph, plan: &ImportPlan) {
    let first = graph.tasks().next_back().map_or(0, |t| t.id.0) + 1;
    graph.create_all(TaskId(first), &plan.tasks, NOW).unwrap();
}

fn error(items: &[ImportItem]) -> String {
    let planned = plan(items, DependencyMode::All, &TaskGraph::default());
    planned.unwrap_err().to_string()
}

#[test]
fn dependencies_lead_to_new_done_and_existing_items() {
    let mut graph = TaskGraph::default();
    let first = all(&[issue(1, &[]), issue(2, &[])], &graph);
    add(&mut graph, &first);
    graph.complete(TaskId(2), &Name::user(), NOW).unwrap();
    let mut by_url = issue(5, &[]);
    by_url.waits_for = vec![
        ItemRef::Url("https://a.example/issues/1/#comment".into()),
        ItemRef::Url("https://a.example/issues/4".into()),
    ];
    let closed = ImportItem {
        is_done: true,
        ..issue(3, &[])
    };
    let items = [issue(4, &[1, 2, 3, 5, 5]), by_url, closed, issue(1, &[])];
    assert!(
        plan(&items, DependencyMode::All, &graph).is_err(),
        "a cycle"
    );
    let items = [
        issue(4, &[1, 2, 3, 6, 6]),
        items[1].clone(),
        items[2].clone(),
        issue(6, &[]),
    ];
    let planned = all(&items, &graph);
    let edges: Vec<_> = planned
        .tasks
        .iter()
        .map(|t| (&t.new.blocked_by[..], &t.waits_for[..]))
        .collect();
    assert_eq!(
        edges,
        [
            (&[TaskId(1)][..], &[2][..]),
            (&[TaskId(1)], &[0]),
            (&[], &[])
        ]
    );
    assert_eq!((planned.on_board, planned.done), (0, 1));
}

#[test]
fn second_import_skips_what_is_on_the_board() {
    let mut graph = TaskGraph::default();
    let lists = [item(1, &[]), item(2, &[1])];
    let issues = [issue(1, &[]), issue(2, &[1])];
    for items in [&lists, &issues] {
        let planned = all(items, &graph);
        assert_eq!(planned.tasks.len(), 2);
        add(&mut graph, &planned);
    }
    for items in [&lists, &issues] {
        let planned = all(items, &graph);
        assert_eq!((planned.tasks.len(), planned.on_board), (0, 2));
    }
    // A completed task of a list does not count, but one of an issue does.
    for id in 1..=4 {
        graph.complete(TaskId(id), &Name::user(), NOW).unwrap();
    }
    let again = all(&lists, &graph);
    assert_eq!((again.tasks.len(), again.on_board), (2, 0));
    assert_eq!(all(&issues, &graph).on_board, 2);
    // Of two tasks with one origin, the open one counts.
    add(&mut graph, &again);
    assert_eq!(all(&lists, &graph).on_board, 2);
}

#[test]
fn problems_name_the_line_or_the_issue() {
    let changed = |change: fn(&mut ImportItem)| {
        let mut item = item(7, &[]);
        change(&mut item);
        vec![item]
    };
    for (items, expected) in [
        (
            changed(|i| i.subject = " ".into()),
            "line 7: the task has no subject",
        ),
        (
            changed(|i| i.subject = "x".repeat(201)),
            "line 7: the subject has 201 characters, 200 at most",
        ),
        (
            changed(|i| i.description = "x".repeat(65_537)),
            "line 7: the description has 65537 bytes",
        ),
        (
            changed(|i| i.tags = vec!["x".into(); 101]),
            "line 7: the task has more than 100 tags",
        ),
        (
            changed(|i| i.tags = vec!["x".repeat(256)]),
            "line 7: a tag has more than 255 characters",
        ),
        (
            vec![item(1, &[9])],
            "line 1: it waits for #9, which is not in this import",
        ),
        (
            vec![issue(1, &[9])],
            "issue #1: it waits for #9, which is neither in this import nor on the board",
        ),
        (
            vec![item(1, &[1])],
            "line 1: its dependencies form a cycle (line 1 waits for line 1)",
        ),
        (
            vec![item(5, &[1]), item(1, &[3]), item(2, &[]), item(3, &[2, 1])],
            "line 1: its dependencies form a cycle (line 1 waits for line 3 waits for line 1)",
        ),
    ] {
        let error = error(&items);
        assert!(error.starts_with(expected), "{error}");
    }
    let many: Vec<u64> = (2..=102).collect();
    let mut items = vec![item(1, &many)];
    items.extend(many.iter().map(|n| item(*n, &[])));
    assert!(error(&items).contains("line 1: it waits for more than 100 others"));
    // The text of an issue, which anyone can write, does not prevent an import without dependencies.
    let off = plan(&items, DependencyMode::Off, &TaskGraph::default());
    assert_eq!(off.unwrap().tasks.len(), 102);
    let items: Vec<ImportItem> = (1..=1001).map(|n| item(n, &[])).collect();
    assert!(error(&items).contains("1001 tasks to import, 1000 at most"));
    let items = [item(1, &[8]), item(2, &[9])];
    assert!(
        error(&items).ends_with("(and 1 more problem)"),
        "{}",
        error(&items)
    );
}

#[test]
fn numbers_in_a_file_are_not_those_of_issues() {
    let mut graph = TaskGraph::default();
    let first = all(&[issue(1, &[])], &graph);
    add(&mut graph, &first);
    let exported = ImportItem {
        origin: ItemOrigin::Line(2),
        ..issue(2, &[1])
    };
    let error = plan(&[exported], DependencyMode::All, &graph).unwrap_err();
    assert!(
        error.to_string().starts_with("line 2: it waits for #1"),
        "{error}"
    );
}

#[test]
fn unknown_and_cyclic_dependencies_can_be_left_out() {
    let graph = TaskGraph::default();
    let items = [item(1, &[2, 9]), item(2, &[])];
    let known = plan(&items, DependencyMode::Known, &graph).unwrap();
    assert_eq!(
        (&known.tasks[0].waits_for, known.unknown_blockers),
        (&vec![1], 1)
    );
    let items = [item(1, &[2]), item(2, &[1, 9])];
    assert!(plan(&items, DependencyMode::Known, &graph).is_err());
    let off = plan(&items, DependencyMode::Off, &graph).unwrap();
    assert!(off.tasks.iter().all(|task| task.waits_for.is_empty()));
    assert_eq!(off.unknown_blockers, 0);
}

proptest! {
    /// A plan without an error can be added to the board, and all its tasks can be completed.
    #[test]
    fn every_plan_can_be_added_to_the_board(edges in prop::collection::vec(prop::collection::vec(1u64..7, 0..3), 1..7)) {
        let items: Vec<ImportItem> = (1..).zip(&edges).map(|(n, on)| item(n, on)).collect();
        let mut graph = TaskGraph::default();
        if let Ok(planned) = plan(&items, DependencyMode::Known, &graph) {
            graph.create_all(TaskId(1), &planned.tasks, NOW).unwrap();
            let next = |graph: &TaskGraph| graph.ready().next().map(|t| t.id);
            while let Some(id) = next(&graph) {
                graph.complete(id, &Name::user(), NOW).unwrap();
            }
            prop_assert!(!graph.has_open());
        }
    }
}
