//! Actions of pagers: scrolling, search, help selection and diff files.

use crate::domain::ids::TaskId;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::popup::{Pager, Popup, Text, push};
use crate::ui::diff;
use crate::ui::diff::{Changes, Spot};
use crate::ui::frame::elsewhere;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::help::EntryEffect;
use crate::ui::popups::reader::text_search::SearchResults;
use crate::ui::popups::reader::{Row, text_search};
use crate::ui::popups::{help, reader};
use crate::ui::theme::Theme;
use crate::ui::transcript::MatchStep;
use crate::ui::widgets::line_input::{LineInput, Searching};
use crate::ui::widgets::list;
const NOTHING: &str = "No matches in this text.";

/// Returns the pager on top, if any.
fn reader(app: &mut App) -> Option<&mut Pager> {
    let Some(Popup::Pager(reader)) = app.popups.last_mut() else {
        return None;
    };
    Some(reader)
}

/// Opens the search field with the previous search text.
pub fn begin(reader: &mut Pager) {
    reader.searching = Searching::Typing;
    reader.origin = reader.scroll;
}

/// Edits the search text and goes to the match nearest to where the search began.
pub fn write(app: &mut App, edit: impl FnOnce(&mut LineInput)) {
    let Some(reader) = reader(app) else { return };
    edit(&mut reader.search);
    if matches!(reader.text, Text::Help(_)) {
        (reader.scroll, reader.row) = (0, 0);
        return;
    }
    reader.scroll = reader.origin;
    if let Some((_, from, _)) = seen(app) {
        go_to(app, |found| Some((found.nearest(from), MatchStep::Moved)));
    }
}

/// Ends the search input. Without one, closes the text, or returns the action of the selected help entry.
pub fn accept(app: &mut App) -> Option<Action> {
    let reader = reader(app)?;
    match (&reader.text, reader.searching) {
        (_, Searching::Typing) => {
            keep(app);
            None
        }
        (Text::Help(_), Searching::Rest) => take(app),
        (_, Searching::Rest) => Some(Action::Back),
    }
}

/// Closes the help and returns the action of its selected entry. Entries that do not work here report where they do.
fn take(app: &mut App) -> Option<Action> {
    let at = reader(app)?.row;
    let (rows, ..) = seen(app)?;
    let entries = rows.iter().filter_map(|row| row.entry);
    let entry = entries.into_iter().find(|entry| entry.at == at)?;
    let words = match entry.means {
        EntryEffect::Here(action) => {
            reader::close_help(app);
            return Some(action);
        }
        EntryEffect::There(context, words) => elsewhere::instead(&app.prefs, context, words)
            .map_or_else(
                || format!("Not available here. Works in: {}.", context.heading()),
                |place| format!("Not available here. Works in {place}"),
            ),
        EntryEffect::Nothing => "Type this in the composer; it is not a key.".into(),
    };
    app.say(NoticeLevel::Info, words);
    None
}

/// Scrolls the text; in the help, moves the selection.
pub fn scroll(app: &mut App, by: Scroll) {
    let Some(Popup::Pager(reader)) = app.popups.last() else {
        return;
    };
    if matches!(reader.text, Text::Help(_)) {
        return select(app, by);
    }
    let area = reader::area(app.size);
    let width = area.width.saturating_sub(4);
    let lines = reader::lines(app, reader, width, &Theme::default()).len();
    let page = usize::from(area.height.saturating_sub(2)).max(1);
    let most = lines.saturating_sub(page);
    let (before, is_diff) = (reader.scroll, matches!(reader.text, Text::Diff(_)));
    let to = list::step(before.min(most), most + 1, by, page);
    if let Some(reader) = self::reader(app) {
        reader.scroll = to;
    }
    if is_diff && to != before {
        scrolled(app);
    }
}
fn select(app: &mut App, by: Scroll) {
    let Some((rows, first, page)) = seen(app) else {
        return;
    };
    if let Some(reader) = reader(app) {
        reader.row = help::step(&rows, reader.row, by, page);
        reader.scroll = help::reveal(&rows, reader.row, first, page);
    }
}

/// Selects the help entry at a line, or the next one below.
pub fn select_near(app: &mut App, line: usize) {
    let Some((rows, first, page)) = seen(app) else {
        return;
    };
    let below = rows.iter().skip(line).find_map(|row| row.entry);
    let entry = below.or_else(|| rows.iter().rev().find_map(|row| row.entry));
    if let (Some(entry), Some(reader)) = (entry, reader(app)) {
        reader.row = entry.at;
        reader.scroll = help::reveal(&rows, reader.row, first, page);
    }
}

/// Closes the search field and keeps the search.
fn keep(app: &mut App) {
    let Some(reader) = reader(app) else { return };
    reader.searching = Searching::Rest;
    if matches!(reader.text, Text::Help(_)) {
        return;
    }
    if reader.search.text().trim().is_empty() {
        reader.search = LineInput::default();
    } else if go_to(app, |found| Some((found.current, MatchStep::Moved))) == MatchStep::NoMatch {
        app.say(NoticeLevel::Info, NOTHING);
    }
}

/// Ends the search. A search that was still being typed scrolls back to where it began.
pub fn end(reader: &mut Pager) {
    let is_help = matches!(reader.text, Text::Help(_));
    if reader.searching == Searching::Typing && !is_help {
        reader.scroll = reader.origin;
    }
    if is_help {
        (reader.scroll, reader.row) = (0, 0);
    }
    reader.searching = Searching::Rest;
    reader.search = LineInput::default();
}

/// Goes to the next or previous match; wraps around.
pub fn next(app: &mut App, way: Way) {
    let Some(reader) = reader(app) else { return };
    if !text_search::is_searching(reader) {
        let key = app.prefs.keymap.key(Context::Reader, Action::Filter);
        app.say(NoticeLevel::Info, format!("Press {key} to search."));
        return;
    }
    let round = go_to(app, |found| {
        let last = found.hits.len().checked_sub(1)?;
        Some(match way {
            Way::Forward if found.current == last => (0, MatchStep::Wrapped),
            Way::Forward => (found.current + 1, MatchStep::Moved),
            Way::Back if found.current == 0 => (last, MatchStep::Wrapped),
            Way::Back => (found.current - 1, MatchStep::Moved),
        })
    });
    tell(app, round, way, NOTHING);
}

/// Returns the rows of the open text, the first visible row and the number of visible rows.
fn seen(app: &App) -> Option<(Vec<Row>, usize, usize)> {
    let Some(Popup::Pager(reader)) = app.popups.last() else {
        return None;
    };
    let rows = reader::rows(app, reader, &Theme::default());
    let place = reader::place(app.size, reader, rows.len());
    let (list, first) = reader::list(reader, place, rows.len());
    Some((rows, first, list.height.into()))
}

/// Scrolls to the match that `choose` picks.
fn go_to(
    app: &mut App,
    choose: impl FnOnce(&SearchResults) -> Option<(usize, MatchStep)>,
) -> MatchStep {
    let Some((rows, first, height)) = seen(app) else {
        return MatchStep::NoMatch;
    };
    let Some(reader) = reader(app) else {
        return MatchStep::NoMatch;
    };
    let found = text_search::search_lines(reader, &rows);
    let chosen = choose(&found).filter(|_| !found.hits.is_empty());
    let Some((nth, round)) = chosen else {
        return MatchStep::NoMatch;
    };
    let line = found.line(nth);
    let scroll = if (first..first + height).contains(&line) {
        first
    } else {
        // Leaves a third of the page above the match as context.
        let most = rows.len().saturating_sub(height);
        line.saturating_sub(height / 3).min(most)
    };
    (reader.here, reader.scroll) = (nth, scroll);
    if let Some(file) = diff::file_at(rows.iter().map(|row| row.spot), line) {
        reader.row = file;
    }
    round
}

/// Goes to the next or previous file of a diff.
pub fn file(app: &mut App, way: Way) {
    let Some(here) = reader(app).map(|reader| reader.row) else {
        return;
    };
    let next = match way {
        Way::Forward => Some(here + 1),
        Way::Back => here.checked_sub(1),
    };
    let words = match way {
        Way::Forward | Way::Back if app.diff.files().len() < 2 => "No other file.",
        Way::Forward => "This is the last file.",
        Way::Back => "This is the first file.",
    };
    if !next.is_some_and(|next| go_to_file(app, next)) {
        app.say(NoticeLevel::Info, words);
    }
}

/// Scrolls a file of a diff to the top, as far as the text allows. Returns whether the file exists.
pub fn go_to_file(app: &mut App, file: usize) -> bool {
    let Some((rows, _, height)) = seen(app) else {
        return false;
    };
    let begins = |row: &Row| row.spot == Some(Spot::Begins(file));
    let (Some(line), Some(reader)) = (rows.iter().position(begins), reader(app)) else {
        return false;
    };
    reader.row = file;
    reader.scroll = line.min(rows.len().saturating_sub(height));
    true
}

/// Updates the current file of a scrolled diff: the file at the top, or the last one at the end.
pub fn scrolled(app: &mut App) {
    let Some((rows, first, height)) = seen(app) else {
        return;
    };
    let line = if first > 0 && first + height >= rows.len() {
        rows.len()
    } else {
        first
    };
    let file = diff::file_at(rows.iter().map(|row| row.spot), line);
    if let (Some(file), Some(reader)) = (file, reader(app)) {
        reader.row = file;
    }
}

/// Reports a wrapped search or a missing match.
pub fn tell(app: &mut App, round: MatchStep, way: Way, nothing: &str) {
    match (round, way) {
        (MatchStep::Moved, _) => {}
        (MatchStep::Wrapped, Way::Forward) => {
            app.say(NoticeLevel::Info, "Search wrapped to the first match.");
        }
        (MatchStep::Wrapped, Way::Back) => {
            app.say(NoticeLevel::Info, "Search wrapped to the last match.");
        }
        (MatchStep::NoMatch, _) => app.say(NoticeLevel::Info, nothing),
    }
}

/// Opens the diff of a task's branch.
pub fn diff(app: &mut App, task: TaskId, stat: &str, text: &str, untracked: &[String]) {
    let changes = Changes::new(stat, text, untracked);
    if changes.is_empty() {
        app.say(
            NoticeLevel::Info,
            format!("The branch of {task} has no changes."),
        );
        return;
    }
    app.diff = changes;
    let is_diff = |p: &Popup| matches!(p, Popup::Pager(r) if matches!(r.text, Text::Diff(_)));
    app.popups.retain(|p| !is_diff(p));
    push(app, Popup::read(Text::Diff(task)));
}

/// Opens the list of skills.
pub fn skills(app: &mut App) {
    push(app, Popup::read(Text::Skills));
}
