//! The problems popup: everything that blocks the work, each with its cause and the key that helps. Pure.

mod agents;
mod messages;
mod notices;
mod tasks;
#[cfg(test)]
mod tests;

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::request::Request;
use crate::domain::text::{count_noun, one_line};
use crate::ui::app::popup::open as open_popup;
use crate::ui::app::{App, Preferences};
use crate::ui::keymap::{Action, Context, KeyLookup};
use crate::ui::model::{CrewModel, sentence};
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::text::aging::ShownAge;
use crate::ui::text::{fit, wrap};
use crate::ui::theme::Theme;

/// Maximum number of listed problems. If there are more, the least severe ones are omitted.
pub const PROBLEMS_MAX: usize = 100;

/// Maximum width of the summary of a request, in columns.
const ABOUT_MAX: usize = 120;

/// Time after which an agent that is busy with one activity counts as stalled, and after which an unread message is
/// listed as a problem.
const STALLED_AFTER: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub struct ProblemsPage;

pub fn open(app: &mut App) {
    open_popup(app, Pager::new(ProblemsPage));
}

impl Page for ProblemsPage {
    const TIP: &'static str = "Problems and fixes";

    fn title(&self, _app: &App) -> String {
        "Problems".into()
    }

    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        text_rows(lines(app, width, theme))
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
    });
    let first = app.onboarding_causes().map(|what| Problem {
        severity: ProblemSeverity::NeedsUser,
        cause: what.to_string(),
        help: "{panes.focus_lead} shows what to do",
    });
    let mut out: Vec<Problem> = first.chain(asked).collect();
    out.extend(agents::problems(app));
    out.extend(tasks::problems(app));
    out.extend(messages::problems(app));
    out.extend(notices::problems(app));
    out.sort_by_key(|p| p.severity);
    out
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
pub fn lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let all = problems(app);
    if all.is_empty() {
        let words = "No problems";
        return vec![Line::styled(words, theme.dim)];
    }
    let mut out = Vec::new();
    let mut push = |text: &str, head: (&'static str, Style), style: Style| {
        for (i, line) in wrap(text, width.saturating_sub(2)).into_iter().enumerate() {
            // Only the first line of a problem has the symbol.
            let head = match i {
                0 => vec![Span::styled(head.0, head.1), Span::raw(" ")],
                _ => vec![Span::raw("  ")],
            };
            let line = Span::styled(line, style);
            out.push(head.into_iter().chain([line]).collect());
        }
    };
    let omitted = all.len().saturating_sub(PROBLEMS_MAX);
    for problem in all.into_iter().take(PROBLEMS_MAX) {
        let head = match problem.severity {
            ProblemSeverity::NeedsUser => ("◆", theme.waiting),
            ProblemSeverity::Failed => ("✗", theme.error),
            ProblemSeverity::Stuck => ("▲", theme.warn),
            ProblemSeverity::Waits => ("◔", theme.dim),
        };
        push(&problem.cause, head, theme.text);
        push(
            &app.prefs.keymap.expand_keys(problem.help),
            (" ", theme.dim),
            theme.dim,
        );
    }
    if omitted > 0 {
        let words = format!("Not listed: {}.", count_noun(omitted, "more problem"));
        push(&words, (" ", theme.dim), theme.dim);
    }
    out
}
