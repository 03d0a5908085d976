//! Draws the list of MCP servers, and the details and log of the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::domain::mcp::{ServerSource, ServerState, ServerStatus};
use crate::domain::text::{escape_control_chars, one_line};
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::popup::open as open_frame;
use crate::ui::keymap::{Action, Context, KeyMap};
use crate::ui::text::{fit, pad, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::widgets::area::{PopupListLayout, list_with_details};
use crate::ui::widgets::scrollbar::Scrollbar;

/// Maximum width of the popup, in columns.
const WIDTH: u16 = 120;
/// Maximum number of rows of the list. The rows of the popup below it show details of the selected server.
const ROWS_MAX: usize = 10;
/// Maximum width of the column with the names of the servers, in columns.
const NAMES_MAX: usize = 24;
const NO_SERVERS: &str =
    "No MCP servers. Add one with crewdeck mcp add, or list servers in .mcp.json.";

fn popup_width(screen: Rect) -> u16 {
    WIDTH.min(screen.width.saturating_sub(4))
}

fn no_servers(screen: Rect) -> Vec<String> {
    wrap(
        NO_SERVERS,
        usize::from(popup_width(screen).saturating_sub(4)),
    )
}

/// Returns the layout of the popup for `len` servers, of which the one at index `row` is selected.
pub fn place(screen: Rect, row: usize, len: usize) -> PopupListLayout {
    let empty = no_servers(screen).len();
    list_with_details(screen, popup_width(screen), (row, len, ROWS_MAX), empty)
}

/// Draws the popup. `row` is the index of the selected server; an index beyond the end means the last server.
pub fn draw(app: &App, row: usize, theme: &Theme, screen: Rect, buffer: &mut Buffer) {
    let all = app.model.servers.all();
    let row = row.min(all.len().saturating_sub(1));
    let PopupListLayout { area, list, first } = place(screen, row, all.len());
    let Some(selected) = all.get(row) else {
        let inner = open_frame(app, "MCP servers", Vec::new(), theme, area, buffer);
        for (line, row) in no_servers(screen).into_iter().zip(inner.rows()) {
            Line::styled(line, theme.dim).render(row, buffer);
        }
        return;
    };
    let below = frame::position(Some(row), all.len(), list.height, theme);
    let inner = open_frame(app, "MCP servers", below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, all.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
    let mut rows = inner.rows();
    let names = all.iter().map(|server| width(&server.name));
    let names = names.max().unwrap_or(0).min(NAMES_MAX);
    let shown = all.iter().enumerate().skip(first);
    for (at, server) in shown.take(usize::from(list.height)) {
        let Some(area) = rows.next() else { return };
        let mark = if at == row {
            frame::RowHighlight::Selected
        } else {
            frame::RowHighlight::Plain
        };
        let columns = usize::from(area.width).saturating_sub(2);
        frame::row(
            mark,
            line(server, names, columns, theme),
            theme,
            area,
            buffer,
        );
    }
    let Some(rule) = rows.next() else { return };
    Line::styled("─".repeat(usize::from(rule.width)), theme.dim).render(rule, buffer);
    let rest: Vec<Rect> = rows.collect();
    let room = (usize::from(rule.width), rest.len());
    let log = app.model.servers.log_of(&selected.name);
    let keymap = &app.prefs.keymap;
    for (line, row) in details(selected, log, room, keymap, theme)
        .into_iter()
        .zip(rest)
    {
        line.render(row, buffer);
    }
}

fn line(server: &ServerStatus, names: usize, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let (shape, words, style) = look(&server.state, theme);
    let words = match &server.state {
        ServerState::Failed { why } | ServerState::Restarting { why, .. } => {
            format!("{words}: {}", clean(why))
        }
        _ => words.to_string(),
    };
    let count = |number: u64, one: &str| match number {
        0 => String::new(),
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    let tools = count(server.tools as u64, "tool");
    let counts = match (tools.as_str(), count(server.calls, "call").as_str()) {
        ("", calls) => calls.to_string(),
        (tools, "") => tools.to_string(),
        (tools, calls) => format!("{calls}, {tools}"),
    };
    let room = columns.saturating_sub(width(&counts) + names + 5);
    vec![
        Span::styled(format!("{shape} "), style),
        Span::styled(pad(&fit(&server.name, names), names), theme.text),
        Span::styled(format!("  {}", pad(&fit(&words, room), room)), style),
        Span::styled(format!(" {counts}"), theme.dim),
    ]
}

fn look(state: &ServerState, theme: &Theme) -> (&'static str, &'static str, Style) {
    match state {
        ServerState::Ready => ("●", "ready", theme.ok),
        ServerState::Starting => ("◐", "starting", theme.working),
        ServerState::Restarting { .. } => ("◐", "restarting", theme.working),
        ServerState::Idle => ("·", "not needed yet", theme.dim),
        ServerState::Disabled => ("·", "disabled", theme.dim),
        ServerState::WaitsForApproval => ("!", "needs approval", theme.waiting),
        ServerState::NeedsLogin => ("!", "needs a login", theme.waiting),
        ServerState::Failed { .. } => ("✗", "failed", theme.error),
    }
}

fn clean(text: &str) -> String {
    one_line(&escape_control_chars(text))
}

/// Returns what the user can do to make a server work; `None` if there is nothing to do.
fn remedy(server: &ServerStatus, keymap: &KeyMap) -> Option<String> {
    let key = |action| keymap.key(Context::Servers, action);
    match &server.state {
        ServerState::WaitsForApproval => Some(format!(
            "{} shows what it runs and approves it. In a shell: crewdeck mcp approve {}, then {} here starts it.",
            key(Action::Approve),
            server.name,
            key(Action::RestartServer)
        )),
        ServerState::NeedsLogin => Some(format!("{} logs in.", key(Action::LogIn))),
        ServerState::Failed { .. } if server.offers_login() => Some(format!(
            "The server is not restarted automatically. {} restarts it, {} logs in.",
            key(Action::RestartServer),
            key(Action::LogIn)
        )),
        ServerState::Failed { .. } => Some(format!(
            "The server is not restarted automatically. {} restarts it.",
            key(Action::RestartServer)
        )),
        ServerState::Disabled => Some(format!("{} enables it.", key(Action::ToggleServer))),
        ServerState::Idle
        | ServerState::Starting
        | ServerState::Ready
        | ServerState::Restarting { .. } => None,
    }
}

/// Returns the lines below the list for the selected server: its source and target, its last error, what the user can
/// do, and the end of its log. `log` is `None` if the log was not requested yet. `columns` and `rows` are the size of
/// the area.
fn details(
    server: &ServerStatus,
    log: Option<&str>,
    (columns, rows): (usize, usize),
    keymap: &KeyMap,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let whose = match server.source {
        ServerSource::Project => "project",
        ServerSource::User => "user",
    };
    let whose = match &server.role {
        Some(role) => format!("{whose}'s role {}", clean(role)),
        None => whose.to_string(),
    };
    let target = format!("{whose}: {}", clean(&server.target));
    let mut out = vec![Line::styled(fit(&target, columns), theme.text)];
    let why = match &server.state {
        ServerState::Failed { why } | ServerState::Restarting { why, .. } => why,
        _ => &server.last_error,
    };
    if !why.is_empty() {
        let lines = wrap(&format!("Last error: {}", clean(why)), columns);
        out.extend(
            lines
                .into_iter()
                .take(4)
                .map(|l| Line::styled(l, theme.error)),
        );
    }
    if let Some(remedy) = remedy(server, keymap) {
        let lines = wrap(&remedy, columns).into_iter();
        out.extend(lines.map(|l| Line::styled(l, theme.text)));
    }
    let left = rows.saturating_sub(out.len());
    let text = match log {
        None => format!(
            "{} shows its log.",
            keymap.key(Context::Servers, Action::Open)
        ),
        Some("") => "The log is empty.".into(),
        Some(log) => escape_control_chars(log.trim_end()),
    };
    let lines: Vec<String> = text.lines().flat_map(|l| wrap(l, columns)).collect();
    let from = lines.len().saturating_sub(left);
    out.extend(
        lines
            .into_iter()
            .skip(from)
            .map(|l| Line::styled(l, theme.dim)),
    );
    out
}
