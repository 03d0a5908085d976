//! The interface that each pane implements: drawing, mouse, keys and preview.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::{Hit, visible_rows};
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::frame::{CLEAR_FILTER, layout};
use crate::ui::keymap::direction::{PanDirection, Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Number of lines by which one notch of the mouse wheel scrolls a pane.
pub const NOTCH: usize = 3;

/// The buffer into which a pane is drawn, with the theme and the caches that drawing needs.
pub struct PaneCanvas<'a> {
    pub cache: &'a mut ViewCache,
    pub theme: &'a Theme,
    pub buffer: &'a mut Buffer,
    /// Whether the tab line directly above the pane shows the pane's key and name, so that the title need not.
    pub is_named_above: bool,
    /// Whether the pane with the team is on the screen.
    pub is_team_shown: bool,
}

/// A pane with its state. In all methods, `area` is the pane's frame on the screen, or `None` if the pane is not
/// visible.
pub trait PaneFeature {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor;

    /// Adds the mouse targets inside the pane.
    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>);

    /// Adds the mouse targets on the pane's frame, except those of the title and the scrollbar, which the caller adds
    /// for every pane.
    fn frame_targets(&self, _app: &App, _area: Rect, _out: &mut Vec<PlacedPart<Hit>>) {}

    /// Returns the pane's scrollbar; `None` if all content is visible.
    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar>;

    /// Returns the number of rows of the whole content, from which the layout derives the height of some panes.
    fn content_rows(&self, app: &App) -> usize;

    /// Returns the height that the pane wants in a screen column of `width` columns: at most `most` rows, including the
    /// frame. Called only for panes whose height depends only on their content.
    fn wanted_height(&self, _app: &App, _width: u16, most: u16) -> u16 {
        most
    }

    /// Scrolls the content of the pane. In a pane with a list, moves the selection instead.
    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll);

    /// Selects the row at index `_row` of the pane's list. Does nothing in a pane without a list.
    fn select(&mut self, _app: &App, _row: usize) {}

    /// Returns whether a click on the row at index `_row` opens the item in that row if the pane already has the focus.
    /// `_is_second` is true if the previous click was on the same row.
    fn opens(&self, _app: &App, _row: usize, _is_second: bool) -> bool {
        false
    }

    /// Scrolls after the user has dragged the thumb of the scrollbar `bar` to the screen row `row`.
    fn jump(&mut self, app: &mut App, _area: Option<Rect>, bar: Scrollbar, row: u16) {
        self.select(app, bar.row_at(row));
    }

    /// Handles one notch of the mouse wheel. `_zooms` is true if the control key is pressed.
    fn wheel(&mut self, app: &mut App, area: Option<Rect>, toward: PanDirection, _zooms: bool) {
        let by = match toward {
            PanDirection::Up => Scroll::LineUp,
            PanDirection::Down => Scroll::LineDown,
            PanDirection::Left | PanDirection::Right => return,
        };
        for _ in 0..NOTCH {
            self.scroll(app, area, by);
        }
    }

    /// Pans the content after the user has dragged its background. `_by` is the number of columns and rows by which the
    /// visible part moves: positive to the right and down, against the direction of the mouse.
    fn drag(&mut self, _app: &App, _area: Option<Rect>, _by: (isize, isize)) {}

    /// Selects a neighbouring item. Which items are neighbours depends on the pane: on the board, the tasks that the
    /// selected task blocks (forward) or waits for (back); in the pane "Needs you", the next and the previous request;
    /// in a conversation, the next and the previous cell that can be folded.
    fn neighbour(&mut self, _app: &mut App, _area: Option<Rect>, _way: Way) {}

    fn has_neighbour(&self, _app: &App) -> bool {
        false
    }

    /// Scrolls to the newest content. From then on, the pane scrolls by itself when new content arrives.
    fn follow(&mut self, _app: &mut App, _area: Option<Rect>) {}

    /// Returns whether [`PaneFeature::follow`] would have an effect. It has none in a pane that already scrolls with
    /// new content.
    fn can_follow(&self, app: &App) -> bool {
        let agent = app.model.agents.get(&app.shown);
        agent.is_some_and(|agent| !agent.transcript.is_following())
    }

    /// Opens the selected item, for example the page of a task.
    fn open(&mut self, app: &mut App, area: Option<Rect>);

    fn can_open(&self, app: &App) -> bool;

    /// Runs an action that only this pane handles, even if another part of the screen has the focus. Returns `false` if
    /// this pane does not handle the action. While a list of this pane, such as the completion list, covers other
    /// panes, `Action::Move` is handled too: it moves the selection in that list.
    fn act(
        &mut self,
        _app: &mut App,
        _area: Option<Rect>,
        _action: Action,
        _out: &mut Vec<Effect>,
    ) -> bool {
        false
    }

    /// Returns whether an action would have an effect now; `None` if this pane does not decide that.
    fn offers(&self, _app: &App, _action: Action) -> Option<bool> {
        None
    }

    /// Returns the label that the hint line shows for a key; `None` to use the label from the key table.
    fn hint(&self, _app: &App, _binding: &KeyBinding) -> Option<String> {
        None
    }

    /// Returns a key context whose keys take precedence over the keys of the pane, such as the context for the choices
    /// of a question. `None` if there is none now.
    fn inner_context(&self, _app: &App) -> Option<Context> {
        None
    }

    /// Returns the key context of the text input that the user is typing into, such as a filter. `None` if the user is
    /// not typing in this pane.
    fn typing_context(&self, _app: &App) -> Option<Context> {
        let is_typing = self.filter().is_some_and(ListFilter::is_typing);
        is_typing.then_some(Context::Filter)
    }

    /// Returns the filter of the pane's list; `None` if the list cannot be filtered.
    fn filter(&self) -> Option<&ListFilter> {
        None
    }

    fn filter_mut(&mut self) -> Option<&mut ListFilter> {
        None
    }

    /// Called after the user has typed into a text input of the pane, such as its filter. If the content of a list
    /// depends on the text, resets the selection in that list.
    fn text_changed(&mut self) {}

    /// Edits the text that the user is typing in the pane, such as its filter. Returns `false` if the user is not
    /// typing in this pane.
    fn edit_text(
        &mut self,
        _app: &mut App,
        _area: Option<Rect>,
        edit: &mut dyn FnMut(&mut LineInput),
    ) -> bool {
        let Some(text) = self.filter_mut().and_then(ListFilter::input) else {
            return false;
        };
        edit(text);
        self.text_changed();
        true
    }

    /// Ends the typing in a text input of the pane. A filter stays in effect. If the text names an action, as a slash
    /// command does, returns the action, and the caller runs it; otherwise returns `None`.
    fn accept(&mut self, _app: &mut App) -> Option<Action> {
        self.filter_mut()?.finish();
        None
    }

    /// Undoes one step inside the focused pane, for example by removing its filter. Returns `false` if there is nothing
    /// to undo.
    fn step_back(&mut self, _app: &mut App) -> bool {
        self.filter_mut().is_some_and(ListFilter::remove)
    }

    /// Returns the words in which the hints describe what [`PaneFeature::step_back`] would do; `None` if it would do
    /// nothing.
    fn back_label(&self, _app: &App) -> Option<&'static str> {
        let is_set = self.filter().is_some_and(ListFilter::is_set);
        is_set.then_some(CLEAR_FILTER)
    }

    /// Returns whether there are rows to filter.
    fn can_filter(&self, _app: &App) -> bool {
        false
    }

    fn can_copy(&self, app: &App) -> bool {
        self.can_open(app)
    }

    /// Returns what the action `Copy` puts on the clipboard: a description for the status message, and the text. `None`
    /// if there is nothing to copy.
    fn clipboard_text(&self, app: &App) -> Option<(String, String)>;

    /// Returns the selected item; `None` if no item is selected or the pane has no previews.
    fn selected_item(&self, _app: &App) -> Option<SelectedItem> {
        None
    }

    /// Returns whether there is a selected item whose preview can be opened. `area` is the frame of the pane; `None` if
    /// the pane is not visible.
    fn can_peek(&self, app: &App, _area: Option<Rect>) -> bool {
        self.selected_item(app).is_some()
    }

    /// Returns the sentence that says why no preview can be opened.
    fn why_no_preview(&self, _app: &App) -> &'static str {
        "This pane has nothing to preview yet."
    }

    fn preview(&self, _app: &App, _columns: usize, _theme: &Theme) -> Option<Preview> {
        None
    }

    /// Moves the selection to another item while the preview is open.
    fn step_preview(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        self.scroll(app, area, by);
    }

    /// Called when the end of the selected item's preview was visible.
    fn preview_was_read(&mut self, _app: &App) {}

    /// Returns the ages, such as `2m`, that the preview of the selected item shows. When one of these ages changes, the
    /// screen is redrawn.
    fn preview_ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns the ages, such as `2m`, that the pane shows only while it has the focus. When one of these ages changes,
    /// the screen is redrawn.
    fn ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns the tip that the tour of the demo shows while the pane has the focus. If `None`, the tour shows the tip
    /// for the current step of the demo.
    fn tour_tip(&self, _app: &App) -> Option<String> {
        None
    }

    /// Returns what the pane's tab shows after the title, such as the number of messages. May be empty.
    fn tab_count(&self, _app: &App) -> String {
        String::new()
    }

    /// Returns whether the pane has a tab in the layout that shows one pane and tabs for the others.
    fn has_tab(&self, _app: &App) -> bool {
        true
    }

    /// Returns whether the pane's tab is highlighted as long as the pane is not visible.
    fn highlights_tab(&self) -> bool {
        false
    }

    /// Returns whether the keys that focus the next or previous pane stop at this pane. They skip a pane without
    /// content.
    fn is_stop(&self, _app: &App) -> bool {
        true
    }

    /// Handles a request that a popup or another pane has sent to the panes, if the request concerns this pane.
    fn handle_request(&mut self, _request: &PaneRequest) {}

    /// Called before each event, except events that only add text to an answer or to output. Remembers the selected
    /// item, because the event may move it to another row.
    fn before_event(&mut self, _app: &App, _event: &EventKind) {}

    /// Called after each event, except events that only add text to an answer or to output. Selects the item that
    /// [`PaneFeature::before_event`] remembered or, if that item is gone, the item that is now in its row.
    fn after_event(&mut self, _app: &App) {}
}

/// The selected item of a pane. It identifies the item even if the item moves to another row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectedItem {
    Task(TaskId),
    /// A message, by its number in the log of messages.
    Message(u64),
    Request(RequestId),
    Agent(Name),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    pub title: String,
    /// The lines that describe the item, wrapped to the width of the preview.
    pub lines: Vec<Line<'static>>,
    /// The index of the first line to show if the preview has too few rows for all lines.
    pub begin: usize,
    /// The agent whose conversation is shown below the lines, if the item is an agent.
    pub agent: Option<Name>,
}

/// Returns the visible rows of a list as mouse targets of `pane`. `list` is the area of the list on the screen, `len`
/// its number of rows, and `first` the index of the first visible row.
pub fn rows(pane: Pane, list: Rect, (len, first): (usize, usize)) -> Vec<PlacedPart<Hit>> {
    let rows = visible_rows(list, first, len);
    rows.map(|(at, row)| PlacedPart {
        at,
        what: Hit::Row(pane, row),
    })
    .collect()
}

/// Returns the number of list rows that are visible in a pane with the frame `area`, at least 1. `list` computes the
/// area of the list from the area inside the frame.
pub fn page(area: Option<Rect>, list: impl FnOnce(Rect) -> Rect) -> usize {
    let list = area.map(|area| list(layout::inside(area)));
    usize::from(list.map_or(1, |list| list.height)).max(1)
}
