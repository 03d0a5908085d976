//! Pure: what keeps the work from going on, each with its cause and with the key that helps.

mod agents;
mod letters;
mod tasks;
#[cfg(test)]
mod tests;
mod told;

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::request::Request;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::{Model, sentence};
use crate::ui::text::aging::Aging;
use crate::ui::text::{fit, wrap};
use crate::ui::theme::Theme;

/// Most problems that are listed.
pub const PROBLEMS_MAX: usize = 100;

/// Most columns of what a request is about.
const ABOUT_MAX: usize = 120;

/// After so many seconds in one activity an agent counts as stalled, and a letter as overlooked.
const STALLED_AFTER: Duration = Duration::from_secs(300);

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How much it matters.
    pub weight: Weight,
    /// What is wrong and why, in one line.
    pub cause: String,
    /// What helps; keys in it stand by their names, as [`KeyMap::told`](crate::ui::keymap::KeyMap::told) reads them.
    pub help: &'static str,
}

/// How much a problem matters, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It does not go on without the person.
    Person,
    /// Somebody failed.
    Failed,
    /// Something may not go on by itself.
    Stuck,
    /// It goes on by itself, later.
    Waits,
}

/// All of them, the worst first; at most [`PROBLEMS_MAX`].
pub fn problems(app: &App) -> Vec<Problem> {
    let requests = (0..app.requests.len()).filter_map(|at| app.model.requests.at(at));
    let asked = requests.map(|request| Problem {
        weight: Weight::Person,
        cause: asked_for(request),
        help: "{panes.waiting} shows it",
    });
    let first = app.first_causes().map(|what| Problem {
        weight: Weight::Person,
        cause: what.to_string(),
        help: "{panes.focus_lead} shows what to do",
    });
    let mut out: Vec<Problem> = first.chain(asked).collect();
    out.extend(agents::problems(app));
    out.extend(tasks::problems(app));
    out.extend(letters::problems(app));
    out.extend(told::problems(app));
    out.sort_by_key(|p| p.weight);
    out.truncate(PROBLEMS_MAX);
    out
}

/// Who asks for what: the card has all of it.
fn asked_for(request: &Request) -> String {
    let who = one_line(&sentence::request(request));
    match sentence::about(request) {
        Some(about) => format!("{who}: {}", fit(&about, ABOUT_MAX)),
        None => who,
    }
}

/// The ages in them, also of those that are none yet.
pub(in crate::ui) fn ages(model: &Model) -> Vec<Aging> {
    agents::ages(model)
        .into_iter()
        .chain(letters::ages(model))
        .collect()
}

/// The lines of the popup, `width` columns wide.
pub fn lines(app: &App, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let all = problems(app);
    if all.is_empty() {
        let words = "Nothing is in the way: nobody waits, failed or stands still.";
        return vec![Line::styled(words, theme.dim)];
    }
    let mut out = Vec::new();
    let mut push = |text: &str, head: (&'static str, Style), style: Style| {
        for (i, line) in wrap(text, width.saturating_sub(2)).into_iter().enumerate() {
            // What marks the first line without colour marks no blank.
            let head = match i {
                0 => vec![Span::styled(head.0, head.1), Span::raw(" ")],
                _ => vec![Span::raw("  ")],
            };
            let line = Span::styled(line, style);
            out.push(head.into_iter().chain([line]).collect());
        }
    };
    let count = all.len();
    for problem in all {
        let head = match problem.weight {
            Weight::Person => ("◆", theme.waiting),
            Weight::Failed => ("✗", theme.error),
            Weight::Stuck => ("▲", theme.warn),
            Weight::Waits => ("◔", theme.dim),
        };
        push(&problem.cause, head, theme.text);
        push(
            &app.prefs.keymap.told(problem.help),
            (" ", theme.dim),
            theme.dim,
        );
    }
    if count == PROBLEMS_MAX {
        let words = format!("No more than {PROBLEMS_MAX} are listed.");
        push(&words, (" ", theme.dim), theme.dim);
    }
    out
}
