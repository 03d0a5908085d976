//! The lines of a message thread: the messages between two parties, oldest first, with time and delivery status. Pure.

use ratatui::text::{Line, Span};

use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::text::{count_noun, one_line};
use crate::protocol::event::DeliveryState;
use crate::ui::app::App;
use crate::ui::model::messages::{MessageStatus, TrackedMessage};
use crate::ui::model::{CrewModel, sentence, style};
use crate::ui::text::aging::ShownAge;
use crate::ui::text::{
    age, display_name, fit, fit_name, format_time_with_seconds, pad, width as columns, wrap,
};
use crate::ui::theme::Theme;

/// Maximum number of messages that the popup shows: the opened message, and messages before and after it.
pub const THREAD_MAX: usize = 100;

/// The rendered messages between two parties. The user has opened one of them.
pub struct Thread {
    pub lines: Vec<Line<'static>>,
    /// The index of the first line of the opened message; 0 if it is the only one.
    pub opened: usize,
}

/// Returns the title of the popup: both parties and, if there are several messages between them, their number.
pub fn title(model: &CrewModel, traced: &TrackedMessage) -> String {
    let (from, to) = parties(&traced.message);
    if is_broadcast(traced) {
        return format!("Message from {from} to {to}");
    }
    match model.messages.thread(traced).count() {
        0 | 1 => format!("Message from {from} to {to}"),
        n => format!("Messages between {from} and {to} ({n})"),
    }
}

fn is_broadcast(traced: &TrackedMessage) -> bool {
    traced.message.kind == MailKind::Broadcast
}

/// Returns the names of sender and recipient for the screen.
fn parties(message: &MailMessage) -> (String, String) {
    let from = display_name(&message.from);
    (from, sentence::recipient(message))
}

/// Returns the sending times of the unread messages in the thread of message `number`, or of the unread copies if it is a
/// broadcast. The popup shows for how long each message has been unread.
pub(in crate::ui) fn ages(model: &CrewModel, number: u64) -> Vec<ShownAge> {
    let Some(traced) = model.messages.get(number) else {
        return Vec::new();
    };
    let shown = if is_broadcast(traced) {
        model.messages.copies(traced).collect()
    } else {
        around(model, traced).1
    };
    let waiting = shown
        .into_iter()
        .filter(|t| t.status(&model.team) == MessageStatus::At(DeliveryState::Sent));
    waiting
        .map(|t| ShownAge::at_once(t.message.timestamp))
        .collect()
}

/// Returns the messages of the thread that the popup shows, oldest first: `traced` and the messages before and after
/// it, at most [`THREAD_MAX`] in total. The number counts the older messages that are not shown.
fn around<'a>(
    model: &'a CrewModel,
    traced: &'a TrackedMessage,
) -> (usize, Vec<&'a TrackedMessage>) {
    let mut all: Vec<&TrackedMessage> = model.messages.thread(traced).collect();
    let at = all.iter().position(|t| t.number == traced.number);
    let first = at
        .unwrap_or(0)
        .saturating_sub(THREAD_MAX / 2)
        .min(all.len().saturating_sub(THREAD_MAX));
    let shown = all.drain(first..).take(THREAD_MAX).collect();
    (first, shown)
}

/// Lays out the thread of the message `traced`. A broadcast is laid out alone, with the delivery to each recipient.
pub fn lay_out(app: &App, traced: &TrackedMessage, width: usize, theme: &Theme) -> Thread {
    if is_broadcast(traced) {
        let lines = broadcast(app, traced, width, theme);
        return Thread { lines, opened: 0 };
    }
    let (older, shown) = around(app, traced);
    let whole = app.model.messages.thread(traced).count();
    let newer = whole - older - shown.len();
    let mut thread = Thread {
        lines: Vec::new(),
        opened: 0,
    };
    let missing = |count: usize, which: &str| {
        let messages = count_noun(count, &format!("{which} message"));
        Line::styled(format!("Not shown here: {messages}."), theme.dim)
    };
    if older > 0 {
        thread
            .lines
            .extend([missing(older, "older"), Line::default()]);
    }
    for (i, message) in shown.into_iter().enumerate() {
        if i > 0 {
            thread.lines.push(Line::default());
        }
        let is_opened = message.number == traced.number && whole > 1;
        if is_opened {
            thread.opened = thread.lines.len();
        }
        thread
            .lines
            .extend(one(app, message, is_opened, width, theme));
    }
    if newer > 0 {
        thread
            .lines
            .extend([Line::default(), missing(newer, "newer")]);
    }
    thread
}

/// Renders a message. If `is_opened` is true, the mark `›` is drawn before it.
fn one(
    app: &App,
    traced: &TrackedMessage,
    is_opened: bool,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mark = if is_opened { "› " } else { "  " };
    let message = &traced.message;
    let route = format!(
        "{} → {}",
        display_name(&message.from),
        display_name(&message.to)
    );
    let step = delivery(app, traced, theme);
    message_lines(app, message, (mark, &route, step), width, theme)
}

/// Returns the delivery status of a message to one recipient.
fn delivery(app: &App, traced: &TrackedMessage, theme: &Theme) -> Span<'static> {
    let message = &traced.message;
    let progress = traced.status(&app.model.team);
    let (shape, style) = style::progress(progress, theme);
    let step = match progress {
        MessageStatus::At(DeliveryState::Sent) if message.timestamp.0 > 0.0 => {
            let passed = app.now.since(message.timestamp);
            format!("{shape} unread for {}", age(passed))
        }
        MessageStatus::Unread => format!("{shape} not read: {} has left", one_line(&message.to)),
        MessageStatus::At(_) => format!("{shape} {}", progress.word()),
    };
    Span::styled(step, style)
}

/// Renders a broadcast: its text, then its delivery to each recipient.
fn broadcast(
    app: &App,
    traced: &TrackedMessage,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let all = app.model.messages.delivery(traced, &app.model.team);
    let (shape, style) = style::progress(all.status, theme);
    let step = Span::styled(format!("{shape} {}", all.words()), style);
    let (from, to) = parties(&traced.message);
    let route = format!("{from} → {to}");
    let mut out = message_lines(app, &traced.message, ("  ", &route, step), width, theme);
    out.push(Line::default());
    let copies: Vec<&TrackedMessage> = app.model.messages.copies(traced).collect();
    let names = copies.iter().map(|copy| display_name(&copy.message.to));
    let names: Vec<String> = names.map(|name| fit_name(&name, width / 2)).collect();
    let longest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    for (copy, name) in copies.into_iter().zip(names) {
        let name = format!("  {}  ", pad(&name, longest));
        out.push(Line::from(vec![
            Span::styled(name, theme.accent),
            delivery(app, copy, theme),
        ]));
    }
    out
}

/// Renders a message: a row with `mark`, time, `route`, kind and delivery status `step`, then its text.
fn message_lines(
    app: &App,
    message: &MailMessage,
    (mark, route, step): (&'static str, &str, Span<'static>),
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let time = format_time_with_seconds(message.timestamp, &app.prefs.zone);
    let kind = format!(
        "  {}",
        one_line(&message.kind.to_string()).replace('_', " ")
    );
    let step = Span::styled(fit(&step.content, width / 2), step.style);
    let room = width.saturating_sub(columns(mark) + columns(&time) + columns(&step.content) + 3);
    let route = fit(route, room);
    let kind = fit(&kind, room.saturating_sub(columns(&route)));
    let blanks = room.saturating_sub(columns(&route) + columns(&kind)) + 1;
    let mut out = vec![Line::from(vec![
        Span::styled(mark, theme.accent),
        Span::styled(format!("{time}  "), theme.dim),
        Span::styled(route, theme.accent),
        Span::styled(kind, theme.dim),
        Span::raw(" ".repeat(blanks)),
        step,
    ])];
    let text = if message.kind.is_protocol() {
        sentence::message(message)
    } else {
        message.content.clone()
    };
    let text = wrap(&text, width.saturating_sub(2));
    let text = text.into_iter();
    out.extend(text.map(|line| Line::styled(format!("  {line}"), theme.text)));
    out
}
