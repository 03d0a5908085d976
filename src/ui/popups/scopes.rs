//! The picker that opens when the user approves a permission request for the whole team. The user chooses which similar
//! calls all agents may then make without asking.

use ratatui::layout::Rect;

use crate::domain::ids::RequestId;
use crate::domain::permission::PermissionScope;
use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::Next;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::picker::{Choices, Picker, PickerRow, height, width};
use crate::ui::widgets::area::bottom_centered;

/// The content of the picker: the scopes that a permission request offers, from which the user chooses one.
#[derive(Debug)]
pub struct ScopeChoices(RequestId);

impl ScopeChoices {
    /// Creates the picker for the permission request `id`, with the first scope selected.
    pub fn picker(id: RequestId) -> Picker<ScopeChoices> {
        Picker::new(ScopeChoices(id), 0)
    }
}

impl Choices for ScopeChoices {
    type Item = PermissionScope;

    const TIP: &'static str = "Choose what the whole team may do without asking";

    fn title(&self, _app: &App) -> String {
        "Allow for the whole team until crewdeck ends".into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<PermissionScope>> {
        let request = app.model.requests.get(&self.0);
        let call = request.and_then(|request| request.call.as_ref());
        let scopes = call.map_or(&[][..], |c| c.scopes.as_slice()).iter();
        let words = |scope: &PermissionScope| match scope {
            // On a small screen the picker covers the card of the request, so the row repeats the command.
            PermissionScope::Exact { command } => {
                format!("this exact command: {}", one_line(command))
            }
            PermissionScope::Begins { .. }
            | PermissionScope::Server { .. }
            | PermissionScope::ServerTool { .. }
            | PermissionScope::ServerFolder { .. }
            | PermissionScope::ServerCall { .. } => one_line(&scope.to_string()),
        };
        scopes
            .map(|scope| PickerRow::new(words(scope), String::new(), scope.clone()))
            .collect()
    }

    fn choose(&mut self, app: &mut App, scope: PermissionScope, out: &mut Vec<Effect>) -> Next {
        let id = self.0.clone();
        if app.model.requests.get(&id).is_none() {
            app.say("This request is already closed.");
        } else if !app.model.requests.is_answered(&id) {
            app.ask_panes(PaneRequest::SelectRequest(id.clone()));
            app.model.requests.answer(&id);
            let request = id;
            out.push(Effect::Command(Command::Allow { request, scope }));
        }
        Next::Close
    }

    fn area(&self, _app: &App, screen: Rect) -> Rect {
        // The picker has few rows, so that the card of the request above it stays readable.
        bottom_centered(screen, width(screen), height(screen, 6))
    }

    fn dims(&self) -> bool {
        false
    }

    fn none_matches(&self, app: &App, _typed: &str) -> String {
        let key = app.prefs.keymap.key(Context::Picker, Action::Back);
        format!("No matches. {key} cancels.")
    }

    fn request(&self) -> Option<&RequestId> {
        Some(&self.0)
    }
}
