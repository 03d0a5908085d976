//! Checks a whole import and decides which tasks it adds to the board.

use std::collections::HashMap;

use super::super::graph::{DESCRIPTION_MAX, NewTask, PlannedTask, SUBJECT_MAX, TaskGraph};
use super::super::ids::TaskId;
use super::super::task::{Task, TaskStatus};
use super::super::text::{clip, one_line};
use super::item::{ITEMS_MAX, ImportError, ImportItem, ItemOrigin, ItemRef, TAGS_MAX};

/// Maximum number of items for which one item waits.
const BLOCKERS_MAX: usize = 100;
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
        match known.add_blockers(item, mode, &mut task) {
            Ok(unknown) => plan.unknown_blockers += unknown,
            Err(problem) => problems.push(problem),
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

    /// Adds the blockers of `item` to its task. Returns the number of unknown ones that are left out.
    ///
    /// # Errors
    /// Returns the first problem: a blocker is unknown (with [`DependencyMode::All`]), or there are too many. A text may
    /// state very many dependencies, so further ones are not checked.
    fn add_blockers(
        &self,
        item: &ImportItem,
        mode: DependencyMode,
        task: &mut PlannedTask,
    ) -> Result<usize, String> {
        if mode == DependencyMode::Off {
            return Ok(0);
        }
        let mut unknown = 0;
        for blocker in &item.waits_for {
            match self.find(item, blocker) {
                Some(ItemState::New(at)) if !task.waits_for.contains(&at) => {
                    task.waits_for.push(at);
                }
                Some(ItemState::OnBoard(Some(id))) if !task.new.blocked_by.contains(&id) => {
                    task.new.blocked_by.push(id);
                }
                Some(_) => {}
                None if mode == DependencyMode::Known => unknown += 1,
                None => return Err(unknown_blocker(item, blocker)),
            }
            if task.waits_for.len() + task.new.blocked_by.len() > BLOCKERS_MAX {
                return Err(format!(
                    "{}: it waits for more than {BLOCKERS_MAX} others: remove some of them, or import without \
                     dependencies (--dependencies off)",
                    item.origin
                ));
            }
        }
        Ok(unknown)
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
        format!(
            "the task has more than {TAGS_MAX} tags: remove some, or leave all out with --no-tags"
        )
    } else if let Some(tag) = long_tag {
        format!(
            "a tag has more than {TAG_MAX} characters: {}",
            clip(tag, 40)
        )
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
mod tests;
