//! Draws the setup page (problem, explanation, steps and keys) and runs its actions. Also draws the message for a
//! window that is too small.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::effect::Effect;
use crate::ui::app::onboarding::{OnboardingPage, PageSeverity};
use crate::ui::app::{App, onboarding, popup};
use crate::ui::frame::layout::{BESIDE_TEXT, HEIGHT_MIN, TEXT_WIDEST, WIDTH_MIN, inside};
use crate::ui::keymap::Action;
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::approve_settings::ApproveSettings;
use crate::ui::text::{width, wrap};
use crate::ui::theme::Theme;
use crate::ui::widgets::area::centered_rect;

/// The status message when the user tries to approve project settings that are not completely visible on the setup
/// page.
const TOO_LONG: &str =
    "Not all settings are visible. Make the window larger, or run crewdeck trust in a shell.";

/// Runs `action` if the setup page offers it; otherwise does nothing. `area` is the frame of the pane.
pub fn act(app: &mut App, area: Option<Rect>, action: Action, out: &mut Vec<Effect>) {
    if !onboarding::offers(app, action) {
        return;
    }
    let (words, effect) = match action {
        Action::ApproveSettings if fits(app, area) => {
            return popup::open(app, Confirmation(ApproveSettings));
        }
        Action::ApproveSettings => return app.warn(TOO_LONG),
        Action::StartDemo => ("Starting the demo…", Effect::StartDemo),
        Action::CreateRepository => ("Running git…", Effect::CreateRepository),
        Action::SkipSettings => (
            "Starting without what needs approval…",
            Effect::StartWithoutSettings,
        ),
        _ => ("Checking again…", Effect::Reload),
    };
    app.say(words);
    out.push(effect);
}

/// Returns whether the user can see the whole setup page: it is shown, no popup covers it, and all its steps fit into a
/// pane with the frame `area`.
fn fits(app: &App, area: Option<Rect>) -> bool {
    let (Some(area), Some(page)) = (area, onboarding::visible_page(app)) else {
        return false;
    };
    let area = inside(area).inner(BESIDE_TEXT);
    app.popups.is_empty() && lines(app, page, &Theme::default(), area).is_whole
}

/// Draws the setup page. If there is too little room, omits first the blank lines, then the explanation, then steps
/// from the end; the last line of the steps then says how many are omitted. If even the problem and the keys do not fit
/// into `area`, the last lines are cut off.
pub fn draw(app: &App, page: &OnboardingPage, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let lines = lines(app, page, theme, area);
    for (line, row) in lines.shown.iter().zip(area.rows()) {
        line.render(
            Rect {
                width: area.width.min(TEXT_WIDEST),
                ..row
            },
            buffer,
        );
    }
}

struct VisibleLines {
    shown: Vec<Line<'static>>,
    /// Whether all steps are visible.
    is_whole: bool,
}

fn lines(app: &App, page: &OnboardingPage, theme: &Theme, area: Rect) -> VisibleLines {
    let columns = usize::from(area.width.min(TEXT_WIDEST));
    let tone = match page.severity {
        PageSeverity::Missing | PageSeverity::Trouble => theme.warn,
        PageSeverity::Advice => theme.title,
    };
    let what = paragraph(&page.cause, columns, tone);
    let means = paragraph(&page.consequence, columns, theme.text);
    let steps: Vec<Vec<Line>> = page
        .steps
        .iter()
        .map(|step| wrap_with_mark("· ", step, columns, theme))
        .collect();
    let keys = onboarding::keys(app, page);
    let wide = keys.iter().map(|(key, _)| width(key)).max().unwrap_or(0);
    let keys: Vec<Line> = keys
        .iter()
        .flat_map(|(key, words)| {
            let blanks = wide.saturating_sub(width(key)) + 2;
            wrap_with_mark(
                &format!("{key}{}", " ".repeat(blanks)),
                words,
                columns,
                theme,
            )
        })
        .collect();
    let room = usize::from(area.height);
    let steps_rows: usize = steps.iter().map(Vec::len).sum();
    VisibleLines {
        is_whole: what.len() + steps_rows + keys.len() <= room,
        shown: fit_sections(what, means, steps, keys, room, theme),
    }
}

/// Joins the problem, the explanation, the steps and the keys, separated by blank lines, as far as they fit into `room`
/// rows. A step is shown completely or not at all. A line in place of the omitted steps says how many there are.
fn fit_sections(
    what: Vec<Line<'static>>,
    means: Vec<Line<'static>>,
    steps: Vec<Vec<Line<'static>>>,
    keys: Vec<Line<'static>>,
    room: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let all: usize = steps.iter().map(Vec::len).sum();
    let has_means = what.len() + means.len() + all + keys.len() <= room;
    let means = if has_means { means } else { Vec::new() };
    let mut left = room.saturating_sub(what.len() + means.len() + keys.len());
    let has_note = all > left && left > 0;
    left -= usize::from(has_note);
    let mut omitted = steps.len();
    let mut shown = Vec::new();
    for step in steps {
        let Some(rest) = left.checked_sub(step.len()) else {
            break;
        };
        left = rest;
        omitted -= 1;
        shown.extend(step);
    }
    if has_note {
        let words = format!("… {omitted} more: make the window larger");
        shown.push(Line::styled(words, theme.dim));
    }
    let parts = [what, means, shown, keys];
    let parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    let taken: usize = parts.iter().map(Vec::len).sum();
    let has_blanks = taken + parts.len().saturating_sub(1) <= room;
    let mut out = Vec::new();
    for part in parts {
        if has_blanks && !out.is_empty() {
            out.push(Line::default());
        }
        out.extend(part);
    }
    out
}

fn paragraph(words: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    if words.is_empty() {
        return Vec::new();
    }
    let rows = wrap(words, columns);
    rows.into_iter().map(|l| Line::styled(l, style)).collect()
}

/// Wraps `words` into rows. The first row begins with `mark`; the other rows are indented by the width of `mark`.
fn wrap_with_mark(mark: &str, words: &str, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let indent = width(mark);
    let rows = wrap(words, columns.saturating_sub(indent));
    let rows = rows.into_iter().enumerate().map(|(i, row)| {
        let mark = if i == 0 {
            mark.to_string()
        } else {
            " ".repeat(indent)
        };
        Line::from(vec![
            Span::styled(mark, theme.accent),
            Span::styled(row, theme.text),
        ])
    });
    rows.collect()
}

pub fn too_small(area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let words = format!(
        "crewdeck needs {WIDTH_MIN} columns and {HEIGHT_MIN} rows.\nThis window is {} by {}: make it larger or its font smaller.\nThe crew keeps running.",
        area.width, area.height
    );
    let lines = wrap(&words, usize::from(area.width));
    let height = u16::try_from(lines.len()).unwrap_or(area.height);
    let place = centered_rect(area, area.width, height);
    for (line, row) in lines.iter().zip(place.rows()) {
        Line::styled(line.as_str(), theme.text)
            .centered()
            .render(row, buffer);
    }
}
