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
use crate::ui::popups::picker::{AROUND_ROWS, Choices, Picker, PickerRow, height};
use crate::ui::text;
use crate::ui::text::wrap;
use crate::ui::widgets::area::bottom_centered;

/// The content of the picker: the scopes that a permission request offers, from which the user chooses one.
#[derive(Debug)]
pub struct ScopeChoices(RequestId);

impl ScopeChoices {
    /// Creates the picker for the permission request `id`, with the first scope selected.
    pub fn picker(id: RequestId) -> Picker<ScopeChoices> {
        Picker::new(ScopeChoices(id), 0)
    }

    fn scopes<'a>(&self, app: &'a App) -> &'a [PermissionScope] {
        let request = app.model.requests.get(&self.0);
        let call = request.and_then(|request| request.call.as_ref());
        call.map_or(&[], |call| call.scopes.as_slice())
    }
}

/// Describes a scope on one line.
fn words(scope: &PermissionScope) -> String {
    match scope {
        // On a small screen the picker covers the card of the request, so the row repeats the command.
        PermissionScope::Exact { command } => {
            format!("this exact command: {}", one_line(command))
        }
        PermissionScope::Begins { .. }
        | PermissionScope::Server { .. }
        | PermissionScope::ServerTool { .. }
        | PermissionScope::ServerFolder { .. }
        | PermissionScope::ServerCall { .. } => one_line(&scope.to_string()),
    }
}

impl Choices for ScopeChoices {
    type Item = PermissionScope;

    const TIP: &'static str = "Choose what the whole team may do without asking";

    fn title(&self, _app: &App) -> String {
        "Allow for the whole team until crewdeck ends".into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<PermissionScope>> {
        let scopes = self.scopes(app).iter();
        scopes
            .map(|scope| PickerRow::new(words(scope), String::new(), scope.clone()))
            .collect()
    }

    /// Returns the whole text of a scope for which its row is too narrow, so that the user sees everything that the
    /// permission allows.
    fn details(&self, scope: &PermissionScope, columns: usize) -> Vec<String> {
        let words = words(scope);
        // The mark of the selected row takes two columns, and a blank follows the text.
        if text::width(&words) + 3 <= columns {
            return Vec::new();
        }
        let lines = wrap(&words, columns);
        [String::new()].into_iter().chain(lines).collect()
    }

    fn accept_label(&self, _scope: &PermissionScope) -> Option<&'static str> {
        Some("allow")
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

    /// Returns the whole width at the bottom of the screen, so that the card of the request above the picker stays
    /// readable. The height is the same for every selected scope.
    fn area(&self, app: &App, screen: Rect) -> Rect {
        let columns = usize::from(screen.width.saturating_sub(4));
        let scopes = self.scopes(app);
        let details = scopes.iter().map(|s| self.details(s, columns).len()).max();
        let rows = scopes.len().max(1) + details.unwrap_or(0);
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        let wanted = rows.saturating_add(AROUND_ROWS);
        bottom_centered(screen, screen.width, height(screen, wanted))
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
