//! Checks a whole import and decides which tasks it adds to the board.

use std::collections::HashMap;

use super::super::graph::{DESCRIPTION_MAX, NewTask, PlannedTask, SUBJECT_MAX, TaskGraph};
use super::super::ids::TaskId;
use super::super::task::{Task, TaskStatus};
use super::super::text::{clip, one_line};
use super::item::{ITEMS_MAX, ImportError, ImportItem, ItemOrigin, ItemRef};

/// Maximum number of items for which one item waits.
const BLOCKERS_MAX: usize = 100;
/// Maximum number of tags of a task.
const TAGS_MAX: usize = 100;
/// Maximum length of a tag, in characters.
const TAG_MAX: usize = 255;
/// Maximum length of a cycle in an error message, in characters.
const CYCLE_TEXT_MAX: usize = 300;

/// What happens to the dependencies that the items state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DependencyMode {
    /// A dependency on an unknown item is an error.
    #[default]
    All,
    /// Dependencies on unknown items are left out.
    Known,
    /// All dependencies are left out.
    Off,
}

/// The tasks that an import adds, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportPlan {
    pub tasks: Vec<PlannedTask>,
    /// The number of items that are skipped because they are on the board.
    pub on_board: usize,
    /// The number of items that are skipped because they are checked, completed or closed.
    pub done: usize,
    /// The number of dependencies on unknown items that are left out.
    pub unknown_blockers: usize,
}

/// What becomes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemState {
    /// It is done. No task waits for it.
    Done,
    /// It is a task on the board: its number, or `None` if the task is completed.
    OnBoard(Option<TaskId>),
    /// It becomes the task with this index in the import.
    New(usize),
}

/// Plans an import of `items` to the board with the tasks in `graph`. An issue that was imported before is skipped. An
/// item of a file is skipped if its task is on the board and not completed.
///
/// # Errors
/// Fails if an item cannot become a task, if there are too many, if a dependency is unknown (with
/// [`DependencyMode::All`]), or if dependencies form a cycle. Each problem names the line or the issue.
pub fn plan(
    items: &[ImportItem],
    mode: DependencyMode,
    graph: &TaskGraph,
) -> Result<ImportPlan, ImportError> {
    let known = KnownItems::new(items, graph);
    let mut plan = ImportPlan::default();
    let mut problems = Vec::new();
    // For each new task, its item.
    let mut sources = Vec::new();
    for (item, state) in items.iter().zip(&known.states) {
        match state {
            ItemState::Done => plan.done += 1,
            ItemState::OnBoard(_) => plan.on_board += 1,
            ItemState::New(_) => {
                problems.extend(problem_of(item));
                sources.push(item);
            }
        }
    }
    if sources.len() > ITEMS_MAX {
        return Err(format!(
            "there are {} tasks to import, {ITEMS_MAX} at most: import them in several parts",
            sources.len()
        )
        .into());
    }
    for item in &sources {
        let mut task = PlannedTask {
            new: NewTask {
                subject: item.subject.clone(),
                description: item.description.clone(),
                tags: item.tags.clone(),
                ..NewTask::default()
            },
            waits_for: Vec::new(),
            imported_from: item.key.clone(),
        };
        if mode != DependencyMode::Off {
            for blocker in &item.waits_for {
                match known.find(item, blocker) {
                    Some(ItemState::New(at)) if !task.waits_for.contains(&at) => {
                        task.waits_for.push(at);
                    }
                    Some(ItemState::OnBoard(Some(id))) if !task.new.blocked_by.contains(&id) => {
                        task.new.blocked_by.push(id);
                    }
                    Some(_) => {}
                    None if mode == DependencyMode::Known => plan.unknown_blockers += 1,
                    None => problems.push(unknown_blocker(item, blocker)),
                }
            }
        }
        plan.tasks.push(task);
    }
    if let Some(cycle) = find_cycle(&plan.tasks) {
        problems.push(cycle_problem(&cycle, &sources));
    }
    ImportError::check(problems)?;
    Ok(plan)
}

/// The items of an import and the tasks of earlier imports, by the names that dependencies use.
struct KnownItems<'a> {
    /// The state of each item.
    states: Vec<ItemState>,
    by_number: HashMap<u64, ItemState>,
    by_url: HashMap<&'a str, ItemState>,
    /// The tasks on the board that were imported.
    imported: HashMap<&'a str, &'a Task>,
}

impl<'a> KnownItems<'a> {
    fn new(items: &'a [ImportItem], graph: &'a TaskGraph) -> KnownItems<'a> {
        let mut imported: HashMap<&str, &Task> = HashMap::new();
        for task in graph.tasks().filter(|t| !t.imported_from.is_empty()) {
            let entry = imported.entry(&task.imported_from).or_insert(task);
            // Of several tasks with one origin, an open one counts.
            if entry.status == TaskStatus::Completed {
                *entry = task;
            }
        }
        let mut known = KnownItems {
            states: Vec::new(),
            by_number: HashMap::new(),
            by_url: HashMap::new(),
            imported,
        };
        let mut new = 0;
        for item in items {
            let existing = known.imported.get(item.key.as_str());
            // A check list may be used again when all its tasks are completed, but an issue is one piece of work.
            let existing =
                existing.filter(|task| item.url.is_some() || task.status != TaskStatus::Completed);
            let state = match existing {
                _ if item.is_done => ItemState::Done,
                Some(task) => on_board(task),
                None => {
                    new += 1;
                    ItemState::New(new - 1)
                }
            };
            known.states.push(state);
            if let Some(number) = item.number {
                known.by_number.entry(number).or_insert(state);
            }
            if let Some(url) = &item.url {
                known.by_url.entry(url).or_insert(state);
            }
        }
        known
    }

    /// Returns the state of the item that `item` calls `blocker`; `None` if it is unknown. An issue can also name
    /// issues that were imported earlier.
    fn find(&self, item: &ImportItem, blocker: &ItemRef) -> Option<ItemState> {
        let earlier = |url: &str| self.imported.get(url).map(|task| on_board(task));
        match blocker {
            ItemRef::Number(number) => self.by_number.get(number).copied().or_else(|| {
                let (base, _) = issue_url(item)?.rsplit_once('/')?;
                earlier(&format!("{base}/{number}"))
            }),
            ItemRef::Url(url) => {
                // A link may lead to a comment of the issue.
                let url = url.split(['#', '?']).next().unwrap_or_default();
                let url = url.trim_end_matches('/');
                self.by_url.get(url).copied().or_else(|| earlier(url))
            }
        }
    }
}

/// Returns the URL of an issue. `None` for a task of a file, also if it was an issue before: the numbers in the file are
/// those of a board.
fn issue_url(item: &ImportItem) -> Option<&str> {
    match item.origin {
        ItemOrigin::Issue(_) => item.url.as_deref(),
        ItemOrigin::Line(_) => None,
    }
}

fn on_board(task: &Task) -> ItemState {
    let is_open = task.status != TaskStatus::Completed;
    ItemState::OnBoard(is_open.then_some(task.id))
}

/// Returns why an item cannot become a task; `None` if it can.
fn problem_of(item: &ImportItem) -> Option<String> {
    let subject = one_line(item.subject.trim());
    let length = subject.chars().count();
    let long_tag = item.tags.iter().find(|tag| tag.chars().count() > TAG_MAX);
    let why = if subject.is_empty() {
        "the task has no subject: write in one line what is to be done".to_string()
    } else if length > SUBJECT_MAX {
        format!(
            "the subject has {length} characters, {SUBJECT_MAX} at most: move the rest to the description"
        )
    } else if item.description.len() > DESCRIPTION_MAX {
        format!(
            "the description has {} bytes, {DESCRIPTION_MAX} at most: put the rest into a file and name the file",
            item.description.len()
        )
    } else if item.tags.len() > TAGS_MAX {
        format!("the task has {} tags, {TAGS_MAX} at most", item.tags.len())
    } else if let Some(tag) = long_tag {
        format!(
            "a tag has more than {TAG_MAX} characters: {}",
            clip(tag, 40)
        )
    } else if item.waits_for.len() > BLOCKERS_MAX {
        let count = item.waits_for.len();
        format!("the task waits for {count} others, {BLOCKERS_MAX} at most")
    } else {
        return None;
    };
    Some(format!("{}: {why}", item.origin))
}

fn unknown_blocker(item: &ImportItem, blocker: &ItemRef) -> String {
    let from = match issue_url(item) {
        Some(_) => "is neither in this import nor on the board",
        None => "is not in this import",
    };
    format!(
        "{}: it waits for {blocker}, which {from}: import that too, or leave such dependencies out with \
         --dependencies known",
        item.origin
    )
}

fn cycle_problem(cycle: &[usize], sources: &[&ImportItem]) -> String {
    let first = cycle.first();
    let names = cycle.iter().chain(first).filter_map(|at| sources.get(*at));
    let names: Vec<String> = names.map(|item| item.origin.to_string()).collect();
    let first = names.first().map(String::as_str).unwrap_or_default();
    format!(
        "{first}: its dependencies form a cycle ({}): remove one of them, or import without dependencies \
         (--dependencies off)",
        clip(&names.join(" waits for "), CYCLE_TEXT_MAX)
    )
}

/// Returns the tasks of one dependency cycle, as indexes; `None` if there is no cycle.
fn find_cycle(tasks: &[PlannedTask]) -> Option<Vec<usize>> {
    // Repeatedly remove the tasks that wait for no other. Each task that is left is part of a cycle or waits for one.
    let mut waits: Vec<usize> = tasks.iter().map(|task| task.waits_for.len()).collect();
    let mut dependants = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        for blocker in &task.waits_for {
            if let Some(list) = dependants.get_mut(*blocker) {
                list.push(at);
            }
        }
    }
    let mut free: Vec<usize> = (0..tasks.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = free.pop() {
        for dependant in &dependants[at] {
            waits[*dependant] -= 1;
            if waits[*dependant] == 0 {
                free.push(*dependant);
            }
        }
    }
    // From any task that is left, the way through tasks that are left returns to a task that was visited before.
    let mut path: Vec<usize> = Vec::new();
    let mut at = waits.iter().position(|count| *count > 0)?;
    loop {
        if let Some(start) = path.iter().position(|visited| *visited == at) {
            return Some(path.split_off(start));
        }
        path.push(at);
        at = *tasks[at].waits_for.iter().find(|next| waits[**next] > 0)?;
    }
}

#[cfg(test)]
mod tests {
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
                "line 7: the task has 101 tags",
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
        assert!(error(&items).contains("waits for 101 others"));
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
                while let Some(id) = graph.ready().next().map(|t| t.id) {
                    graph.complete(id, &Name::user(), NOW).unwrap();
                }
                prop_assert!(!graph.has_open());
            }
        }
    }
}
