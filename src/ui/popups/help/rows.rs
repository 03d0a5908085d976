//! The rows of the help: all key bindings, those for everyday use first, then the others of the current contexts. Each
//! binding is an entry that the user can select. Pure.

use ratatui::text::{Line, Span};

use crate::ui::app::Preferences;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::model::style;
use crate::ui::text::{pad, width as columns, wrap};
use crate::ui::theme::Theme;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::{keymap, keys};

/// Returns the contexts that the help always lists, in display order. The contexts in which the help was opened are
/// listed before them.
fn listed_contexts() -> impl Iterator<Item = Context> {
    let beside_panes = [
        Context::Choices,
        Context::Panes,
        Context::Everywhere,
        Context::Picker,
        Context::EventLog,
        Context::Diff,
    ];
    [Context::EmptyComposer, Context::Composer]
        .into_iter()
        .chain(Pane::ALL.map(Context::In))
        .chain(beside_panes)
}

#[derive(Debug)]
pub struct HelpRow {
    pub line: Line<'static>,
    /// The entry that the row belongs to; `None` for headings and blank rows.
    pub entry: Option<HelpEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HelpEntry {
    /// The index of the entry among the entries that match the filter, from 0.
    pub at: usize,
    pub effect: EntryEffect,
}

/// What happens when the user chooses an entry of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryEffect {
    /// Runs this action. Its key worked where the help was opened, or the entry describes a slash command.
    Here(Action),
    /// Runs nothing. The key works only in this context, and the help was opened in another one. The text is the
    /// description of the key.
    There(Context, &'static str),
    /// Runs nothing, because the entry describes a text to type in the composer.
    Type,
    /// Runs nothing, because the entry explains a symbol on the screen.
    Symbol,
}

/// The heading above the keys for everyday use.
const EVERYDAY: &str = "Most used here";

/// Returns the bindings for everyday use in `contexts`, one for each action. The keys of the empty composer are not among
/// them, because they work only before the user types.
fn everyday<'a>(prefs: &'a Preferences, contexts: &[Context]) -> Vec<&'a KeyBinding> {
    let mut out: Vec<&KeyBinding> = Vec::new();
    let contexts = contexts.iter().filter(|c| **c != Context::EmptyComposer);
    for binding in contexts.flat_map(|c| prefs.keymap.in_context(*c)) {
        let is_listed = out.iter().any(|b| b.action == binding.action);
        if binding.action.is_everyday() && !binding.keys.is_empty() && !is_listed {
            out.push(binding);
        }
    }
    out
}

/// Returns the rows of the help whose key or description matches `search`: the keys for everyday use in `contexts`, then
/// all others below the headings of their contexts. `contexts` are the contexts in which the help was opened; they come
/// before all other contexts. If nothing matches, the only row says so.
pub fn rows(
    prefs: &Preferences,
    contexts: &[Context],
    search: &LineInput,
    width: usize,
    theme: &Theme,
) -> Vec<HelpRow> {
    let others = listed_contexts().filter(|c| !contexts.contains(c));
    let mut out = Vec::new();
    let mut at = 0;
    let everyday = everyday(prefs, contexts);
    let mut rows = Vec::new();
    for binding in &everyday {
        let effect = EntryEffect::Here(binding.action);
        binding_row(binding, effect, search, &mut at, (width, theme), &mut rows);
    }
    section(&mut out, EVERYDAY, rows, theme);
    let mut empty_composer = Vec::new();
    for context in contexts.iter().copied().chain(others) {
        let mut rows = Vec::new();
        let is_here = contexts.contains(&context);
        for binding in prefs.keymap.in_context(context) {
            let is_listed = is_here && everyday.contains(&binding);
            if binding.keys.is_empty() || is_listed {
                continue;
            }
            let effect = if is_here {
                EntryEffect::Here(binding.action)
            } else {
                EntryEffect::There(context, binding.words)
            };
            binding_row(binding, effect, search, &mut at, (width, theme), &mut rows);
        }
        // In the section of the composer, the keys of the empty composer come first.
        match context {
            Context::EmptyComposer => empty_composer = rows,
            Context::Composer => {
                empty_composer.append(&mut rows);
                section(
                    &mut out,
                    context.heading(),
                    std::mem::take(&mut empty_composer),
                    theme,
                );
            }
            _ => section(&mut out, context.heading(), rows, theme),
        }
    }
    let mut rows = Vec::new();
    let mention = ("@name", "at the start of a message: send it to that agent");
    let slash = keymap::SLASH
        .iter()
        .map(|(word, does, words)| ((*word, *words), EntryEffect::Here(*does)));
    for ((word, words), effect) in slash.chain([(mention, EntryEffect::Type)]) {
        if search.matches(&format!("{word} {words}")) {
            let entry = HelpEntry { at, effect };
            at += 1;
            help_row((word, words), entry, width, theme, &mut rows);
        }
    }
    section(&mut out, "Composer commands", rows, theme);
    let mut rows = Vec::new();
    for (symbol, words) in style::LEGEND {
        if search.matches(&format!("{symbol} {words}")) {
            let effect = EntryEffect::Symbol;
            help_row(
                (symbol, words),
                HelpEntry { at, effect },
                width,
                theme,
                &mut rows,
            );
            at += 1;
        }
    }
    section(&mut out, "Symbols", rows, theme);
    if out.is_empty() {
        out.push(unselectable(Line::styled("No matches", theme.dim)));
    }
    out
}

fn unselectable(line: Line<'static>) -> HelpRow {
    HelpRow { line, entry: None }
}

/// Width of the column with the keys, in columns, including the indentation and a blank at its end.
const KEYS: usize = 24;
/// Width of the column with the keys, in columns, if the help is narrower than [`WIDE`].
const KEYS_NARROW: usize = 18;
/// Minimum width of the help, in columns, at which most entries with three keys fit into one row.
const WIDE: usize = 70;

/// Splits `keys`, which are separated by commas, into as few rows of at most `columns` columns as possible. A key that
/// is wider than `columns` gets a wider row of its own.
fn key_rows(keys: &str, columns: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let all: Vec<&str> = keys.split(", ").collect();
    for (at, key) in all.iter().enumerate() {
        let comma = if at + 1 < all.len() { "," } else { "" };
        let key = format!("{key}{comma}");
        match out.last_mut() {
            Some(last) if self::columns(last) + 1 + self::columns(&key) <= columns => {
                last.push(' ');
                last.push_str(&key);
            }
            _ => out.push(key),
        }
    }
    out
}

/// Adds the rows of `binding` to `out` if they match `search`, as the entry with the index `at`, and counts `at` up.
fn binding_row(
    binding: &KeyBinding,
    effect: EntryEffect,
    search: &LineInput,
    at: &mut usize,
    (width, theme): (usize, &Theme),
    out: &mut Vec<HelpRow>,
) {
    let keys: Vec<String> = binding.keys.iter().map(|k| keys::format_key(k)).collect();
    let keys = keys.join(", ");
    if search.matches(&format!("{keys} {}", binding.words)) {
        let entry = HelpEntry { at: *at, effect };
        *at += 1;
        help_row((&keys, binding.words), entry, width, theme, out);
    }
}

fn help_row(
    (keys, words): (&str, &str),
    entry: HelpEntry,
    width: usize,
    theme: &Theme,
    out: &mut Vec<HelpRow>,
) {
    let (key, text) = match entry.effect {
        EntryEffect::Here(_) => (theme.accent, theme.text),
        EntryEffect::There(..) | EntryEffect::Type | EntryEffect::Symbol => (theme.dim, theme.dim),
    };
    let mut push = |line| {
        out.push(HelpRow {
            line,
            entry: Some(entry),
        });
    };
    let column = if width < WIDE { KEYS_NARROW } else { KEYS };
    let room = column - 3;
    let mut heads = key_rows(keys, room);
    let mut texts = wrap(words, width.saturating_sub(column));
    // Keys that are wider than their column get rows of their own, above the description.
    if heads.iter().any(|head| columns(head) > room) {
        for head in heads.drain(..) {
            push(Line::styled(format!("  {head}"), key));
        }
    }
    let rows = heads.len().max(texts.len());
    heads.resize(rows, String::new());
    texts.resize(rows, String::new());
    for (head, line) in heads.into_iter().zip(texts) {
        push(Line::from(vec![
            Span::styled(pad(&format!("  {head}"), column), key),
            Span::styled(line, text),
        ]));
    }
}

fn section(out: &mut Vec<HelpRow>, title: &str, rows: Vec<HelpRow>, theme: &Theme) {
    if rows.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push(unselectable(Line::default()));
    }
    out.push(unselectable(Line::styled(title.to_string(), theme.heading)));
    out.extend(rows);
}

/// Returns the index of the entry that is selected after the scroll key `by`, if entry `at` was selected before. Line
/// keys move by one entry; page and half-page keys move by `page` rows or half of them. Stops at the first and the last
/// entry; returns 0 if there are no entries.
pub fn step(rows: &[HelpRow], at: usize, by: Scroll, page: usize) -> usize {
    let last = rows.iter().filter_map(|row| row.entry).map(|e| e.at).max();
    let last = last.unwrap_or(0);
    let at = at.min(last);
    let (half, page) = ((page / 2).max(1), page.max(1));
    let line = lines(rows, at).map_or(0, |(first, _)| first);
    let to = match by {
        Scroll::LineUp => return at.saturating_sub(1),
        Scroll::LineDown => return (at + 1).min(last),
        Scroll::Top => return 0,
        Scroll::Bottom => return last,
        Scroll::HalfUp => line.saturating_sub(half),
        Scroll::HalfDown => line + half,
        Scroll::PageUp => line.saturating_sub(page),
        Scroll::PageDown => line + page,
    };
    let below = rows.iter().skip(to).find_map(|row| row.entry);
    below.map_or(last, |entry| entry.at)
}

/// Returns the indexes of the first and the last row of entry `at`; `None` if there is no such entry.
fn lines(rows: &[HelpRow], at: usize) -> Option<(usize, usize)> {
    let is = |row: &HelpRow| row.entry.is_some_and(|entry| entry.at == at);
    let first = rows.iter().position(is)?;
    Some((first, rows.iter().rposition(is)?))
}

/// Returns the index of the first visible row after scrolling just far enough to show entry `at`. If the entry is the
/// first of its section, the heading above it is shown too. `first` is the index of the first visible row before
/// scrolling; `page` is the number of visible rows. Returns 0 if there is no entry `at`.
pub fn reveal(rows: &[HelpRow], at: usize, first: usize, page: usize) -> usize {
    let Some((from, to)) = lines(rows, at) else {
        return 0;
    };
    let above = rows.get(..from).unwrap_or_default().iter().rev();
    let from = from - above.take_while(|row| row.entry.is_none()).count();
    first.max((to + 1).saturating_sub(page)).min(from)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn keys_that_do_not_fit_side_by_side_are_one_below_the_other() {
        assert_eq!(
            key_rows("1, Alt+1, Ctrl+x 1", 15),
            ["1, Alt+1,", "Ctrl+x 1"]
        );
        assert_eq!(key_rows("j, ↓", 15), ["j, ↓"]);
        assert_eq!(key_rows(",", 15), [","]);
        assert_eq!(key_rows("Ctrl+Shift+PageUp", 15), ["Ctrl+Shift+PageUp"]);
    }
}
