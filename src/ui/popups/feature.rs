//! What the shell asks of a popup. Each popup answers in its own folder; [`feature`] lists them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Popup;
use crate::ui::frame::buttons::Button;
use crate::ui::frame::hit::{Hit, listed};
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::popups::comment::CommentPopup;
use crate::ui::popups::confirm::ConfirmPopup;
use crate::ui::popups::costs::CostsPopup;
use crate::ui::popups::event_log::EventLogPopup;
use crate::ui::popups::jobs::JobsPopup;
use crate::ui::popups::peek::PeekPopup;
use crate::ui::popups::picker::PickerPopup;
use crate::ui::popups::reader::ReaderPopup;
use crate::ui::popups::task_form::TaskFormPopup;
use crate::ui::theme::Theme;
use crate::ui::widgets::area::Place;
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The popup of each kind: to add one, add its line.
pub fn feature(popup: &Popup) -> &'static dyn PopupFeature {
    match popup {
        Popup::Pager(_) => &ReaderPopup,
        Popup::Picker(_) => &PickerPopup,
        Popup::Comment(_) => &CommentPopup,
        Popup::Jobs { .. } => &JobsPopup,
        Popup::EventLog(_) => &EventLogPopup,
        Popup::Costs(_) => &CostsPopup,
        Popup::Peek(_) => &PeekPopup,
        Popup::Task(_) => &TaskFormPopup,
        Popup::Confirm(_) => &ConfirmPopup,
    }
}

/// Returns the feature of the topmost popup.
pub fn top(app: &App) -> Option<&'static dyn PopupFeature> {
    app.popups.last().map(feature)
}

/// What the mouse can press in a popup.
#[derive(Debug)]
pub struct Targets {
    /// The popup with its frame.
    pub area: Rect,
    /// Its buttons and rows.
    pub inside: Vec<Target<Hit>>,
    /// Its scrollbar.
    pub bar: Option<Scrollbar>,
    /// What a click beside it does.
    pub beside: Hit,
}

impl Targets {
    /// Returns no targets; a click beside it closes the popup.
    pub fn none() -> Targets {
        Targets {
            area: Rect::default(),
            inside: Vec::new(),
            bar: None,
            beside: Hit::BesidePopup,
        }
    }

    /// Returns the targets of a dialog in `area` with `buttons`: a slip of the mouse beside it does not close it.
    pub fn dialog(area: Rect, buttons: Vec<Target<Button>>) -> Targets {
        let pressed = buttons.into_iter().filter_map(|button| {
            let action = button.what.action?;
            let what = Hit::Button(action);
            Some(Target {
                at: button.at,
                what,
            })
        });
        Targets {
            area,
            inside: pressed.collect(),
            bar: None,
            beside: Hit::Popup,
        }
    }
    /// Returns the targets of a list of `len` rows, which a click beside it closes.
    pub fn list(place: Place, len: usize) -> Targets {
        let rows = listed(place.list, place.first, len);
        Targets {
            area: place.area,
            inside: rows
                .map(|(at, row)| Target {
                    at,
                    what: Hit::PopupRow(row),
                })
                .collect(),
            bar: Scrollbar::of_list(place.area, place.list, place.first, len),
            beside: Hit::BesidePopup,
        }
    }
}

/// What `Copy` copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    /// A text, and what it is called.
    Text(String, String),
    /// There is nothing to copy.
    Nothing,
    /// What is selected in the pane below.
    Below,
}

/// One kind of popup. It finds its state on top of the stack.
pub trait PopupFeature: Sync {
    /// Draws it; returns where the cursor is to be.
    fn draw(
        &self,
        app: &App,
        popup: &Popup,
        theme: &Theme,
        screen: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position>;

    /// Returns what the mouse can press.
    fn targets(&self, app: &App, popup: &Popup) -> Targets;

    /// Scrolls it, or moves its selection.
    fn scroll(&self, _app: &mut App, _by: Scroll) {}

    /// Selects a row.
    fn select(&self, _app: &mut App, _row: usize) {}

    /// Goes to where its scrollbar was pulled: `first` is the first line in view, `row` the row to select.
    fn jump(&self, app: &mut App, _first: usize, row: usize) {
        self.select(app, row);
    }

    /// Returns what a second click on the selected row does.
    fn click_again(&self) -> Action {
        Action::Accept
    }

    /// Shows what the selected row is about.
    fn open(&self, _app: &mut App) {}

    /// Starts to search or to filter. Returns whether it can.
    fn search(&self, _app: &mut App) -> bool {
        false
    }

    /// Takes what is selected or written; returns an action to carry out then.
    fn accept(&self, _app: &mut App, _out: &mut Vec<Effect>) -> Option<Action> {
        None
    }

    /// Returns what `Copy` copies.
    fn copied(&self, _app: &App) -> Copied {
        Copied::Below
    }

    /// Returns the buttons of a popup that asks: what they do, and their words.
    fn buttons(&self, _app: &App, _popup: &Popup) -> &'static [(Action, &'static str)] {
        &[]
    }

    /// Returns what the tour says of it: what it shows. Its keys are in the hint line.
    fn tip(&self, app: &App, popup: &Popup) -> String;
}
