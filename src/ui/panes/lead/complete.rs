//! Completion of slash commands, of `@name` recipients at the start of a message, and of mentions (`@path` and
//! `@server:uri`). No I/O.

use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::domain::mention::{self, PartialMention};
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::answering;
use crate::ui::frame::layout::Layout;
use crate::ui::frame::pick::PickerRow;
use crate::ui::keymap::pane::Focus;
use crate::ui::keymap::{Action, SLASH, SLASH_ALIASES, SLASH_ELSEWHERE};
use crate::ui::panes::lead::{LeadPane, files, offers};
use crate::ui::text::fuzzy::FuzzyPattern;
use crate::ui::text::width;
use crate::ui::widgets::area;
use crate::ui::widgets::list::first_row;

/// Maximum number of visible rows of the completion list.
pub const ROWS_MAX: u16 = 8;
/// Maximum width of the name of a resource or MCP server in the first column of the completion list, in columns.
pub const NAMES_MAX: usize = 44;
/// Maximum width of the first column, in columns, if only commands and agents are listed. A longer name extends into
/// the second column, and the description in its row starts further right.
const COMMANDS_MAX: usize = 14;

/// What the composer does when the user accepts a row of the completion list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Runs the action of a slash command.
    Run(Action),
    /// Inserts the word and a blank. For commands from files and skills, prompts of MCP servers, and recipients.
    Word,
    /// Inserts a file or directory.
    File,
    /// Inserts a resource of an MCP server.
    Resource,
    /// Inserts the first characters of the row: the name of a server, or the fixed start of a resource template. The
    /// user then continues typing. Holds the number of characters to insert.
    Start(usize),
}

pub type CompletionRow = PickerRow<Choice>;

/// The state of the completion list. When the user types a character, the state becomes `Fresh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completion {
    /// The list is open, and the row with this index is selected.
    Selected(usize),
    /// The list is open, and its first row is selected.
    #[default]
    Fresh,
    /// The user has closed the list. It reopens when the user types the next character.
    Dismissed,
}

/// Returns the completions of the typed text, best match first within each kind. For `/`, these are commands and
/// prompts; for `@`, first agents, then MCP servers, files and resources. Returns none in these cases:
///
/// - Nothing matches.
/// - The composer does not receive the keys, as in a replay.
/// - The user has closed the list.
/// - The draft is an unchanged message from the history.
/// - The draft is a shell command, and the user types a word with `@`.
pub fn candidates(pane: &LeadPane, app: &App) -> Vec<CompletionRow> {
    let is_writing = app.popups.is_empty() && app.focus == Focus::Composer && app.replay.is_none();
    if !is_writing || pane.completion == Completion::Dismissed || app.input.composer.is_recalled() {
        return Vec::new();
    }
    let word = app.input.composer.only_word();
    if let Some(prefix) = word.and_then(|word| word.strip_prefix('/')) {
        let is_elsewhere = SLASH_ELSEWHERE
            .iter()
            .any(|(others, _)| word.is_some_and(|word| others.contains(&word)));
        let is_typed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_:.".contains(c);
        if (is_elsewhere && app.model.skills.command(prefix).is_none())
            || !prefix.chars().all(is_typed)
        {
            return Vec::new();
        }
        let alias = SLASH_ALIASES.iter().find(|(alias, _)| word == Some(alias));
        let mut all = commands(app);
        all.extend(offers::prompts(app, prefix));
        return best_matches(alias.map_or(prefix, |(_, name)| &name[1..]), all);
    }
    if app.is_shell_mode() {
        return Vec::new();
    }
    let (before, is_first_line) = app.input.composer.before_cursor();
    let Some(PartialMention { start, query }) = mention::at_cursor(&before) else {
        return Vec::new();
    };
    let mut rows = if is_first_line && start == 0 {
        best_matches(query, names(app))
    } else {
        Vec::new()
    };
    rows.extend(offers::servers(app, query));
    rows.extend(files::rows(app, query));
    rows.extend(offers::resources(app, query));
    rows
}

/// Returns the index of the selected row and its completion; `None` if there are no completions.
pub fn selected_completion(pane: &LeadPane, app: &App) -> Option<(usize, CompletionRow)> {
    let mut candidates = candidates(pane, app);
    let row = row(pane).min(candidates.len().checked_sub(1)?);
    Some((row, candidates.swap_remove(row)))
}

fn row(pane: &LeadPane) -> usize {
    match pane.completion {
        Completion::Selected(row) => row,
        Completion::Fresh | Completion::Dismissed => 0,
    }
}

/// Returns the layout of the completion list for `len` rows: directly above the composer and as wide. `None` if `len` is 0, if not
/// even one row fits, or if the composer is not on the screen.
pub fn popup_layout(pane: &LeadPane, layout: &Layout, len: usize) -> Option<area::PopupListLayout> {
    let composer = layout.composer?;
    let above = composer.y.saturating_sub(layout.status.bottom());
    let rows = u16::try_from(len)
        .unwrap_or(u16::MAX)
        .min(ROWS_MAX)
        .min(above.saturating_sub(2));
    if rows == 0 {
        return None;
    }
    let area = Rect {
        x: composer.x,
        y: composer.y - rows - 2,
        width: composer.width,
        height: rows + 2,
    };
    let list = area::inside(area);
    let first = first_row(len, row(pane), list.height);
    Some(area::PopupListLayout { area, list, first })
}

/// Filters `all` by the typed prefix and returns the matches, best first. `prefix` does not contain the leading `/` or
/// `@`. If it is empty, all rows are returned in their order.
fn best_matches(prefix: &str, all: Vec<CompletionRow>) -> Vec<CompletionRow> {
    let mut pattern = FuzzyPattern::new(prefix);
    let mut scored: Vec<((bool, u32), CompletionRow)> = all
        .into_iter()
        .filter_map(|pick| {
            // Skips the leading `/` or `@`.
            let name = pick.words.split_whitespace().next()?.get(1..)?;
            let fit = pattern.find(name)?;
            let marked = fit.positions.into_iter().map(|at| at + 1).collect();
            let is_whole = name.eq_ignore_ascii_case(prefix);
            Some(((is_whole, fit.score), CompletionRow { marked, ..pick }))
        })
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, pick)| pick).collect()
}

/// Returns completions for the built-in commands, followed by the commands from files and skills.
fn commands(app: &App) -> Vec<CompletionRow> {
    let rows = SLASH.iter().map(|(word, action, words)| {
        PickerRow::new((*word).into(), (*words).into(), Choice::Run(*action))
    });
    let is_built_in = |name: &str| {
        SLASH
            .iter()
            .any(|(word, ..)| word.strip_prefix('/') == Some(name))
    };
    let own = app
        .model
        .skills
        .commands
        .iter()
        .filter(|c| !is_built_in(&c.name));
    let own = own.map(|command| {
        let words = match command.hint.as_str() {
            "" => command.description.clone(),
            hint => format!("{hint}: {}", command.description),
        };
        PickerRow::new(format!("/{}", command.name), words, Choice::Word)
    });
    rows.chain(own).collect()
}

/// Returns completions for the agents to which the user can address a message. The agent whose conversation is shown is
/// included only while it has an open question, because at other times it receives messages without `@name`.
fn names(app: &App) -> Vec<CompletionRow> {
    let role = |name: &Name| {
        let member = app.model.team.find(name);
        member.map_or_else(
            || "plans the work and spawns teammates".into(),
            |m| one_line(&m.role),
        )
    };
    // While the shown agent has an open question, text without `@name` is the answer, and `@name` sends that agent a
    // message.
    let asks = answering::question(app).is_some();
    let others = app.present().into_iter();
    let others = others.filter(|n| asks || *n != app.shown);
    let rows = others.map(|name| PickerRow::new(format!("@{name}"), role(&name), Choice::Word));
    rows.collect()
}

/// Returns the width of the first column of the completion list, in columns: the width of the widest command, agent,
/// server or resource. Commands and agents count with at most [`COMMANDS_MAX`] columns, servers and resources with at
/// most [`NAMES_MAX`]. File paths do not count, because their rows have no second column.
pub fn name_width(candidates: &[CompletionRow]) -> usize {
    candidates
        .iter()
        .filter(|o| o.item != Choice::File)
        .map(|o| match o.item {
            Choice::Resource | Choice::Start(_) => width(&o.words).min(NAMES_MAX),
            Choice::Run(_) | Choice::Word | Choice::File => width(&o.words).min(COMMANDS_MAX),
        })
        .max()
        .unwrap_or(0)
}
