//! Draws the shown conversation and the composer.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Widget};

use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::answering;
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame;
use crate::ui::frame::layout::Layout;
use crate::ui::frame::{Titles, layout as frame_layout};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::{board as model_board, style};
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::panes::lead;
use crate::ui::panes::lead::working::working_teammates;
use crate::ui::panes::lead::{composer_title, follow};
use crate::ui::text::{age, fit, longest_fitting, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::composer::TextAreaSize;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Draws the conversation. Returns the position of the text cursor while a search text is typed.
pub fn draw(app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
    let PaneCanvas {
        cache,
        theme,
        buffer,
        is_named_above,
        is_team_shown,
    } = canvas;
    let agent = app.model.agents.get(&app.shown);
    let below = follow::follow_mark(app, area)
        .map_or_else(Vec::new, |mark| vec![Span::styled(mark.what, theme.accent)]);
    // The search is drawn in the same place.
    let is_searched = agent.is_some_and(|agent| agent.transcript.search().is_some());
    let foot = if is_team_shown || is_searched {
        Vec::new()
    } else {
        let used: usize = below.iter().map(|span| width(&span.content)).sum();
        // The blanks and corners beside the two texts of the border.
        let columns = usize::from(area.width).saturating_sub(used + 8);
        working_teammates(app, columns, theme)
    };
    let titles = Titles {
        name: name(app, is_named_above.then_some(area.width)),
        name_style: {
            let colored = style::agent_name(app, &app.shown, theme.title, theme);
            (colored != theme.title).then_some(colored)
        },
        aside: activity_spans(app, theme),
        foot,
        below,
        is_named_above,
        ..Titles::default()
    };
    let inner = frame::pane(app, Pane::Lead, titles, theme, area, buffer);
    let inner = draw_queued_messages(app, theme, inner, buffer);
    match agent {
        Some(agent) if agent.has_entries => {
            let cache = cache.transcript(&app.shown);
            let talk = lead::conversation_area(app, area);
            let scrolled = agent.transcript.view(cache, theme, talk, buffer);
            let bar = scrolled.and_then(|scrolled| Scrollbar::new(area, talk, scrolled));
            frame::scrollbar(bar, frame::thumb(app, Pane::Lead, theme), theme, buffer);
        }
        Some(_) | None => match crate::ui::app::onboarding::visible_page(app) {
            Some(page) => {
                let inner = inner.inner(frame_layout::BESIDE_TEXT);
                crate::ui::panes::lead::onboarding::draw(app, page, theme, inner, buffer);
            }
            None => frame::empty(&welcome(app), theme, inner, buffer),
        },
    }
    search_line(app, theme, area, buffer)
}

/// Draws the search on the lower border. Returns the position of the text cursor while the search text is typed.
fn search_line(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) -> TextCursor {
    let transcript = &app.model.agents.get(&app.shown)?.transcript;
    let search = transcript.search()?;
    let at = frame::search_edge(
        search.words(),
        transcript.match_position(),
        theme,
        area,
        buffer,
    );
    let is_typing =
        search.is_typing() && app.focus == Focus::Pane(Pane::Lead) && app.popups.is_empty();
    is_typing.then_some(at)
}

/// Returns the title: the name of the shown agent and its task. `tabs` is the width of the tab line directly above the
/// pane, if there is one. The title then leaves out the name if the tab shows all of it.
fn name(app: &App, tabs: Option<u16>) -> String {
    if app.shown.is_lead() {
        return "Lead".into();
    }
    let name = app.shown.as_str();
    let is_on_tab = tabs.is_some_and(|tabs| width(name) <= frame::agent_tab_width(tabs));
    let task = model_board::open_task(app, &app.shown);
    let task = task.map(|t| format!("{} {}", t.id, one_line(&t.subject)));
    let name = Some(name.to_string()).filter(|_| !is_on_tab);
    let parts: Vec<String> = name.into_iter().chain(task).collect();
    parts.join(" · ")
}

fn activity_spans(app: &App, theme: &Theme) -> Vec<Span<'static>> {
    if app.onboarding_page().map(|p| p.severity) == Some(PageSeverity::Missing) {
        return Vec::new();
    }
    let activity = app.activity(&app.shown);
    // The line or card that announces the request already says that the agent waits for the user, so the title does not
    // repeat it.
    let is_announced = frame_layout::has_request_line(app) && app.model.requests.for_user() > 0;
    if is_announced && matches!(activity, Activity::NeedsYou { .. }) {
        return Vec::new();
    }
    let (shape, words, style) = style::agent_activity(app, &app.shown, &activity, app.now, theme);
    let (shape, since) = match &activity {
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {
            let since = app.model.agents.get(&app.shown).map(|a| a.since);
            let passed = since.filter(|s| s.0 > 0.0).map(|s| app.now.since(s));
            (
                style::spinner(app.now),
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
        _ => (shape, String::new()),
    };
    vec![Span::styled(format!("{shape} {words}{since}"), style)]
}

/// Examples of prompts that fit most repositories: a question, work for one agent, and work for a team.
const EXAMPLES: [&str; 3] = [
    "Explain how this project is built and tested.",
    "Find the slowest test and make it faster.",
    "Test the three least tested files, a teammate each.",
];

fn welcome(app: &App) -> String {
    if !app.shown.is_lead() {
        return format!(
            "{} has had no output since crewdeck started. Its activity appears here. {} goes back.",
            app.shown,
            app.prefs.keymap.key(Context::Panes, Action::Back),
        );
    }
    // What to type is said by the placeholder of the composer, and the key of the help by the hint line.
    let mut text = String::from(
        "The lead plans what you ask for, writes tasks on the board and spawns teammates for them.",
    );
    if let Some(setup) = &app.model.setup {
        text.push_str("\n\n");
        text.push_str(&one_line(&setup.root));
        if setup.scripted {
            text.push_str("\nThe model is scripted: its answers are prepared. Tools, files and messages are real.");
        }
        if !setup.git {
            text.push_str("\nNot a git repository: teammates share the directory.");
        }
        if setup.earlier {
            text.push_str("\n\nNew session; crewdeck --resume continues the previous one.");
        }
    }
    if app.role.is_crew() {
        text.push_str("\n\nFor example:");
        for prompt in EXAMPLES {
            text.push_str("\n· ");
            text.push_str(prompt);
        }
    }
    text
}

/// Draws the queued messages to the shown agent at the bottom of `area`, one row for each. Returns the area above these
/// rows.
fn draw_queued_messages(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let waiting: Vec<&str> = app
        .model
        .queued
        .iter()
        .filter(|q| q.to == app.shown)
        .map(|q| q.text.as_str())
        .collect();
    // An idle agent reads a message at once. A message that still waits for an idle agent is being sent: the crew first
    // reads its attachments, which takes a while for a large image.
    let state = if app.holds_crew() && !app.is_running(&app.shown) {
        "sending"
    } else {
        "queued"
    };
    let rows = lead::queued_rows(app, area.height);
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
        let is_last = i + 1 == shown;
        let mut after = match waiting.len() - shown {
            more if is_last && more > 0 => format!(" (and {more} more)"),
            _ => String::new(),
        };
        if is_last && app.focus == Focus::Composer && app.recallable().is_some() {
            let up = app.prefs.keymap.key(Context::Composer, Action::Older);
            let which = if waiting.len() == 1 { "it" } else { "the last" };
            after.push_str(&format!(" · {up} edits {which}"));
        }
        let text = format!(" ⋯ {state}: {}", one_line(text));
        let room = usize::from(row.width).saturating_sub(width(&after));
        let text = fit(&text, room) + &after;
        Line::styled(text, theme.dim).render(row, buffer);
    }
    rest
}

/// Draws the composer without focus as a single row, which names the recipient and the key that focuses the composer.
/// Used if the screen has few rows.
fn draw_folded_composer(app: &App, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let key = app.prefs.keymap.key(Context::Panes, Action::Compose);
    let does = if app.role.is_crew() {
        "writes to "
    } else {
        "writes a message to "
    };
    let waits = match app.onboarding_page().map(|p| p.severity) {
        Some(PageSeverity::Missing) => ", which has not started",
        Some(_) | None => "",
    };
    Line::from(vec![
        Span::styled(format!(" {key} "), theme.accent),
        Span::styled(does, theme.dim),
        Span::styled(app.shown.to_string(), theme.title),
        Span::styled(waits, theme.dim),
    ])
    .render(row, buffer);
}

/// Draws the composer. Returns the position of the text cursor if the composer has the focus.
pub fn composer(app: &App, theme: &Theme, layout: &Layout, buffer: &mut Buffer) -> TextCursor {
    let area = layout.composer?;
    let has_card = layout.request.is_some();
    if area.height == 1 {
        draw_folded_composer(app, theme, area, buffer);
        return None;
    }
    let has_keys = app.focus == Focus::Composer && app.popups.is_empty();
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
    let (to, aside) = composer_title::lines(app, theme, name, area.width, has_card);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(border)
        .title_style(theme.ground)
        .title_top(to)
        .title_top(aside.right_aligned());
    block.render(area, buffer);
    let inner = area::inside(area);
    if inner.is_empty() {
        return None;
    }
    if app.input.composer.is_empty() {
        let page = app.onboarding_page().map(|p| p.severity);
        let key = |context, action| app.prefs.keymap.key(context, action);
        let writes = format!("{} to write", key(Context::Panes, Action::Compose));
        let back = key(Context::Composer, Action::Back);
        let leaves = format!("Write to this teammate; {back} goes back");
        let question = answering::question(app);
        let answers =
            question.map(|question| composer_title::invitations(&app.prefs, question, has_card));
        let answers: Vec<&str> = answers.iter().flatten().map(String::as_str).collect();
        let forms = if page == Some(PageSeverity::Missing) {
            &[
                "Messages wait here until a model is available",
                "Messages wait for a model",
            ][..]
        } else if !has_keys {
            &[writes.as_str()][..]
        } else if question.is_some() {
            &answers[..]
        } else if app.shown.is_lead() && !app.role.is_crew() {
            &[
                "Write a message, @name to a teammate, /help, /quit",
                "Write a message",
            ][..]
        } else if app.shown.is_lead() {
            &[
                "Say what you want done, @file, @teammate, !shell command, /command",
                "Say what you want done, @file, @teammate, /command",
                "Say what you want done",
            ][..]
        } else {
            &[leaves.as_str()][..]
        };
        let words = longest_fitting(forms, usize::from(inner.width));
        Line::styled(words, theme.dim).render(inner, buffer);
        return has_keys.then_some(inner.as_position());
    }
    let window = app.input.composer.window(TextAreaSize::from(inner));
    for (text, row) in window.rows.iter().zip(inner.rows()) {
        let mut spans = Vec::new();
        let mut done = 0;
        let mut marked = app.input.composer.chips_in(text);
        if !app.is_shell_mode() {
            marked.extend(app.input.mentions.ranges_in(text));
            marked.sort_by_key(|range| range.start);
        }
        for range in marked {
            let range = range.start.max(done)..range.end.max(done);
            spans.push(Span::styled(&text[done..range.start], theme.text));
            spans.push(Span::styled(&text[range.clone()], theme.accent));
            done = range.end;
        }
        spans.push(Span::styled(&text[done..], theme.text));
        Line::from(spans).render(row, buffer);
    }
    frame::text_beyond(window.overflow, theme, area, buffer);
    let at = Position::new(inner.x + window.cursor.1, inner.y + window.cursor.0);
    has_keys.then_some(at)
}
