//! The picker with the session permissions, which the whole team has until crewdeck ends. The user can revoke each of
//! them.

use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::picker::{Choices, Picker, PickerRow};

/// The content of the picker: the session permissions. Choosing a permission revokes it.
#[derive(Debug)]
pub struct PermissionChoices;

pub fn open(app: &mut App) {
    open_popup(app, Picker::new(PermissionChoices, 0));
}

impl Choices for PermissionChoices {
    /// The number that identifies the permission in the session.
    type Item = u64;

    const TIP: &'static str = "Permissions of the whole team";

    fn title(&self, app: &App) -> String {
        let key = app.prefs.keymap.key(Context::Picker, Action::Accept);
        format!("Allowed until crewdeck ends: {key} revokes")
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<u64>> {
        let rows = app.model.rules.iter().map(|rule| {
            let words = one_line(&rule.scope.to_string());
            PickerRow::new(words, rule.asked_by.to_string(), rule.number)
        });
        rows.collect()
    }

    fn choose(&mut self, _app: &mut App, rule: u64, out: &mut Vec<Effect>) -> Next {
        out.push(Effect::Command(Command::RevokePermission { rule }));
        Next::Close
    }

    fn none_matches(&self, app: &App, _typed: &str) -> String {
        if !app.model.rules.is_empty() {
            return "No matches.".into();
        }
        let context = Context::In(Pane::Needs);
        let key = app.prefs.keymap.key(context, Action::ApproveForTeam);
        format!("No permissions yet. {key} on a permission request adds one.")
    }
}
