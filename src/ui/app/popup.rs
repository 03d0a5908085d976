//! The trait that every popup implements, and opening and closing popups. The popups themselves are in the folder
//! `popups`.

use std::any::Any;
use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::ids::RequestId;
use crate::ui::app::effect::Effect;
use crate::ui::app::hit::{Hit, visible_rows};
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

/// A popup above the panes, with its state. Only the topmost popup is drawn and receives input.
///
/// A popup changes only its state and the shared [`App`]; it does not depend on panes. For everything else, it returns
/// a [`Next`] or an effect. Inside [`App::with_popup`], a popup must not remove popups from the stack.
pub trait Popup: Any + Debug {
    /// Returns the context whose key bindings apply while the popup is on top.
    fn context(&self) -> Context;

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor;

    fn targets(&self, app: &App) -> Targets;

    /// Returns the tip about the popup for the tour line. It says what the popup shows; the hint line names the keys.
    fn tip(&self, app: &App) -> String;

    /// Runs `action` if the popup handles it; otherwise returns [`Next::Pass`].
    fn act(&mut self, _app: &mut App, _action: Action, _out: &mut Vec<Effect>) -> Next {
        Next::Pass
    }

    fn select(&mut self, _app: &App, _row: usize) {}

    /// Handles a drag of the scrollbar. `first` is the line that becomes the first visible one. In a list, `row` is the
    /// row to select.
    fn jump(&mut self, app: &App, _first: usize, row: usize) {
        self.select(app, row);
    }

    /// Handles a click at the screen position `at` on the part of the popup with the number `part`, a
    /// [`Hit::PopupPart`].
    fn press(&mut self, _app: &mut App, _part: usize, _at: Position) -> Next {
        Next::Stay
    }

    /// Returns the action of a second click on the selected row.
    fn click_again(&self) -> Action {
        Action::Accept
    }

    /// Returns whether the popup shows a text, which the mouse wheel scrolls by several lines at once. In a list, the
    /// wheel moves the selection by one row.
    fn is_text(&self) -> bool {
        false
    }

    /// Called when the user closes the popup, before it is removed.
    fn on_close(&mut self, _app: &mut App) {}

    /// Returns further contexts whose key bindings apply. They come before [`Popup::context`].
    fn more_contexts(&self) -> &'static [Context] {
        &[]
    }

    /// Returns whether the panes below are dimmed. They are not dimmed if the popup is about something that is visible
    /// beside the popup.
    fn dims(&self) -> bool {
        true
    }

    /// Returns whether keys that the popup does not use reach the pane below.
    fn shares_keys(&self) -> bool {
        false
    }

    /// Returns whether the popup contains text of the user that must not be lost.
    fn holds_text(&self) -> bool {
        false
    }

    /// Returns the request that the popup is about. When the request is closed, the popup closes too.
    fn request(&self) -> Option<&RequestId> {
        None
    }

    /// Returns the buttons in the last row of a dialog, each as an action and a label; none if the popup has no
    /// buttons.
    fn buttons(&self, _app: &App) -> &'static [(Action, &'static str)] {
        &[]
    }

    /// Returns whether `action` would have an effect now; `None` if the popup does not handle it.
    fn offers(&self, _app: &App, _action: Action) -> Option<bool> {
        None
    }

    /// Returns the label of `action` for the hint line; `None` if the label in the keymap applies.
    fn hint(&self, _app: &App, _action: Action) -> Option<&'static str> {
        None
    }

    /// Returns the action of `key` if the popup's text recommends the key; `None` otherwise. Called for a key that the
    /// popup does not bind. The caller closes all popups and then runs the action.
    fn recommended_action(&self, _prefs: &Preferences, _key: &str) -> Option<Action> {
        None
    }

    /// Returns what the action `Copy` copies to the clipboard while the popup is on top.
    fn clipboard_text(&self, _app: &App) -> Copied {
        Copied::Below
    }

    /// Returns the ages, such as `5m`, that the popup shows now or may show later. When one of them changes, the screen
    /// is drawn again.
    fn ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns whether the popup shows a number of seconds, so that it must be drawn every second.
    fn counts_seconds(&self, _app: &App) -> bool {
        false
    }

    /// Returns why the popup is outdated after a change of the board or of its branches; `None` if it is not. An
    /// outdated popup is closed.
    fn why_outdated(&self, _app: &App) -> Option<String> {
        None
    }

    /// Called on the topmost popup before an event is applied. Remembers the selected item, whose row the event may
    /// change.
    fn before_event(&mut self, _app: &App) {}

    /// Called on the topmost popup after an event was applied. Selects the item that [`Popup::before_event`] has
    /// remembered.
    fn after_event(&mut self, _app: &App) {}

    /// Returns the focused text field, which receives typed characters; `None` if the popup has none.
    fn text_input(&mut self) -> Option<TextInput<'_>> {
        None
    }

    /// Returns the focused multi-line text, which the user can edit in `$EDITOR`; `None` if the popup has none.
    fn text(&self) -> Option<&Composer> {
        None
    }

    /// Returns the area of the text from [`Popup::text`]; `None` if it is not visible.
    fn text_area(&self, _app: &App) -> Option<Rect> {
        None
    }

    /// Called after the text of [`Popup::text_input`] was edited.
    fn text_changed(&mut self, _app: &App) {}
}

/// What happens after a popup has received an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// No popup is open, or the popup does not handle the input.
    Pass,
    /// The popup has handled the input and stays open.
    Stay,
    Close,
    CloseAll,
    /// The popup stays open, and the caller runs the action.
    Run(Action),
    /// The popup closes, and the caller then runs the action.
    CloseAndRun(Action),
}

impl Next {
    /// Returns the action that the caller must run, if any.
    pub fn action(self) -> Option<Action> {
        match self {
            Next::Run(action) | Next::CloseAndRun(action) => Some(action),
            Next::Pass | Next::Stay | Next::Close | Next::CloseAll => None,
        }
    }
}

/// The text field that receives typed text: a text field of the topmost popup, or the composer.
#[derive(Debug)]
pub enum TextInput<'a> {
    /// A single line, such as a search or a filter.
    Line(&'a mut LineInput),
    /// A text that can take several rows on the screen.
    Area {
        text: &'a mut Composer,
        /// Whether the text may contain line breaks.
        is_multiline: bool,
    },
}

impl TextInput<'_> {
    /// Converts `text` to a text that this field can contain. In an area without line breaks, joins the lines with
    /// spaces; otherwise returns `text` unchanged.
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

/// What the action `Copy` copies to the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    /// The name of the copied text for the status message, such as `the diff`, and the text itself.
    Text(String, String),
    Nothing,
    /// The selection of the focused pane below the popup.
    Below,
}

#[derive(Debug)]
pub struct Targets {
    /// The area of the popup with its frame.
    pub area: Rect,
    /// The areas of the popup's buttons and rows, each with the target of a click on it.
    pub inside: Vec<PlacedPart<Hit>>,
    pub bar: Option<Scrollbar>,
    /// The target of a click outside the popup.
    pub beside: Hit,
}

impl Targets {
    /// Returns the targets of a popup without buttons and rows. A click outside closes the popup.
    pub fn none() -> Targets {
        Targets {
            area: Rect::default(),
            inside: Vec::new(),
            bar: None,
            beside: Hit::BesidePopup,
        }
    }

    /// Returns the targets of a list with `len` rows, one for each visible row. A click outside closes the popup.
    pub fn list(place: PopupListLayout, len: usize) -> Targets {
        let rows = visible_rows(place.list, place.first, len);
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

/// Opens a popup. Does nothing if the maximum number of popups, `POPUPS_MAX`, is open.
pub fn open(app: &mut App, popup: impl Popup) {
    app.popups.push(Box::new(popup));
}

/// Opens a popup. Does nothing if a popup of the same type is open.
pub fn open_once<P: Popup>(app: &mut App, popup: P) {
    if app.popups.find::<P>().is_none() {
        open(app, popup);
    }
}

impl App {
    /// Lets the topmost popup handle an input with `handle`, and closes popups as the returned [`Next`] says. Returns
    /// [`Next::Pass`] if no popup is open.
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

    /// Lets the topmost popup save its text, then closes the popup. Returns whether a popup was open.
    pub fn close_popup(&mut self) -> bool {
        let next = self.with_popup(|popup, app| {
            popup.on_close(app);
            Next::Close
        });
        next != Next::Pass
    }

    /// Returns whether an open popup contains text of the user that must not be lost.
    pub(in crate::ui) fn is_commenting(&self) -> bool {
        self.popups.iter().any(Popup::holds_text)
    }

    /// Returns whether keys reach the panes: no popup is open, or the topmost popup shares its keys
    /// ([`Popup::shares_keys`]).
    pub(in crate::ui) fn is_in_panes(&self) -> bool {
        self.popups.last().is_none_or(Popup::shares_keys)
    }

    /// Closes all outdated popups, and shows a status message on why the first of them was closed.
    pub fn close_outdated_popups(&mut self) {
        let why: Vec<Option<String>> = self.popups.iter().map(|p| p.why_outdated(self)).collect();
        let mut outdated = why.iter();
        self.popups
            .retain(|_| outdated.next().is_none_or(Option::is_none));
        if let Some(why) = why.into_iter().flatten().next() {
            self.say(why);
        }
    }
}
