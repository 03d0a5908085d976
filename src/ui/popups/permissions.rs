//! The picker with what may run without asking: the session permissions, which the whole team has until crewdeck ends,
//! and the entries of the setting `allow`. The user can revoke each session permission; the entries are changed in
//! their settings file.

use crate::domain::permission::{PermissionScope, SettingsPermissions};
use crate::domain::text::one_line;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::picker::{Choices, Picker, PickerRow};

/// The beginning of an entry of `allow` that is a pattern of tools of MCP servers.
const SERVER_TOOLS: &str = "mcp__";

/// The content of the picker. Choosing a session permission revokes it; choosing an entry of the settings says where it
/// is changed.
#[derive(Debug)]
pub struct PermissionChoices;

/// A row of the picker: a session permission or an entry of the setting `allow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionItem {
    /// The number that identifies the permission in the session.
    Session(u64),
    /// The index of the entry in the setting `allow`, from 0. The row with the number of entries that are not listed
    /// has the index after the last listed entry.
    Settings(usize),
}

pub fn open(app: &mut App) {
    open_popup(app, Picker::new(PermissionChoices, 0));
}

/// Returns what the settings let run without asking; `None` if that is nothing.
fn settings(app: &App) -> Option<&SettingsPermissions> {
    let setup = app.model.setup.as_ref()?;
    Some(&setup.allowed).filter(|allowed| !allowed.is_empty())
}

/// Describes an entry of the setting `allow`, such as "every command that begins with `make`".
fn describe(entry: &str) -> String {
    if entry.starts_with(SERVER_TOOLS) {
        return format!("MCP tool calls that match `{entry}`");
    }
    let words = entry.to_string();
    PermissionScope::Begins { words }.to_string()
}

impl Choices for PermissionChoices {
    type Item = PermissionItem;

    const TIP: &'static str = "Permissions of the whole team";

    fn title(&self, app: &App) -> String {
        let title = match (settings(app), app.model.rules.is_empty()) {
            (None, _) => "Allowed until crewdeck ends",
            (Some(_), true) => "Allowed by the settings",
            (Some(_), false) => "Allowed without asking",
        };
        title.into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<PermissionItem>> {
        let rules = app.model.rules.iter().map(|rule| {
            let words = one_line(&rule.scope.to_string());
            let item = PermissionItem::Session(rule.number);
            PickerRow::new(words, rule.asked_by.to_string(), item)
        });
        let entries = settings(app).into_iter().flat_map(|allowed| {
            let file = one_line(&allowed.file);
            let described = allowed.entries.iter().map(|entry| describe(entry));
            let more = Some(allowed.left_out).filter(|count| *count > 0);
            let more = more.map(|count| format!("and {count} more"));
            let words = described.chain(more).enumerate();
            words.map(move |(at, words)| {
                let item = PermissionItem::Settings(at);
                PickerRow::new(one_line(&words), file.clone(), item)
            })
        });
        rules.chain(entries).collect()
    }

    fn choose(&mut self, app: &mut App, item: PermissionItem, out: &mut Vec<Effect>) -> Next {
        match item {
            PermissionItem::Session(rule) => {
                out.push(Effect::Command(Command::RevokePermission { rule }));
                Next::Close
            }
            PermissionItem::Settings(_) => {
                let file = settings(app).map_or("", |allowed| allowed.file.as_str());
                let text = format!(
                    "Not revoked: {} allows it. Delete the entry from allow in that file, then restart crewdeck.",
                    one_line(file)
                );
                app.say(text);
                Next::Stay
            }
        }
    }

    fn accept_label(&self, item: &PermissionItem) -> Option<&'static str> {
        matches!(item, PermissionItem::Session(_)).then_some("revoke")
    }

    fn none_matches(&self, app: &App, _typed: &str) -> String {
        if !app.model.rules.is_empty() || settings(app).is_some() {
            return "No matches.".into();
        }
        let context = Context::In(Pane::Needs);
        let key = app.prefs.keymap.key(context, Action::ApproveForTeam);
        format!("No permissions yet. {key} on a permission request adds one.")
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::permission::SessionPermission;
    use crate::domain::timestamp::Timestamp;
    use crate::protocol::event::SessionInfo;
    use crate::protocol::{CrewEvent, EventKind, TeamEvent};
    use crate::ui::UiState;
    use crate::ui::fixture::{apply_events, busy, picture, press, ready};

    /// Returns a screen on which the settings allow two entries.
    fn screen_with_settings(width: u16, height: u16) -> UiState {
        let mut state = busy(width, height);
        let EventKind::Crew(CrewEvent::Ready(setup)) = ready() else {
            panic!("the event is another one");
        };
        let entries = ["docker compose", "mcp__fs__write_file(path:docs/*)"].map(String::from);
        let allowed = SettingsPermissions::new(&entries, "~/.config/crewdeck/config.toml".into());
        let setup = SessionInfo { allowed, ..setup };
        apply_events(&mut state, vec![EventKind::Crew(CrewEvent::Ready(setup))]);
        state
    }

    #[test]
    fn entries_of_the_settings_are_shown_with_their_file_and_not_revoked() {
        for (width, height) in [(160, 45), (80, 24)] {
            let mut state = screen_with_settings(width, height);
            press(&mut state, "esc R");
            let text = picture(&state);
            assert!(text.contains("Allowed by the settings"), "{text}");
            assert!(text.contains("every command that begins with"), "{text}");
            assert!(text.contains("~/.config/crewdeck/config.toml"), "{text}");
            assert_eq!(press(&mut state, "enter"), []);
            assert_eq!(state.popups.len(), 1);
            let text = picture(&state);
            assert!(
                text.contains("Not revoked: ~/.config/crewdeck/config.toml"),
                "{text}"
            );
        }
    }

    #[test]
    fn session_permissions_come_before_those_of_the_settings() {
        let mut state = screen_with_settings(160, 45);
        let rule = SessionPermission {
            number: 4,
            scope: PermissionScope::Begins {
                words: "git push".into(),
            },
            by: Name::user(),
            asked_by: Name::lead(),
            since: Timestamp(1.0),
        };
        let rules = vec![rule];
        let changed = EventKind::Team(TeamEvent::PermissionsChanged { rules });
        apply_events(&mut state, vec![changed]);
        let items: Vec<_> = PermissionChoices
            .rows(&state)
            .into_iter()
            .map(|row| row.item)
            .collect();
        let settings = [0, 1].map(PermissionItem::Settings);
        assert_eq!(
            items,
            [&[PermissionItem::Session(4)][..], &settings].concat()
        );
        press(&mut state, "esc R");
        assert!(picture(&state).contains("Enter revoke"));
        let revoked = Effect::Command(Command::RevokePermission { rule: 4 });
        assert_eq!(press(&mut state, "enter"), [revoked]);
    }
}
