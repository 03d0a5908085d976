//! Parts that panes and popups share: borders with titles, rows, placeholders, filters, scrollbars and buttons; also
//! the layout of the screen, focus navigation, and the caches for drawing.

pub(in crate::ui) mod buttons;
pub(in crate::ui) mod elsewhere;
pub(in crate::ui) mod layout;
pub(in crate::ui) mod list_filter;
pub(in crate::ui) mod navigation;
pub(in crate::ui) mod pick;
pub(in crate::ui) mod popup;
pub(in crate::ui) mod view_cache;

pub(in crate::ui) use crate::ui::app::hit;
use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Widget};

use crate::ui::app::{App, Preferences};
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::text::{fit, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::widgets::composer::Overflow;
use crate::ui::widgets::scrollbar;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The label of the action `Back` while a list is filtered.
pub const CLEAR_FILTER: &str = "clear filter";
/// The label of the action `Back` while a text is searched.
pub const END_SEARCH: &str = "end search";

/// Number of columns beside the two titles on the upper border of a pane: the corners and the blanks.
const BESIDE_TITLES: usize = 5;

const THUMB: &str = "█";
const TRACK: &str = "│";

/// Minimum width of a pane's title, in columns, if the pane has a height of one row. Shorter titles are padded, so that
/// the placeholders after the titles of several panes are aligned.
const PLACEHOLDER_FROM: usize = 6;

#[derive(Debug, Clone, Default)]
pub struct Titles {
    /// The title at the upper left, after the pane's key.
    pub name: String,
    /// The style of the name while the pane has no focus and `calls` is false. `None` for the title style of the theme.
    pub name_style: Option<Style>,
    /// The title at the upper right.
    pub aside: Vec<Span<'static>>,
    /// The title at the lower left. Not drawn in a pane with a height of one row.
    pub foot: Vec<Span<'static>>,
    /// The title at the lower right. Not drawn in a pane with a height of one row.
    pub below: Vec<Span<'static>>,
    /// The scrollbar in the right border.
    pub bar: Option<Scrollbar>,
    /// Whether the border is highlighted because something in the pane waits for the user.
    pub calls: bool,
    /// The text of an empty pane, in whole sentences. It says what will appear in the pane.
    pub placeholder: Option<String>,
    /// Whether the tab line directly above the pane shows the pane's key and name. If so, the title leaves out both.
    pub is_named_above: bool,
}

/// The left title of a pane as it is drawn.
struct DrawnTitle<'a> {
    /// The pane's key with blanks around it, or one blank if the tab line above the pane shows the key.
    key: String,
    /// The title without the part that the tab shows. If it is empty, nothing is drawn, not even the key.
    words: &'a str,
}

impl DrawnTitle<'_> {
    /// Returns the title `name` of `pane`, whose frame has `height` rows.
    fn new<'a>(
        prefs: &Preferences,
        pane: Pane,
        name: &'a str,
        is_named_above: bool,
        height: u16,
    ) -> DrawnTitle<'a> {
        // A pane of one row has no tab.
        if is_named_above && height > 1 {
            return DrawnTitle {
                key: " ".into(),
                words: beyond_tab(pane, name),
            };
        }
        DrawnTitle {
            key: format!(" {} ", pane_key(prefs, pane)),
            words: name,
        }
    }
}

/// Returns the part of the title `name` of `pane` that its tab does not show; empty if the title is only the name of the
/// pane. The conversation of the lead always has its name, because it is what the user sees first.
fn beyond_tab(pane: Pane, name: &str) -> &str {
    match name.strip_prefix(pane.title()) {
        Some("") if pane == Pane::Lead => name,
        Some("") => "",
        Some(rest) => rest.strip_prefix(" · ").unwrap_or(name),
        None => name,
    }
}

/// Returns the number of columns for the title at the upper right of `pane` with the frame `area`, beside its left title
/// `name`.
pub fn aside_room(app: &App, pane: Pane, name: &str, is_named_above: bool, area: Rect) -> usize {
    let DrawnTitle { key, words } =
        DrawnTitle::new(&app.prefs, pane, name, is_named_above, area.height);
    let title = match width(words) {
        0 => 0,
        // A blank follows the words.
        words => width(&key) + words + 1,
    };
    usize::from(area.width).saturating_sub(title + BESIDE_TITLES)
}

/// Draws a pane's border, titles, scrollbar and placeholder. The pane that has the focus has a border on all sides if
/// no popup receives the keys; other panes have one only at the top. A pane with a height of one row has no content,
/// and its placeholder is beside the title. Returns the area of the content, which lies inside of all four sides.
pub fn pane(
    app: &App,
    pane: Pane,
    titles: Titles,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let has_keys = app.focus == Focus::Pane(pane) && app.is_in_panes();
    let (border, title) = if titles.calls {
        (theme.border_waiting, theme.waiting)
    } else if has_keys {
        (theme.border_focused, theme.title_focused)
    } else {
        (theme.border, titles.name_style.unwrap_or(theme.title))
    };
    let aside: usize = titles.aside.iter().map(|s| width(&s.content)).sum();
    let DrawnTitle { key, words } = DrawnTitle::new(
        &app.prefs,
        pane,
        &titles.name,
        titles.is_named_above,
        area.height,
    );
    let room = usize::from(area.width).saturating_sub(aside + width(&key) + BESIDE_TITLES);
    let mut name = Vec::new();
    if !words.is_empty() {
        name = vec![
            Span::styled(key, theme.dim),
            Span::styled(fit(words, room), title),
            // A separate span, because the name may be shown reversed.
            Span::raw(" "),
        ];
    }
    if let (1, Some(words)) = (area.height, &titles.placeholder) {
        // Aligns the placeholders of several panes of one row.
        let missing = PLACEHOLDER_FROM.saturating_sub(width(&titles.name));
        name.push(Span::raw(" ".repeat(missing)));
        let used: usize = name.iter().map(|s| width(&s.content)).sum();
        let room = usize::from(area.width).saturating_sub(used + aside + 6);
        let words = whole_sentences(words, room).to_string();
        name.extend([Span::styled(words, theme.dim), Span::raw(" ")]);
    }
    let block = Block::bordered()
        .borders(if has_keys && area.height > 1 {
            Borders::ALL
        } else {
            Borders::TOP
        })
        .border_type(BorderType::Rounded)
        .border_style(border)
        // Without this, titles would inherit the border's style.
        .title_style(theme.ground)
        .title_top(Line::from(name));
    let below = edge(titles.below).filter(|_| area.height > 1);
    let foot = edge(titles.foot).filter(|_| area.height > 1);
    let block = edge(titles.aside)
        .into_iter()
        .fold(block, |block, line| block.title_top(line.right_aligned()));
    let bottom = below.map(Line::right_aligned).into_iter().chain(foot);
    let block = bottom.fold(block, Block::title_bottom);
    // Without side borders, the titles stay in the columns where they are with side borders.
    let drawn = if has_keys && area.height > 1 {
        area
    } else {
        area.inner(Margin::new(1, 0))
    };
    block.render(drawn, buffer);
    let inner = if area.height == 1 {
        Rect { height: 0, ..area }
    } else {
        layout::inside(area)
    };
    if let Some(words) = &titles.placeholder {
        empty(words, theme, inner, buffer);
    }
    scrollbar(titles.bar, thumb(app, pane, theme), theme, buffer);
    inner
}

/// Returns as many whole sentences from the start of `words` as fit into `columns`; at least the first one.
fn whole_sentences(words: &str, columns: usize) -> &str {
    let ends = words.match_indices(". ").map(|(at, _)| at + 1);
    let forms = ends.chain([words.len()]).map(|end| &words[..end]);
    let (fitting, other): (Vec<&str>, Vec<&str>) = forms.partition(|form| width(form) <= columns);
    let found = fitting.last().or(other.first());
    found.copied().unwrap_or_default()
}

/// Returns `spans` as a title for the edge of a frame, with a space on both sides; `None` if `spans` is empty.
fn edge(mut spans: Vec<Span<'static>>) -> Option<Line<'static>> {
    if spans.is_empty() {
        return None;
    }
    spans.insert(0, Span::raw(" "));
    spans.push(Span::raw(" "));
    Some(Line::from(spans))
}

/// Draws the placeholder text of an empty pane, which says what will appear in the pane. Leaves a blank column on both
/// sides of the text, and omits the rows that do not fit into `area`.
pub fn empty(words: &str, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let inner = area.inner(Margin::new(1, 0));
    for (line, row) in wrap(words, usize::from(inner.width))
        .iter()
        .zip(inner.rows())
    {
        Line::styled(line.as_str(), theme.dim).render(row, buffer);
    }
}

/// Returns a pane's title. If the pane is filtered, the numbers of matching rows and of all rows follow.
pub fn title_with_counts(pane: Pane, filter: &ListFilter, rows: usize, all: usize) -> String {
    match filter.words() {
        "" => pane.title().into(),
        _ => format!("{} · {rows} of {all}", pane.title()),
    }
}

/// Returns the placeholder of a list in which nothing matches the filter. `what` names an item of the list, such as
/// `task`.
pub fn no_match(prefs: &Preferences, what: &str) -> String {
    let key = prefs.keymap.key(Context::Panes, Action::Back);
    format!("No {what} matches. {key} clears the filter.")
}

/// Draws the search text, the number `here` of the current match (from 1; 0 if none is current) and the match count
/// `all` on the lower border. Returns the cursor position for typing in the search text.
pub fn search_edge(
    mut words: &str,
    (here, all): (usize, usize),
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Position {
    let row = Rect {
        x: area.x.saturating_add(2),
        y: area.bottom().saturating_sub(1),
        width: area.width.saturating_sub(4),
        height: 1.min(area.height),
    };
    let count = match (here, all) {
        (_, 0) if words.trim().is_empty() => String::new(),
        (_, 0) => "no match ".into(),
        (0, all) => format!("{all} "),
        (here, all) => format!("{here}/{all} "),
    };
    // Leaves room for the hint at the right that says how to follow new output.
    let room = usize::from(row.width)
        .saturating_sub(width(&count) + 26)
        .max(8);
    // The user types at the end of the text, so long text is cut at the start.
    while width(words) > room {
        let mut chars = words.chars();
        chars.next();
        words = chars.as_str();
    }
    let style = if all > 0 { theme.dim } else { theme.warn };
    let line = Line::from(vec![
        Span::styled(" /", theme.accent),
        Span::styled(words, theme.text),
        Span::raw(" "),
        Span::styled(count, style),
    ]);
    let taken = u16::try_from(line.width()).unwrap_or(u16::MAX);
    let place = Rect {
        width: row.width.min(taken),
        ..row
    };
    buffer.set_style(place, theme.ground);
    line.render(place, buffer);
    let column = u16::try_from(width(words)).unwrap_or(0).saturating_add(2);
    Position::new(row.x.saturating_add(column), row.y)
}

/// Returns the position of the selected row, counted from 1, as `7 of 20`, where `len` is 20. Empty if no row is
/// selected or all rows fit into `height` rows.
pub fn position(
    selected: Option<usize>,
    len: usize,
    height: u16,
    theme: &Theme,
) -> Vec<Span<'static>> {
    match scrollbar::position(selected, len, height) {
        words if words.is_empty() => Vec::new(),
        words => vec![Span::styled(words, theme.dim)],
    }
}

/// Draws a scrollbar on the border, where it needs no extra column: the thumb as a bar that differs from a border even
/// without colour, and a thin line for the rest if there is no border. Draws nothing if `bar` is `None`.
pub fn scrollbar(bar: Option<Scrollbar>, style: Style, theme: &Theme, buffer: &mut Buffer) {
    let Some(bar) = bar else { return };
    // The border cell may have the modifier for dim text.
    let style = Style::new().remove_modifier(Modifier::DIM).patch(style);
    let thumb = bar.thumb();
    for at in bar.at.intersection(buffer.area).positions() {
        if thumb.contains(at) {
            buffer[at].set_symbol(THUMB).set_style(style);
        } else if buffer[at].symbol() == " " {
            buffer[at].set_symbol(TRACK).set_style(theme.border);
        }
    }
}

/// Returns the style of a pane's scrollbar thumb, highlighted if the pane has the focus.
pub fn thumb(app: &App, pane: Pane, theme: &Theme) -> Style {
    if app.focus == Focus::Pane(pane) {
        theme.title
    } else {
        theme.dim
    }
}

/// Returns the numbers of lines above and below the visible ones as `3 more ↑  12 more ↓`; empty if all lines are
/// visible. `len` is the number of all lines, `first` the index of the first visible line, `height` the number of
/// visible rows.
pub fn beyond(len: usize, first: usize, height: u16, theme: &Theme) -> Vec<Span<'static>> {
    let below = len.saturating_sub(first + usize::from(height));
    let mut words = Vec::new();
    if first > 0 {
        words.push(format!("{first} more ↑"));
    }
    if below > 0 {
        words.push(format!("{below} more ↓"));
    }
    if words.is_empty() {
        return Vec::new();
    }
    vec![Span::styled(words.join("  "), theme.dim)]
}

/// Draws a label such as `↓ more` on the lower right border if the text that the user is typing continues above or
/// below the visible rows. Draws nothing if all rows are visible.
pub fn text_beyond(beyond: Overflow, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if beyond == Overflow::Nowhere {
        return;
    }
    let words = format!(" {} ", beyond.words());
    let wide = u16::try_from(width(&words)).unwrap_or(u16::MAX);
    let place = Rect {
        x: area.right().saturating_sub(wide + 1),
        y: area.bottom().saturating_sub(1),
        width: wide,
        height: 1,
    };
    Line::styled(words, theme.dim).render(place.intersection(area), buffer);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowHighlight {
    /// The row is selected, and its pane has the focus.
    Selected,
    /// The row is selected, and its pane has the focus, but a popup above the pane receives the keys.
    Covered,
    /// The row is not selected, or its pane does not have the focus.
    Plain,
}

impl RowHighlight {
    /// Returns how the list row with the index `at` is highlighted. Only the selected row of the focused pane is
    /// highlighted.
    pub fn of(app: &App, pane: Pane, at: usize, selected: Option<usize>) -> RowHighlight {
        if selected != Some(at) || app.focus != Focus::Pane(pane) {
            RowHighlight::Plain
        } else if app.is_in_panes() {
            RowHighlight::Selected
        } else {
            RowHighlight::Covered
        }
    }
}

/// Draws a row of a list. All rows begin with two columns, which contain `› ` in the selected row of the focused pane.
/// This row also has the selection colours, unless a popup receives the keys.
pub fn row(
    row: RowHighlight,
    spans: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mark = match row {
        RowHighlight::Selected | RowHighlight::Covered => Span::styled("› ", theme.accent),
        RowHighlight::Plain => Span::raw("  "),
    };
    let mut line = vec![mark];
    line.extend(spans);
    Line::from(line).render(area, buffer);
    if row == RowHighlight::Selected {
        buffer.set_style(area, theme.selection);
    }
}

/// Returns `text` padded or cut to exactly `columns` columns, in two spans: the text and the padding. The padding has
/// no style, because an underline or background would be visible.
pub fn cell(text: &str, columns: usize, style: Style) -> [Span<'static>; 2] {
    let text = fit(text, columns);
    let blanks = " ".repeat(columns.saturating_sub(width(&text)));
    [Span::styled(text, style), Span::raw(blanks)]
}

/// Returns two texts in one row of `columns` columns, with a blank between them. The right one is cut to half of the
/// columns; the left one is padded or cut to the rest.
pub fn sides(
    left: &str,
    left_style: Style,
    right: &str,
    right_style: Style,
    columns: usize,
) -> Vec<Span<'static>> {
    let right = fit(right, columns / 2);
    let room = columns.saturating_sub(width(&right) + 1);
    let mut out = cell(left, room, left_style).to_vec();
    out.extend([Span::raw(" "), Span::styled(right, right_style)]);
    out
}

/// Returns the key that focuses a pane, as the frame and the tab of the pane show it: `·` if the key is longer than one
/// character.
pub fn pane_key(prefs: &Preferences, pane: Pane) -> String {
    let key = prefs.keymap.key(Context::Panes, Action::Focus(pane));
    if width(&key) == 1 { key } else { "·".into() }
}

/// Returns the maximum width of an agent's name in a tab line of `columns` columns, so that the other tabs have room.
pub fn agent_tab_width(columns: u16) -> usize {
    usize::from(columns) / 8
}

/// Returns the area of a pane's key and title on its frame, without the counts that may follow the title.
pub fn title_place(prefs: &Preferences, pane: Pane, area: Rect) -> Rect {
    let words = width(&pane_key(prefs, pane)) + width(pane.title()) + 3;
    let width = u16::try_from(words).unwrap_or(u16::MAX);
    Rect {
        x: area.x + 1.min(area.width),
        width: width.min(area.width.saturating_sub(2)),
        height: 1.min(area.height),
        ..area
    }
}
