//! The dialog that shows what an MCP server runs, and approves exactly that.

use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::open as open_popup;
use crate::ui::popups::confirm::{Confirmation, Question};
use crate::ui::popups::servers::ServersPopup;

/// An MCP server for the user's review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReview {
    pub server: String,
    /// What the server is and runs, whole.
    pub runs: String,
    /// What the server can do once it is approved.
    pub effect: String,
}

/// The question whether to approve an MCP server.
#[derive(Debug)]
pub struct ApproveServer(ServerReview);

impl App {
    /// Opens the dialog that asks for approval of a server, unless the list of servers is no longer the topmost popup or
    /// the window is too small for the whole text. Keys are ignored for the time [`SETTLE`](crate::ui::SETTLE) after
    /// `now`, so that a key pressed before the dialog was visible does not approve anything. Returns whether the dialog was
    /// opened; otherwise the user may still see the dialog of an earlier review.
    #[must_use]
    pub fn show_server_review(&mut self, review: ServerReview, now: Timestamp) -> bool {
        if self.popups.top::<ServersPopup>().is_none() {
            return false;
        }
        let dialog = Confirmation(ApproveServer(review));
        if let Some(why) = dialog.0.why_outdated(self) {
            self.warn(why);
            return false;
        }
        open_popup(self, dialog);
        self.keys.guard.moved_at = Some(now);
        self.dirty = true;
        true
    }
}

impl Question for ApproveServer {
    const CONFIRM: &'static str = "approve";

    fn title(&self) -> &'static str {
        "Approve"
    }

    fn text(&self, _app: &App) -> String {
        let ServerReview { runs, effect, .. } = &self.0;
        format!(
            "{runs}\n\nIt {effect}.\n\nApprove exactly this for this directory? The approval ends when one of its files changes."
        )
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        // The window may have become smaller since the dialog was opened.
        if let Some(why) = self.why_outdated(app) {
            return app.warn(why);
        }
        let server = self.0.server.clone();
        app.say(format!("Approving {server}."));
        out.push(Effect::ApproveServer(server));
    }

    fn why_outdated(&self, app: &App) -> Option<String> {
        let server = &self.0.server;
        (!super::fits(self, app)).then(|| {
            format!(
                "The window is too small for all that {server} runs. Make it larger, or run in a shell: crewdeck mcp approve {server}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::{apply_events, busy, picture, press, servers};
    use crate::ui::{Msg, SETTLE, UiState, keys, update};

    /// Presses a key after a pause.
    fn key(state: &mut UiState, after: Duration, name: &str) -> Vec<Effect> {
        let at = state.now.after(after);
        update(state, Msg::Key(keys::parse(name).unwrap(), at))
    }

    fn review(runs: &str) -> ServerReview {
        ServerReview {
            server: "web".into(),
            runs: runs.into(),
            effect: "runs a program with your rights, outside of the sandbox".into(),
        }
    }

    fn open_servers(height: u16) -> UiState {
        let mut state = busy(100, height);
        apply_events(&mut state, vec![servers()]);
        press(&mut state, "\"/mcp\" enter");
        state
    }

    #[test]
    fn server_is_approved_only_after_its_content_was_shown() {
        let mut state = open_servers(35);
        assert_eq!(press(&mut state, "a"), [], "git needs no approval");
        let asked = [Effect::ReviewServer("web".into())];
        assert_eq!(press(&mut state, "G a"), asked);
        let now = state.now;
        let first = review("Server web of .mcp.json: sh ./run.sh");
        assert!(state.show_server_review(first, now));
        let shown = picture(&state);
        for part in ["sh ./run.sh", "with your rights", "approve"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        // The answer to a second press of the key does not replace what the user is reading.
        let second = review("Server web of .mcp.json: sh ./other.sh");
        assert!(!state.show_server_review(second, now));
        assert!(!picture(&state).contains("other.sh"));
        // A key that was meant for the list approves nothing.
        assert_eq!(key(&mut state, SETTLE / 4, "y"), []);
        let approved = [Effect::ApproveServer("web".into())];
        assert_eq!(key(&mut state, SETTLE, "y"), approved);
    }

    #[test]
    fn server_that_is_not_wholly_visible_is_not_approved() {
        let mut state = open_servers(35);
        let long = format!("Server web of .mcp.json: sh -c '{}'", "true; ".repeat(500));
        let now = state.now;
        assert!(!state.show_server_review(review(&long), now));
        let shown = picture(&state);
        assert!(shown.contains("The window is too small"), "{shown}");
        assert_eq!(key(&mut state, SETTLE, "y"), []);
        let short = review("Server web of .mcp.json: sh ./run.sh");
        assert!(state.show_server_review(short, now));
        update(&mut state, Msg::Resize(100, 8));
        assert_eq!(key(&mut state, SETTLE * 2, "y"), []);
    }

    #[test]
    fn late_answer_opens_nothing_elsewhere() {
        let mut state = open_servers(35);
        press(&mut state, "esc");
        let now = state.now;
        assert!(!state.show_server_review(review("Server web"), now));
        assert!(state.popups.is_empty());
    }
}
