//! The stack of open popups, and the state that is kept after a popup is closed.

use std::any::Any;
use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{Popup, Targets, TextCursor};
use crate::ui::keymap::Context;
use crate::ui::theme::Theme;

/// Maximum number of popups that are open at the same time. Further popups are not opened.
pub const POPUPS_MAX: usize = 4;

/// State of a popup that is kept after it is closed, such as a draft. The next popup of the same type uses it.
pub trait PopupMemory: Any + Debug {
    /// Called when the crew will not answer the commands that were sent so far, for example because the crew has ended.
    fn answers_will_not_come(&mut self);
}

/// The open popups, the topmost last, at most [`POPUPS_MAX`].
#[derive(Debug, Default)]
pub struct PopupStack {
    open: Vec<Box<dyn Popup>>,
    /// The state that is kept after popups are closed, one value per type.
    kept: Vec<Box<dyn PopupMemory>>,
}

impl PopupStack {
    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Iterates over the popups, the topmost last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &dyn Popup> {
        self.open.iter().map(AsRef::as_ref)
    }

    pub fn last(&self) -> Option<&dyn Popup> {
        self.open.last().map(AsRef::as_ref)
    }

    pub fn last_mut(&mut self) -> Option<&mut dyn Popup> {
        Some(self.open.last_mut()?.as_mut())
    }

    /// Returns the topmost popup if it is of the type `P`.
    pub fn top<P: Popup>(&self) -> Option<&P> {
        (self.last()? as &dyn Any).downcast_ref()
    }

    pub fn top_mut<P: Popup>(&mut self) -> Option<&mut P> {
        (self.last_mut()? as &mut dyn Any).downcast_mut()
    }

    /// Returns the topmost popup of the type `P`, even if popups of other types are above it.
    pub fn find<P: Popup>(&self) -> Option<&P> {
        let mut all = self.iter().rev();
        all.find_map(|popup| (popup as &dyn Any).downcast_ref())
    }

    /// Like [`PopupStack::find`], but returns a mutable reference.
    pub fn find_mut<P: Popup>(&mut self) -> Option<&mut P> {
        let mut all = self.open.iter_mut().rev();
        all.find_map(|popup| (popup.as_mut() as &mut dyn Any).downcast_mut())
    }

    pub fn push(&mut self, popup: Box<dyn Popup>) {
        if self.open.len() < POPUPS_MAX {
            self.open.push(popup);
        }
    }

    /// Removes the topmost popup without saving its text. [`App::close_popup`] lets the popup save its text first.
    pub fn pop(&mut self) {
        self.open.pop();
    }

    pub fn clear(&mut self) {
        self.open.clear();
    }

    pub fn retain(&mut self, mut keeps: impl FnMut(&dyn Popup) -> bool) {
        self.open.retain(|popup| keeps(popup.as_ref()));
    }

    /// Removes all popups of the type `P`, even if others are above them.
    pub fn close_all<P: Popup>(&mut self) {
        self.retain(|popup| !(popup as &dyn Any).is::<P>());
    }

    /// Takes the topmost popup out of the stack while the popup handles an input: the popup can then change the `App`
    /// that contains the stack. A placeholder stays in its place. Returns the index and the popup; `None` if no popup
    /// is open.
    pub(super) fn lend(&mut self) -> Option<(usize, Box<dyn Popup>)> {
        let popup = self.open.last_mut()?;
        let lent = std::mem::replace(popup, Box::new(Placeholder));
        Some((self.open.len() - 1, lent))
    }

    /// Puts the popup that [`PopupStack::lend`] has returned back to its index `at`, in place of the placeholder.
    pub(super) fn put_back(&mut self, at: usize, popup: Box<dyn Popup>) {
        if let Some(place) = self.open.get_mut(at) {
            *place = popup;
        }
    }

    /// Calls [`PopupMemory::answers_will_not_come`] for all state that is kept after popups are closed.
    pub fn answers_will_not_come(&mut self) {
        for kept in &mut self.kept {
            kept.answers_will_not_come();
        }
    }

    /// Calls `change` with the state of the type `T` that is kept after popups are closed. If there is no such state
    /// yet, creates the default one.
    pub fn with_kept<T: PopupMemory + Default, R>(
        &mut self,
        change: impl FnOnce(&mut T) -> R,
    ) -> R {
        let mut kept = self.kept.iter().map(AsRef::as_ref);
        let at = kept.position(|kept| (kept as &dyn Any).is::<T>());
        let kept = at.map(|at| self.kept.swap_remove(at) as Box<dyn Any>);
        let kept = kept.and_then(|kept| kept.downcast::<T>().ok());
        let mut kept = kept.unwrap_or_default();
        let result = change(&mut kept);
        self.kept.push(kept);
        result
    }
}

/// Stands for a popup in the stack while the popup handles an input.
#[derive(Debug)]
pub(super) struct Placeholder;

impl Popup for Placeholder {
    fn context(&self) -> Context {
        Context::Everywhere
    }

    fn draw(&self, _: &App, _: &Theme, _: Rect, _: &mut Buffer) -> TextCursor {
        None
    }

    fn targets(&self, _: &App) -> Targets {
        Targets::none()
    }

    fn tip(&self, _: &App) -> String {
        String::new()
    }
}
