//! Pure: layout and text of dialogs: comments, task forms and confirmations.

mod feature;
pub(in crate::ui) mod merge;
pub(in crate::ui) mod task_actions;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::domain::ids::{Name, TaskId};
use crate::domain::text::{escape_control_chars, one_line};
use crate::domain::worktree::BranchState;
use crate::protocol::Command;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::onboarding::offers;
use crate::ui::app::popup::{CommentDialog, Confirmation, Popup, WorktreeCheck};
use crate::ui::keymap::Action;
use crate::ui::model::CrewModel;
use crate::ui::model::board::branches;
use crate::ui::text::wrap;
use crate::ui::widgets::area;
use crate::ui::widgets::area::{centered, low};
pub use feature::ConfirmPopup;

/// Maximum width of the comment field, in columns.
const COMMENT_WIDTH: u16 = 72;
/// Maximum visible rows of a comment.
const COMMENT_ROWS: u16 = 6;
/// Maximum rows of the task form, including its border.
const TASK_ROWS: u16 = 18;
/// Maximum number of excluded tasks that the merge dialog names.
const WAITING_MAX: usize = 3;
/// Maximum width of a confirmation, in columns.
const QUESTION_WIDTH: u16 = 60;

/// Confirmation before project settings are approved, so that a single key typed by accident does not approve them.
const APPROVE_SETTINGS: &str = "Approve these settings for this directory? They then take effect at every start, until the file changes.";

/// The layout of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The popup, including its border.
    pub area: Rect,
    /// The row of its buttons.
    pub buttons: Rect,
}

/// Returns the layout of a dialog; empty for other popups.
pub fn place(app: &App, screen: Rect, popup: &Popup) -> Place {
    let area = match popup {
        Popup::Comment(_) => comment_text_area(screen),
        Popup::Task(_) => task(screen),
        Popup::Confirm(question) => {
            let rows = u16::try_from(lines(app, question, screen).len()).unwrap_or(2);
            centered(screen, question_width(screen), rows + 4)
        }
        _ => Rect::default(),
    };
    let inside = area::inside(area);
    Place {
        area,
        buttons: Rect {
            y: inside.bottom().saturating_sub(1),
            height: 1.min(inside.height),
            ..inside
        },
    }
}

fn comment_text_area(screen: Rect) -> Rect {
    let columns = COMMENT_WIDTH.min(screen.width.saturating_sub(4));
    // At the bottom and at most a sixth of the screen, so that the card stays readable.
    let rows = (screen.height / 6).clamp(1, COMMENT_ROWS);
    low(screen, columns, rows + 5)
}

fn task(screen: Rect) -> Rect {
    let columns = COMMENT_WIDTH.min(screen.width.saturating_sub(4));
    centered(
        screen,
        columns,
        // Leaves the status line, the tabs and the two lines at the bottom visible.
        TASK_ROWS.min(screen.height.saturating_sub(4)),
    )
}

/// Returns the title of the comment field.
pub fn comment_title(model: &CrewModel, comment: &CommentDialog) -> &'static str {
    if model.requests.is_question(&comment.request) {
        "Answer"
    } else {
        "Comment"
    }
}

/// Returns the title of a confirmation.
pub fn question_title(question: &Confirmation) -> &'static str {
    match question {
        Confirmation::Quit => "Quit",
        Confirmation::Force(_) => "End by force",
        Confirmation::Merge(_) => "Merge",
        Confirmation::Release { .. } => "Release",
        Confirmation::Complete(_) => "Complete",
        Confirmation::ApproveSettings => "Approve settings",
        Confirmation::RemoveWorktree(_) => "Remove worktree",
        Confirmation::LoseWork(_) => "Lose work",
    }
}

fn question_width(screen: Rect) -> u16 {
    QUESTION_WIDTH.min(screen.width.saturating_sub(4))
}

/// Returns the text of a confirmation, wrapped to its width.
pub fn lines(app: &App, question: &Confirmation, screen: Rect) -> Vec<String> {
    let words = match question {
        Confirmation::Quit => quit(app),
        Confirmation::Force(name) => force(app, name),
        Confirmation::Merge(id) => merge(app, *id),
        Confirmation::Release { task, from } => release(app, *task, from),
        Confirmation::Complete(id) => complete(app, *id),
        Confirmation::ApproveSettings => APPROVE_SETTINGS.into(),
        Confirmation::RemoveWorktree(judged) => remove(app, judged),
        Confirmation::LoseWork(judged) => lose(app, judged),
    };
    wrap(
        &words,
        usize::from(question_width(screen).saturating_sub(4)),
    )
}

fn merge(model: &CrewModel, id: TaskId) -> String {
    let Some(task) = model.board.get(id) else {
        return String::new();
    };
    let (size, into) = match branches::branch(model, task) {
        Some(BranchState::Unmerged { into, size }) => (
            size.map_or_else(String::new, |size| format!(" ({size})")),
            format!(" into {}", one_line(into)),
        ),
        Some(BranchState::Merged { .. } | BranchState::Empty | BranchState::Gone) | None => {
            (String::new(), String::new())
        }
    };
    let others = match branches::to_merge(model).len() {
        0 | 1 => String::new(),
        n => format!(
            "\n{n} tasks are done and not merged. All are merged in dependency order, up to the first conflict."
        ),
    };
    let waiting: Vec<String> = branches::unmerged(model)
        .iter()
        .filter_map(|(id, open)| {
            Some(format!(
                "\n{id} is not included: {} must be completed first.",
                (*open)?
            ))
        })
        .take(WAITING_MAX)
        .collect();
    let waiting = if others.is_empty() {
        String::new()
    } else {
        waiting.concat()
    };
    format!(
        "Merge wt/{}{size}{into}?\n{id} {}{others}{waiting}",
        one_line(&task.worktree),
        one_line(&task.subject)
    )
}

/// Returns the confirmation before a task is released from a running teammate.
fn release(model: &CrewModel, id: TaskId, from: &Name) -> String {
    let Some(task) = model.board.get(id) else {
        return String::new();
    };
    let told = if from.is_lead() {
        format!("{from} gets a message and will not claim it again.")
    } else {
        format!("{from} is stopped, gets a message and will not claim it again.")
    };
    let tree = match task.worktree.as_str() {
        "" => String::new(),
        tree => format!(
            "\n.worktrees/{} is kept, including its uncommitted changes.",
            one_line(tree)
        ),
    };
    format!(
        "Release {id} ({}), the task of {from}? It goes back to the board.\n{told}{tree}",
        one_line(&task.subject)
    )
}

fn complete(model: &CrewModel, id: TaskId) -> String {
    let subject = model.board.get(id).map_or("", |task| &task.subject);
    format!(
        "Complete {id} ({}), which has no owner? This cannot be undone.",
        one_line(subject)
    )
}

fn tree(model: &CrewModel, id: TaskId) -> String {
    let task = model.board.get(id);
    task.map_or_else(String::new, |task| one_line(&task.worktree))
}

fn remove(model: &CrewModel, judged: &WorktreeCheck) -> String {
    let (id, size) = (judged.task, &judged.size);
    let losses = if judged.losses.is_empty() {
        "Nothing would be lost.".to_string()
    } else {
        format!(
            "It has {}. You are asked again before that is lost.",
            judged.losses
        )
    };
    format!(
        "Remove .worktrees/{} ({size}) of {id}?\n{}",
        tree(model, id),
        escape_control_chars(&losses)
    )
}

/// Returns the second confirmation, which names what would be lost.
fn lose(model: &CrewModel, judged: &WorktreeCheck) -> String {
    let tree = tree(model, judged.task);
    let (gone, kept) = (judged.losses.permanent(), judged.losses.retained());
    let mut words = format!("Remove .worktrees/{tree} anyway?");
    if !gone.is_empty() {
        words.push_str(&format!("\nLost for good: {gone}."));
    }
    if !kept.is_empty() {
        words.push_str(&format!("\nKept on the branch wt/{tree}: {kept}."));
    }
    escape_control_chars(&words)
}

fn quit(app: &App) -> String {
    let asks = match (app.at_stake(), app.jobs_at_stake()) {
        (0, 0) => "Quit?",
        (1, 0) => "Quit and stop it? Its work so far is kept.",
        (_, 0) => "Quit and stop them? Their work so far is kept.",
        (0, 1) => "Quit and end it?",
        (0, _) => "Quit and end them?",
        (_, _) => "Quit and end all of it? The work so far is kept.",
    };
    match still(app) {
        None => asks.into(),
        Some(words) => format!("{words} {asks}"),
    }
}

/// Returns a sentence that says what quitting would stop; `None` if nothing.
pub fn still(app: &App) -> Option<String> {
    let agents = match app.at_stake() {
        0 => None,
        1 => Some("One agent is still working".to_string()),
        n => Some(format!("{n} agents are still working")),
    };
    let jobs = match (app.jobs_at_stake(), &agents) {
        (0, _) => None,
        (1, None) => Some("One background job is still running".to_string()),
        (n, None) => Some(format!("{n} background jobs are still running")),
        (1, Some(_)) => Some("one background job is running".to_string()),
        (n, Some(_)) => Some(format!("{n} background jobs are running")),
    };
    let all: Vec<String> = agents.into_iter().chain(jobs).collect();
    (!all.is_empty()).then(|| format!("{}.", all.join(", ")))
}

fn force(model: &CrewModel, name: &Name) -> String {
    let task = model.board.open_task_of(name).map(|task| {
        format!(
            " Task {} ({}) goes back to the board.",
            task.id,
            one_line(&task.subject)
        )
    });
    format!(
        "End {name} now, in the middle of its work?{} Files it has written are kept.",
        task.unwrap_or_default()
    )
}

/// Returns the selected task, or the task of an open merge dialog, if it has a worktree. Otherwise says why it has
/// none.
pub fn with_worktree(app: &mut App, selected: Option<TaskId>) -> Option<TaskId> {
    if let Some(Popup::Confirm(Confirmation::Merge(id))) = app.popups.last() {
        return Some(*id);
    }
    let Some(id) = selected else {
        app.say_no_task();
        return None;
    };
    let why = move |app: &App| branches::why_no_tree(app, app.model.board.get(id)?);
    if let Some(text) = why(app) {
        app.say_why(text, why);
        return None;
    }
    Some(id)
}

/// Requests the diff of the selected task's branch.
pub fn ask_diff(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    if let Some(task) = with_worktree(app, selected) {
        out.push(Effect::Command(Command::ShowDiff { task }));
    }
}

/// Approves the settings shown on the page.
pub fn approve_now(app: &mut App, out: &mut Vec<Effect>) {
    if offers(app, Action::ApproveSettings) {
        app.say(NoticeLevel::Info, "Approved: starting with these settings…");
        out.push(Effect::ApproveSettings);
    }
}
