//! The problems popup: everything that blocks the work, each with its cause and the key that helps. Pure.

mod agents;
mod hosts;
mod messages;
mod notices;
#[cfg(test)]
mod selection_tests;
mod tasks;
#[cfg(test)]
mod tests;

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::request::Request;
use crate::domain::text::{count_noun, one_line};
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::app::{App, Preferences};
use crate::ui::frame::navigation;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyLookup};
use crate::ui::model::{CrewModel, sentence};
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::text::aging::ShownAge;
use crate::ui::text::{fit, wrap};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{PAGE, step};

/// Maximum number of listed problems. If there are more, the least severe ones are omitted.
pub const PROBLEMS_MAX: usize = 100;

/// Maximum width of the summary of a request, in columns.
const ABOUT_MAX: usize = 120;

/// Time after which an agent that is busy with one activity counts as stalled, and after which an unread message is
/// listed as a problem.
const STALLED_AFTER: Duration = Duration::from_secs(300);

/// The page with the list of problems, of which one is selected.
#[derive(Debug, Default)]
pub struct ProblemsPage {
    /// The index of the selected problem.
    selected: usize,
    /// The problem that was selected before the current event.
    remembered: Option<Problem>,
}

pub fn open(app: &mut App) {
    open_popup(app, Pager::new(ProblemsPage::default()));
}

impl ProblemsPage {
    fn selected_problem(&self, app: &App) -> Option<Problem> {
        listed(app).into_iter().nth(self.selected)
    }
}

impl Page for ProblemsPage {
    const TIP: &'static str = "Problems and fixes";

    fn title(&self, _app: &App) -> String {
        "Problems".into()
    }

    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        lines(app, width, theme)
    }

    fn is_current(&self, row: &PagerRow) -> bool {
        row.item == Some(self.selected)
    }

    fn part(&self, row: &PagerRow) -> Option<usize> {
        row.item
    }

    fn line_of_part(&self, part: usize, rows: &[PagerRow]) -> Option<usize> {
        rows.iter().position(|row| row.item == Some(part))
    }

    fn select_section(&mut self, rows: &[PagerRow], line: usize) {
        let item = rows.get(line).and_then(|row| row.item);
        self.selected = item.unwrap_or(self.selected);
    }

    fn has_items(&self, app: &App) -> bool {
        !listed(app).is_empty()
    }

    fn select_item(&mut self, app: &App, by: Scroll) -> bool {
        let len = listed(app).len();
        self.selected = step(self.selected, len, by, PAGE);
        len > 0
    }

    fn open_item(&mut self, app: &mut App) -> Option<Next> {
        match self.selected_problem(app)?.target {
            ProblemTarget::Nothing => return None,
            ProblemTarget::Compose => return Some(Next::CloseAndRun(Action::Compose)),
            ProblemTarget::Models => return Some(Next::CloseAndRun(Action::Models)),
            ProblemTarget::EventLog => {
                return Some(Next::CloseAndRun(Action::Popup("event_log")));
            }
            ProblemTarget::Request(id) => navigation::show_request(app, id),
            ProblemTarget::Setup => navigation::focus(app, Pane::Lead),
            ProblemTarget::Task(id) => {
                app.ask_panes(PaneRequest::SelectTask(id));
                navigation::focus(app, Pane::Board);
            }
            // The lead has no row in the team.
            ProblemTarget::Agent(name) if name.is_lead() => navigation::show(app, &name),
            ProblemTarget::Agent(name) => {
                app.ask_panes(PaneRequest::SelectAgent(name));
                navigation::focus(app, Pane::Team);
            }
            ProblemTarget::Inbox => navigation::focus(app, Pane::Inbox),
        }
        Some(Next::CloseAll)
    }

    fn item_label(&self, app: &App) -> Option<&'static str> {
        Some(match self.selected_problem(app)?.target {
            ProblemTarget::Nothing => return None,
            ProblemTarget::Request(_) => "show the request",
            ProblemTarget::Setup => "show what to do",
            ProblemTarget::Task(_) => "go to the task",
            ProblemTarget::Agent(_) => "go to the agent",
            ProblemTarget::Inbox => "go to the inbox",
            ProblemTarget::Compose => "write",
            ProblemTarget::Models => "choose a model",
            ProblemTarget::EventLog => "event log",
        })
    }

    fn before_event(&mut self, app: &App) {
        self.remembered = self.selected_problem(app);
    }

    fn after_event(&mut self, app: &App) {
        let all = listed(app);
        let wanted = self.remembered.take();
        let is_same = |p: &Problem| wanted.as_ref() == Some(p);
        // The event may have changed a number in the cause of the problem. Of several problems of the same kind, the one
        // in the same row is then the same problem.
        let is_same_kind = |p: &Problem| {
            wanted
                .as_ref()
                .is_some_and(|w| (p.severity, &p.target, p.help) == (w.severity, &w.target, w.help))
        };
        let here = self.selected;
        let is_here = all.get(here).is_some_and(is_same_kind);
        let last = all.len().saturating_sub(1);
        self.selected = (all.iter().position(is_same))
            .or_else(|| is_here.then_some(here))
            .or_else(|| all.iter().position(is_same_kind))
            .unwrap_or(here.min(last));
    }

    fn ages(&self, app: &App) -> Vec<ShownAge> {
        ages(app)
    }

    fn recommended_action(&self, prefs: &Preferences, key: &str) -> Option<Action> {
        match prefs.keymap.lookup(&[Context::Panes], key) {
            KeyLookup::Action(
                action @ (Action::Waiting | Action::Focus(_) | Action::Compose | Action::Models),
            ) => Some(action),
            KeyLookup::Action(_) | KeyLookup::Prefix | KeyLookup::Nothing => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub severity: ProblemSeverity,
    /// What is wrong and why, on one line.
    pub cause: String,
    /// What the user can do. Names of actions in braces, such as `{team.open}`, are replaced by their keys with
    /// [`KeyMap::expand_keys`](crate::ui::keymap::KeyMap::expand_keys).
    pub help: &'static str,
    /// Where the first step of `help` leads.
    pub target: ProblemTarget,
}

/// Where the key that opens the selected problem leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemTarget {
    Request(RequestId),
    /// The conversation pane, which shows the setup page.
    Setup,
    /// The task on the board.
    Task(TaskId),
    /// The agent in the team pane; for the lead, its conversation.
    Agent(Name),
    Inbox,
    Compose,
    Models,
    EventLog,
    /// Only time or a command outside of the dashboard helps.
    Nothing,
}

/// The severity of a problem, from the most to the least severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemSeverity {
    NeedsUser,
    /// An agent failed, or a file is damaged or cannot be read.
    Failed,
    /// The work may not continue without help.
    Stuck,
    /// The work will probably continue without help.
    Waits,
}

/// Returns all problems, worst first.
pub fn problems(app: &App) -> Vec<Problem> {
    let requests = (0..app.requests.len()).filter_map(|at| app.model.requests.at(at));
    let asked = requests.map(|request| Problem {
        severity: ProblemSeverity::NeedsUser,
        cause: asked_for(request),
        help: "{panes.waiting} shows the request",
        target: ProblemTarget::Request(request.id.clone()),
    });
    let first = app.onboarding_causes().map(|what| Problem {
        severity: ProblemSeverity::NeedsUser,
        cause: what.to_string(),
        help: "{panes.focus_lead} shows what to do",
        target: ProblemTarget::Setup,
    });
    let mut out: Vec<Problem> = first.chain(asked).collect();
    out.extend(agents::problems(app));
    out.extend(hosts::problems(app));
    out.extend(tasks::problems(app));
    out.extend(messages::problems(app));
    out.extend(notices::problems(app));
    out.sort_by_key(|p| p.severity);
    out
}

/// Returns the problems that the page lists: the worst ones, at most [`PROBLEMS_MAX`].
fn listed(app: &App) -> Vec<Problem> {
    let mut all = problems(app);
    all.truncate(PROBLEMS_MAX);
    all
}

/// Summarizes a request on one line. The pane "Needs you" shows its details.
fn asked_for(request: &Request) -> String {
    let who = one_line(&sentence::request(request));
    match sentence::about(request) {
        Some(about) => format!("{who}: {}", fit(&about, ABOUT_MAX)),
        None => who,
    }
}

/// Returns the times whose age affects the list of problems: a problem shows the age, or is listed only from a certain
/// age on. When such an age changes, the screen is redrawn.
pub(in crate::ui) fn ages(model: &CrewModel) -> Vec<ShownAge> {
    agents::ages(model)
        .into_iter()
        .chain(messages::ages(model))
        .collect()
}

/// Renders the cause and the help of each problem, `width` columns wide. Problems beyond [`PROBLEMS_MAX`] are only counted.
pub fn lines(app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
    let all = problems(app);
    if all.is_empty() {
        let words = "No problems";
        return text_rows(vec![Line::styled(words, theme.dim)]);
    }
    let mut out = Vec::new();
    let mut push = |item: Option<usize>, text: &str, head: (&'static str, Style), style: Style| {
        for (i, line) in wrap(text, width.saturating_sub(2)).into_iter().enumerate() {
            // Only the first line of a problem has the symbol.
            let head = match i {
                0 => vec![Span::styled(head.0, head.1), Span::raw(" ")],
                _ => vec![Span::raw("  ")],
            };
            let line = Span::styled(line, style);
            let line: Line<'static> = head.into_iter().chain([line]).collect();
            out.push(PagerRow {
                item,
                ..PagerRow::from(line)
            });
        }
    };
    let omitted = all.len().saturating_sub(PROBLEMS_MAX);
    for (at, problem) in all.into_iter().take(PROBLEMS_MAX).enumerate() {
        let head = match problem.severity {
            ProblemSeverity::NeedsUser => ("◆", theme.waiting),
            ProblemSeverity::Failed => ("✗", theme.error),
            ProblemSeverity::Stuck => ("▲", theme.warn),
            ProblemSeverity::Waits => ("◔", theme.dim),
        };
        push(Some(at), &problem.cause, head, theme.text);
        let help = app.prefs.keymap.expand_keys(problem.help);
        push(Some(at), &help, (" ", theme.dim), theme.dim);
    }
    if omitted > 0 {
        let words = format!("Not listed: {}.", count_noun(omitted, "more problem"));
        push(None, &words, (" ", theme.dim), theme.dim);
    }
    out
}
