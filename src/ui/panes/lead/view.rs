//! The conversation that is shown, and where the person writes to its agent.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Widget};

use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::UiState;
use crate::ui::app::onboarding::Weight;
use crate::ui::frame;
use crate::ui::frame::Titles;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::board as model_board;
use crate::ui::model::style;
use crate::ui::panes::lead::follow;
use crate::ui::panes::lead::{answering, composer_title};
use crate::ui::text::{age, fit, longest};
use crate::ui::theme::Theme;
use crate::ui::widgets::composer;
use crate::ui::widgets::composer::Room;
use crate::ui::widgets::line_input::Searching;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Draws the conversation.
pub fn draw(
    state: &UiState,
    cache: &mut ViewCache,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let agent = state.model.agents.get(&state.shown);
    let titles = Titles {
        name: name(state),
        aside: doing(state, theme),
        below: follow::follow_mark(state, area)
            .map_or_else(Vec::new, |mark| vec![Span::styled(mark.what, theme.accent)]),
        ..Titles::default()
    };
    let inner = frame::pane(state, Pane::Lead, titles, theme, area, buffer);
    let inner = queued(state, theme, inner, buffer);
    match agent {
        Some(agent) if agent.has_spoken => {
            let cache = cache.transcript(&state.shown);
            let talk = frame_layout::talk(state, area);
            let scrolled = agent.transcript.view(cache, theme, talk, buffer);
            let bar = scrolled.and_then(|scrolled| Scrollbar::new(area, talk, scrolled));
            frame::scrollbar(bar, frame::thumb(state, Pane::Lead, theme), buffer);
        }
        Some(_) | None => match crate::ui::app::onboarding::drawn(state) {
            Some(page) => {
                let inner = inner.inner(frame_layout::BESIDE_TEXT);
                crate::ui::panes::lead::onboarding::draw(state, page, theme, inner, buffer);
            }
            None => frame::empty(&welcome(state), theme, inner, buffer),
        },
    }
    search_line(state, theme, area, buffer)
}

/// Draws what is searched for on the lower edge of the frame; while it is written, where the cursor is to be comes
/// back.
fn search_line(
    state: &UiState,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let transcript = &state.model.agents.get(&state.shown)?.transcript;
    let search = transcript.search()?;
    let at = frame::search_edge(search.words(), transcript.found(), theme, area, buffer);
    let is_typing = search.searching() == Searching::Typing
        && state.focus == Focus::Pane(Pane::Lead)
        && state.popups.is_empty();
    is_typing.then_some(at)
}

fn name(state: &UiState) -> String {
    if state.shown.is_lead() {
        return "Lead".into();
    }
    let task = model_board::open_task(state, &state.shown);
    let task = task.map_or_else(String::new, |t| {
        format!(" · {} {}", t.id, one_line(&t.subject))
    });
    format!("{}{task}", state.shown)
}

fn doing(state: &UiState, theme: &Theme) -> Vec<Span<'static>> {
    if state.first_page().map(|p| p.weight) == Some(Weight::Missing) {
        return Vec::new();
    }
    let activity = state.activity(&state.shown);
    let (shape, words, style) = style::activity(&activity, state.now, theme);
    let (shape, since) = match &activity {
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {
            let since = state.model.agents.get(&state.shown).map(|a| a.since);
            let passed = since.filter(|s| s.0 > 0.0).map(|s| state.now.since(s));
            (
                style::spinner(state.now, state.prefs.motion),
                passed.map_or_else(String::new, |p| format!(" {}", age(p))),
            )
        }
        Activity::Backoff {
            attempt,
            attempts_max,
            ..
        } if *attempts_max > 0 => {
            let next = attempt.saturating_add(1);
            (shape, format!(", attempt {next} of {attempts_max}"))
        }
        Activity::Idle
        | Activity::Backoff { .. }
        | Activity::Queued { .. }
        | Activity::NeedsYou { .. }
        | Activity::Stuck { .. }
        | Activity::Failed { .. }
        | Activity::Gone => (shape, String::new()),
    };
    vec![Span::styled(format!("{shape} {words}{since}"), style)]
}

fn welcome(state: &UiState) -> String {
    if !state.shown.is_lead() {
        return format!(
            "{} has not said anything since crewdeck started. What it does appears here. {} goes back.",
            state.shown,
            state.prefs.keymap.key(Context::Panes, Action::Back),
        );
    }
    let help = |context| state.prefs.keymap.key(context, Action::Help);
    let mut text = format!(
        "Say what you want done. The lead plans it, writes tasks on the board and spawns teammates for them.\n\n\
         Press {} outside the composer ({} in it) for the keys.",
        help(Context::Panes),
        help(Context::Everywhere),
    );
    if let Some(setup) = &state.model.setup {
        text.push_str("\n\n");
        text.push_str(&one_line(&setup.root));
        if setup.scripted {
            text.push_str("\nThe model is scripted: its answers are written down beforehand. Tools, files and mail are real.");
        }
        if !setup.git {
            text.push_str("\nThis is no git repository: teammates share the directory.");
        }
        if setup.earlier {
            text.push_str("\n\nA new session; crewdeck --resume goes on with the one before.");
        }
    }
    text
}

/// Draws the messages that the agent has not taken up yet at the lower edge; returns what is left above.
fn queued(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let waiting: Vec<&str> = state
        .model
        .queued
        .iter()
        .filter(|q| q.to == state.shown)
        .map(|q| q.text.as_str())
        .collect();
    let rows = frame_layout::queued_rows(state, area.height);
    let shown = usize::from(rows);
    let rest = Rect {
        height: area.height - rows,
        ..area
    };
    for (i, text) in waiting.iter().take(shown).enumerate() {
        let row = Rect {
            y: rest.bottom() + u16::try_from(i).unwrap_or(0),
            height: 1,
            ..area
        };
        let more = if i + 1 == shown && waiting.len() > shown {
            format!(" (and {} more)", waiting.len() - shown)
        } else {
            String::new()
        };
        let text = format!(" ⋯ queued: {}{more}", one_line(text));
        let text = fit(&text, usize::from(row.width));
        Line::styled(text, theme.dim).render(row, buffer);
    }
    rest
}

/// Draws a composer that nobody writes in, on a screen with few rows.
fn folded(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let key = state.prefs.keymap.key(Context::Panes, Action::Compose);
    let does = if state.seat.is_crew() {
        "writes to "
    } else {
        "writes a message to "
    };
    let waits = match state.first_page().map(|p| p.weight) {
        Some(Weight::Missing) => ", which waits for a model",
        Some(_) | None => "",
    };
    Line::from(vec![
        Span::styled(format!(" {key} "), theme.accent),
        Span::styled(does, theme.dim),
        Span::styled(state.shown.to_string(), theme.title),
        Span::styled(waits, theme.dim),
    ])
    .render(row, buffer);
}

/// Draws the composer; where the cursor is to be comes back.
pub fn composer(
    state: &UiState,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    if area.height == 1 {
        folded(state, theme, area, buffer);
        return None;
    }
    let has_keys = state.focus == Focus::Composer && state.popups.is_empty();
    let border = if has_keys {
        theme.border_focused
    } else {
        theme.border
    };
    let name = if has_keys {
        theme.title_focused
    } else {
        theme.title
    };
    let (to, aside) = composer_title::lines(state, theme, name, area.width);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(border)
        .title_style(theme.ground)
        .title_top(to)
        .title_top(aside.right_aligned());
    block.render(area, buffer);
    let inner = composer(area);
    if inner.is_empty() {
        return None;
    }
    if state.input.composer.is_empty() {
        let page = state.first_page().map(|p| p.weight);
        let key = |context, action| state.prefs.keymap.key(context, action);
        let writes = format!("{} to write", key(Context::Panes, Action::Compose));
        let back = key(Context::Composer, Action::Back);
        let leaves = format!("Write to this teammate; {back} goes back");
        let question = answering::question(state);
        let answers = question.map(|question| composer_title::invitations(state, question));
        let answers: Vec<&str> = answers.iter().flatten().map(String::as_str).collect();
        let forms = if page == Some(Weight::Missing) {
            &[
                "What you write here waits until there is a model",
                "Waits for a model",
            ][..]
        } else if !has_keys {
            &[writes.as_str()][..]
        } else if question.is_some() {
            &answers[..]
        } else if state.shown.is_lead() && !state.seat.is_crew() {
            &[
                "Write a message, @name to a teammate, /help, /quit",
                "Write a message",
            ][..]
        } else if state.shown.is_lead() {
            &[
                "Say what you want done, @name to write to a teammate, /model, /help, /quit",
                "Say what you want done, @name to write to a teammate",
                "Say what you want done",
            ][..]
        } else {
            &[leaves.as_str()][..]
        };
        let words = longest(forms, usize::from(inner.width));
        Line::styled(words, theme.dim).render(inner, buffer);
        return has_keys.then_some(inner.as_position());
    }
    let window = state.input.composer.window(Room::from(inner));
    for (text, row) in window.rows.iter().zip(inner.rows()) {
        Line::styled(text.as_str(), theme.text).render(row, buffer);
    }
    frame::text_beyond(window.beyond, theme, area, buffer);
    let at = Position::new(inner.x + window.cursor.1, inner.y + window.cursor.0);
    has_keys.then_some(at)
}
