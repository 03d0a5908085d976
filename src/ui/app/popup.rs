//! The trait that every popup implements, and opening and closing popups. The popups are in the folder `popups`.

use std::any::Any;
use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::ids::RequestId;
use crate::ui::app::effect::Effect;
use crate::ui::app::hit::{Hit, listed};
#[cfg(test)]
pub use crate::ui::app::popup_stack::POPUPS_MAX;
use crate::ui::app::popup_stack::Placeholder;
pub use crate::ui::app::popup_stack::{PopupMemory, PopupStack};
use crate::ui::app::{App, Preferences};
use crate::ui::keymap::{Action, Context};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::widgets::area::PopupListLayout;
use crate::ui::widgets::composer::Composer;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The position of the text cursor on the screen; `None` if no text is being typed.
pub type TextCursor = Option<Position>;

/// A popup over the panes, with its state. Only the topmost popup is drawn and receives input.
///
/// A popup changes only its own state and the shared [`App`]; it does not depend on panes. To do anything else, it
/// returns a [`Next`] or an effect. Inside [`App::with_popup`], a popup must not remove popups from the stack.
pub trait Popup: Any + Debug {
    /// Returns the context whose key bindings apply while the popup is open.
    fn context(&self) -> Context;

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor;

    fn targets(&self, app: &App) -> Targets;

    /// Returns the tip of the tour line about the popup. It says what the popup shows; the keys are in the hint line.
    fn tip(&self, app: &App) -> String;

    /// Runs an action, if the popup handles it; else returns [`Next::Pass`].
    fn act(&mut self, _app: &mut App, _action: Action, _out: &mut Vec<Effect>) -> Next {
        Next::Pass
    }

    fn select(&mut self, _app: &App, _row: usize) {}

    /// Handles a drag of the scrollbar. `first` is the new first visible line, `row` the row to select.
    fn jump(&mut self, app: &App, _first: usize, row: usize) {
        self.select(app, row);
    }

    /// Handles a click at the screen position `at` on the [`Hit::PopupPart`] with the number `part`.
    fn press(&mut self, _app: &mut App, _part: usize, _at: Position) -> Next {
        Next::Stay
    }

    /// Returns the action that a second click on the selected row triggers.
    fn click_again(&self) -> Action {
        Action::Accept
    }

    /// Returns whether the popup is a text, which the mouse wheel scrolls by several lines. In a list, the wheel moves
    /// the selection by one row per notch.
    fn is_text(&self) -> bool {
        false
    }

    /// Called before the user closes the popup.
    fn closing(&mut self, _app: &mut App) {}

    /// Returns the contexts in which keys are looked up before [`Popup::context`].
    fn more_contexts(&self) -> &'static [Context] {
        &[]
    }

    /// Returns whether the panes below are dimmed. They are not if the popup is about something visible beside it.
    fn dims(&self) -> bool {
        true
    }

    /// Returns whether keys still reach the pane below.
    fn shares_keys(&self) -> bool {
        false
    }

    /// Returns whether the popup holds text of the user that must not be lost.
    fn holds_text(&self) -> bool {
        false
    }

    /// Returns the request that the popup is about. When the request closes, the popup closes too.
    fn request(&self) -> Option<&RequestId> {
        None
    }

    /// Returns the actions and labels of the buttons in the last row of a dialog; none if the popup has no buttons.
    fn buttons(&self, _app: &App) -> &'static [(Action, &'static str)] {
        &[]
    }

    /// Returns whether `action` has an effect now; `None` if the popup does not handle it.
    fn offers(&self, _app: &App, _action: Action) -> Option<bool> {
        None
    }

    /// Returns the label of `action` in the hint line, where it differs from the one in the key table.
    fn hint(&self, _app: &App, _action: Action) -> Option<&'static str> {
        None
    }

    /// Returns the action of a key that the popup's text recommends but the popup does not bind. The key closes all
    /// popups and then runs the action.
    fn recommended(&self, _prefs: &Preferences, _key: &str) -> Option<Action> {
        None
    }

    /// Returns what the action `Copy` puts on the clipboard while the popup is on top.
    fn copied(&self, _app: &App) -> Copied {
        Copied::Below
    }

    /// Returns the ages, such as `5m`, that the popup shows now or later. The screen is redrawn when one of them
    /// changes.
    fn ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns whether the popup shows a time that changes every second.
    fn counts_seconds(&self, _app: &App) -> bool {
        false
    }

    /// Returns why the popup no longer applies after a change of the board or its branches, or `None` if it still does.
    /// An outdated popup is closed.
    fn outdated(&self, _app: &App) -> Option<String> {
        None
    }

    /// Called on the topmost popup before an event: remembers the selected item, whose position the event may change.
    fn before_event(&mut self, _app: &App) {}

    /// Called on the topmost popup after an event: selects the item that [`Popup::before_event`] remembered.
    fn after_event(&mut self, _app: &App) {}

    /// Returns the text input that receives typed characters; `None` if the popup has none with the focus.
    fn text_input(&mut self) -> Option<TextInput<'_>> {
        None
    }

    /// Returns the multi-line text with the focus, which `$EDITOR` can edit.
    fn text(&self) -> Option<&Composer> {
        None
    }

    /// Returns the area of [`Popup::text`]; `None` if it is not visible.
    fn text_area(&self, _app: &App) -> Option<Rect> {
        None
    }

    /// Called after the text in [`Popup::text_input`] was edited.
    fn text_changed(&mut self, _app: &App) {}
}

/// What happens after an input was passed to a popup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// There is no popup, or it does not handle the input.
    Pass,
    /// The popup has handled the input and stays open.
    Stay,
    Close,
    CloseAll,
    /// The popup stays open and the action runs.
    Run(Action),
    /// The popup closes, then the action runs.
    CloseAndRun(Action),
}

impl Next {
    /// Returns the action to run after the popup has handled the input, if any.
    pub fn action(self) -> Option<Action> {
        match self {
            Next::Run(action) | Next::CloseAndRun(action) => Some(action),
            Next::Pass | Next::Stay | Next::Close | Next::CloseAll => None,
        }
    }
}

/// The text input that receives typed text: one of a popup, or the composer.
#[derive(Debug)]
pub enum TextInput<'a> {
    /// A single line: a search or a filter.
    Line(&'a mut LineInput),
    /// A text that can have several rows.
    Area {
        text: &'a mut Composer,
        /// Whether the text may contain line breaks.
        is_multiline: bool,
    },
}

impl TextInput<'_> {
    /// Returns `text` in the form that this input accepts: without line breaks if the input is a single line.
    pub fn fit(&self, text: &str) -> String {
        if let TextInput::Area {
            is_multiline: false,
            ..
        } = self
        {
            let words: Vec<&str> = text.lines().map(str::trim).collect();
            return words.join(" ").trim().into();
        }
        text.into()
    }
}

/// The text that the action `Copy` puts on the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    /// What is copied, such as `the diff`, for the status message; then the text itself.
    Text(String, String),
    Nothing,
    /// The selection of the pane below.
    Below,
}

#[derive(Debug)]
pub struct Targets {
    /// The popup with its frame.
    pub area: Rect,
    /// The areas of the popup's buttons and rows, each with what a click on it hits.
    pub inside: Vec<PlacedPart<Hit>>,
    pub bar: Option<Scrollbar>,
    /// The target of a click outside the popup.
    pub beside: Hit,
}

impl Targets {
    /// Returns no targets; a click outside closes the popup.
    pub fn none() -> Targets {
        Targets {
            area: Rect::default(),
            inside: Vec::new(),
            bar: None,
            beside: Hit::BesidePopup,
        }
    }

    /// Returns the targets of a list of `len` rows. A click outside closes the popup.
    pub fn list(place: PopupListLayout, len: usize) -> Targets {
        let rows = listed(place.list, place.first, len);
        Targets {
            area: place.area,
            inside: rows
                .map(|(at, row)| PlacedPart {
                    at,
                    what: Hit::PopupRow(row),
                })
                .collect(),
            bar: Scrollbar::of_list(place.area, place.list, place.first, len),
            beside: Hit::BesidePopup,
        }
    }
}

/// Opens a popup, unless the maximum number of popups is open.
pub fn open(app: &mut App, popup: impl Popup) {
    app.popups.push(Box::new(popup));
}

/// Opens a popup, unless one of its kind is open.
pub fn open_once<P: Popup>(app: &mut App, popup: P) {
    if app.popups.find::<P>().is_none() {
        open(app, popup);
    }
}

impl App {
    /// Lets the topmost popup handle an input, and closes popups as the returned [`Next`] says. Returns [`Next::Pass`]
    /// if no popup is open.
    pub fn with_popup(&mut self, handle: impl FnOnce(&mut dyn Popup, &mut App) -> Next) -> Next {
        let Some((at, mut popup)) = self.popups.lend() else {
            return Next::Pass;
        };
        let next = handle(popup.as_mut(), self);
        match next {
            Next::Pass | Next::Stay | Next::Run(_) => self.popups.put_back(at, popup),
            Next::Close | Next::CloseAndRun(_) => self.popups.close_all::<Placeholder>(),
            Next::CloseAll => self.popups.clear(),
        }
        next
    }

    /// Closes the topmost popup, which can save its text first. Returns whether there was one.
    pub fn close_popup(&mut self) -> bool {
        let next = self.with_popup(|popup, app| {
            popup.closing(app);
            Next::Close
        });
        next != Next::Pass
    }

    /// Returns whether any open popup holds text of the user that must not be lost.
    pub(in crate::ui) fn is_commenting(&self) -> bool {
        self.popups.iter().any(Popup::holds_text)
    }

    /// Returns whether keys go to the panes: no popup is open, or only the preview.
    pub(in crate::ui) fn is_in_panes(&self) -> bool {
        self.popups.last().is_none_or(Popup::shares_keys)
    }

    /// Closes popups that no longer apply and tells the user the first reason.
    pub fn close_outdated_popups(&mut self) {
        let why: Vec<Option<String>> = self.popups.iter().map(|p| p.outdated(self)).collect();
        let mut outdated = why.iter();
        self.popups
            .retain(|_| outdated.next().is_none_or(Option::is_none));
        if let Some(why) = why.into_iter().flatten().next() {
            self.say(why);
        }
    }
}
