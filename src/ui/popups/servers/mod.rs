//! The popup with the MCP servers: the state of each server, and the end of the log of the selected one.

mod view;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::mcp::{ServerState, ServerStatus};
use crate::protocol::{Command, ServerAction};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Copied, Next, Popup, Targets, TextCursor, open_once};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::servers::view::{draw, place};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{PAGE, step};

#[derive(Debug, Default)]
pub struct ServersPopup {
    /// The index of the selected row. If the list has become shorter than that, its last row counts as selected.
    row: usize,
}

pub fn open(app: &mut App) {
    open_once(app, ServersPopup::default());
}

impl ServersPopup {
    fn selected_server<'a>(&self, app: &'a App) -> Option<&'a ServerStatus> {
        let all = app.model.servers.all();
        all.get(self.row).or(all.last())
    }

    fn send(&self, app: &App, action: ServerAction, out: &mut Vec<Effect>) {
        if let Some(server) = self.selected_server(app) {
            let name = server.name.clone();
            out.push(Effect::Command(Command::Server { name, action }));
        }
    }

    fn toggle(&self, app: &mut App, out: &mut Vec<Effect>) {
        let Some(server) = self.selected_server(app) else {
            return;
        };
        let (action, what) = match server.state {
            ServerState::Disabled => (ServerAction::Enable, "Starting"),
            _ => (ServerAction::Disable, "Disabling"),
        };
        let text = format!("{what} {}.", server.name);
        self.send(app, action, out);
        app.say(text);
    }
}

impl Popup for ServersPopup {
    fn context(&self) -> Context {
        Context::Servers
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        draw(app, self.row, theme, screen, buffer);
        None
    }

    fn targets(&self, app: &App) -> Targets {
        let len = app.model.servers.all().len();
        Targets::list(place(app.size, self.row, len), len)
    }

    fn tip(&self, _app: &App) -> String {
        "The MCP servers, which all agents share".into()
    }

    fn act(&mut self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => {
                let len = app.model.servers.all().len();
                self.row = step(self.row, len, by, PAGE);
            }
            Action::Open => self.send(app, ServerAction::Show, out),
            Action::Approve => {
                if let Some(server) = self.selected_server(app).filter(|s| can_approve(app, s)) {
                    out.push(Effect::ReviewServer(server.name.clone()));
                }
            }
            Action::RestartServer => {
                if let Some(server) = self.selected_server(app) {
                    let text = format!("Restarting {}.", server.name);
                    self.send(app, ServerAction::Restart, out);
                    app.say(text);
                }
            }
            Action::ToggleServer => self.toggle(app, out),
            Action::LogIn => self.send(app, ServerAction::LogIn, out),
            Action::LogOut => {
                let selected = self.selected_server(app);
                match selected.filter(|server| !server.offers_logout()) {
                    Some(server) => {
                        let name = &server.name;
                        let text = if server.state == ServerState::NeedsLogin {
                            format!("You are not logged in to the MCP server {name}.")
                        } else {
                            format!(
                                "The MCP server {name} has no login: only servers over HTTP have logins."
                            )
                        };
                        app.say(text);
                    }
                    None => self.send(app, ServerAction::LogOut, out),
                }
            }
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.row = row;
    }

    fn click_again(&self) -> Action {
        Action::Open
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        match action {
            Action::Open
            | Action::Copy
            | Action::Move(_)
            | Action::RestartServer
            | Action::ToggleServer => Some(!app.model.servers.all().is_empty()),
            Action::Approve => Some(
                self.selected_server(app)
                    .is_some_and(|server| can_approve(app, server)),
            ),
            Action::LogIn => Some(
                self.selected_server(app)
                    .is_some_and(ServerStatus::offers_login),
            ),
            Action::LogOut => Some(
                self.selected_server(app)
                    .is_some_and(ServerStatus::offers_logout),
            ),
            _ => None,
        }
    }

    fn clipboard_text(&self, app: &App) -> Copied {
        let Some(server) = self.selected_server(app) else {
            return Copied::Below;
        };
        match app.model.servers.log_of(&server.name) {
            None | Some("") => Copied::Nothing,
            Some(log) => Copied::Text(format!("the log of {}", server.name), log.into()),
        }
    }
}

/// Returns whether the user can approve `server` here. A viewer does not run the crew, so it starts no servers.
fn can_approve(app: &App, server: &ServerStatus) -> bool {
    server.state == ServerState::WaitsForApproval && app.holds_crew()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::event::{CrewEvent, EventKind};
    use crate::ui::UiState;
    use crate::ui::fixture::{apply_events, busy, picture, press, servers};

    fn open_servers() -> UiState {
        let mut state = busy(120, 35);
        apply_events(&mut state, vec![servers()]);
        press(&mut state, "\"/mcp\" enter");
        state
    }

    fn sent(name: &str, action: ServerAction) -> Vec<Effect> {
        let name = name.into();
        vec![Effect::Command(Command::Server { name, action })]
    }

    #[test]
    fn keys_act_on_the_selected_server() {
        let mut state = open_servers();
        for (keys, expected) in [
            ("enter", sent("git", ServerAction::Show)),
            ("r", sent("git", ServerAction::Restart)),
            ("d", sent("git", ServerAction::Disable)),
            ("j L", sent("docs", ServerAction::LogIn)),
            ("j r", sent("memory", ServerAction::Restart)),
            ("G d", sent("web", ServerAction::Disable)),
            ("g o", sent("git", ServerAction::Show)),
        ] {
            assert_eq!(press(&mut state, keys), expected, "{keys}");
        }
    }

    #[test]
    fn only_servers_over_http_offer_a_logout() {
        let mut state = open_servers();
        assert_eq!(press(&mut state, "O"), []);
        let EventKind::Crew(CrewEvent::ServersChanged { mut servers }) = servers() else {
            panic!("the fixture has changed")
        };
        servers[0].target = "https://docs.example/mcp".into();
        let mut without_login = servers.clone();
        without_login[0].state = ServerState::NeedsLogin;
        let servers_changed = |servers| EventKind::Crew(CrewEvent::ServersChanged { servers });
        apply_events(&mut state, vec![servers_changed(without_login)]);
        assert_eq!(press(&mut state, "O"), []);
        assert!(picture(&state).contains("You are not logged in to the MCP server git."));
        let changed = EventKind::Crew(CrewEvent::ServersChanged { servers });
        apply_events(&mut state, vec![changed]);
        assert_eq!(press(&mut state, "O"), sent("git", ServerAction::LogOut));
    }

    #[test]
    fn disabled_server_is_enabled_with_the_same_key() {
        let mut state = open_servers();
        let EventKind::Crew(CrewEvent::ServersChanged { mut servers }) = servers() else {
            panic!("the fixture has changed")
        };
        servers[0].state = ServerState::Disabled;
        let changed = EventKind::Crew(CrewEvent::ServersChanged { servers });
        apply_events(&mut state, vec![changed]);
        assert_eq!(press(&mut state, "d"), sent("git", ServerAction::Enable));
    }
}
