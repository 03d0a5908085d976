//! The popups, one folder or file for each. A popup that a key opens directly is registered in [`BY_NAME`].

pub(in crate::ui) mod buttons;
pub(in crate::ui) mod comment;
pub(in crate::ui) mod confirm;
pub(in crate::ui) mod copy_menu;
pub(in crate::ui) mod costs;
pub(in crate::ui) mod diff;
pub(in crate::ui) mod doctor;
pub(in crate::ui) mod event_log;
pub(in crate::ui) mod help;
pub(in crate::ui) mod history;
pub(in crate::ui) mod jobs;
pub(in crate::ui) mod memory;
pub(in crate::ui) mod models;
pub(in crate::ui) mod pager;
pub(in crate::ui) mod palette;
pub(in crate::ui) mod permissions;
pub(in crate::ui) mod picker;
pub(in crate::ui) mod problems;
pub(in crate::ui) mod rewind;
pub(in crate::ui) mod scopes;
pub(in crate::ui) mod servers;
pub(in crate::ui) mod sessions;
pub(in crate::ui) mod skills;
pub(in crate::ui) mod task_form;
pub(in crate::ui) mod task_page;
pub(in crate::ui) mod themes;
pub(in crate::ui) mod thread;
pub(in crate::ui) mod todo_item;

use crate::ui::app::App;

/// A popup that a key opens directly.
#[derive(Debug, Clone, Copy)]
pub struct NamedPopup {
    /// The name of the popup in [`Action::Popup`](crate::ui::keymap::Action::Popup) and in the settings.
    pub name: &'static str,
    pub open: fn(&mut App),
    /// Returns whether the popup has something to show. If not, the hint line omits the key of the popup.
    pub has_content: fn(&App) -> bool,
}

const fn named_popup(name: &'static str, open: fn(&mut App)) -> NamedPopup {
    NamedPopup {
        name,
        open,
        has_content: |_| true,
    }
}

impl NamedPopup {
    const fn shown_if(self, has_content: fn(&App) -> bool) -> NamedPopup {
        NamedPopup {
            has_content,
            ..self
        }
    }
}

/// The popups that a key opens directly, without data such as a task or a request. To make a popup available to a key,
/// add it to this table.
const BY_NAME: &[NamedPopup] = &[
    named_popup("costs", costs::open),
    named_popup("event_log", event_log::open),
    named_popup("jobs", jobs::open).shown_if(|app| jobs::is_any_running(app)),
    named_popup("problems", problems::open),
    named_popup("rules", permissions::open),
    named_popup("servers", servers::open),
    named_popup("skills", skills::open),
    named_popup("themes", themes::open),
];

pub fn by_name(name: &str) -> Option<&'static NamedPopup> {
    BY_NAME.iter().find(|popup| popup.name == name)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::keymap::{Action, SLASH, TABLE};

    #[test]
    fn every_named_popup_has_a_key_and_every_key_a_popup() {
        let bound = TABLE.iter().map(|binding| binding.action);
        let slash = SLASH.iter().map(|(_, action, _)| *action);
        let mut bound: Vec<&str> = bound
            .chain(slash)
            .filter_map(|action| match action {
                Action::Popup(name) => Some(name),
                _ => None,
            })
            .collect();
        bound.sort_unstable();
        bound.dedup();
        let mut named: Vec<&str> = BY_NAME.iter().map(|popup| popup.name).collect();
        named.sort_unstable();
        assert_eq!(bound, named);
    }
}
