//! What the user is asked to approve: a server or hook as the approval page and `crewdeck trust` show it.

use crate::config::approvals::{ApprovedHook, SettingsDecision};

// The texts that tell the user what an approved hook that has changed or is missing does until the user decides.
pub(super) const HAS_CHANGED: &str = "was approved, but has changed since then. Until you approve or ignore the change, it blocks what it guards. After approval, it runs with your rights, outside of the sandbox";
pub(super) const IS_MISSING: &str = "was approved, but its file does not declare it any more. Until you approve or ignore this change, it blocks what it guarded";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Server,
    Hook,
}

/// What has happened to an approved hook since its approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookChange {
    /// The declaring file or a file that the hook runs has changed.
    Changed,
    /// The declaring file does not declare the hook any more.
    Missing,
}

/// A server or hook that runs only after approval: one of the project, or the user's own server that would run files of
/// the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    pub kind: ItemKind,
    /// The name of the server, or the event, matcher and permission rule of the hook.
    pub name: String,
    /// The file that declares the server or hook; relative to the project directory if it is in the project.
    pub file: String,
    /// The position in the declaring file, counted from 0: of a server among the file's valid servers or among the
    /// role's servers, of a hook among the file's hooks. For a hook that is missing in its file, a number near
    /// [`usize::MAX`] that no declared hook has.
    pub index: usize,
    /// The command with its environment variables, or the URL with its headers, on one line and without control
    /// characters.
    pub runs: String,
    /// A text that tells the user what the server or hook can do once it is approved.
    pub effect: &'static str,
    /// Whether the user declares the server. False if the project declares the server or hook.
    pub is_own: bool,
    /// For the user's own server, a list of the first files of the project that the server would use, as text. Empty if
    /// there are none, and for a server or hook that the project declares.
    pub own_uses: String,
    /// The hash of the project directory, the content of the declaring file (for the user's own server, its command
    /// line), the item's position and the content of the files that its command names. For a hook that is missing in its
    /// file, its `ApprovedHook::identity` instead. `Err`: why the item cannot be approved.
    pub digest: Result<String, String>,
    /// The user's decision about exactly this content; `None` if there is none, and for a hook that is missing in its
    /// file.
    pub decision: Option<SettingsDecision>,
    /// What an approval stores in addition to the digest; `Some` only for a hook that can prevent something.
    pub hook: Option<ApprovedHook>,
    /// What has happened to a hook that the user approved earlier, if the user has not decided about that yet; else
    /// `None`.
    pub change: Option<HookChange>,
}

impl TrustItem {
    /// Returns the kind, the name and the declaring file of the server or hook, such as `Server git of .mcp.json`.
    pub fn title(&self) -> String {
        match self.kind {
            ItemKind::Server => format!("Server {} of {}", self.name, self.file),
            ItemKind::Hook => format!("Hook {} of {}", self.name, self.file),
        }
    }

    /// Returns whether the item waits for the user's decision. A server or hook that can be approved waits for a
    /// decision about its content. A hook that is missing in its file waits for a decision about its removal.
    pub fn is_waiting(&self) -> bool {
        self.decision.is_none() && self.digest.is_ok()
    }

    /// Returns a sentence, without its full stop, that names a command for the user. The command approves the server or
    /// hook. For a hook that is missing in its file, the command confirms its removal.
    pub(super) fn remedy(&self) -> String {
        match self.kind {
            ItemKind::Server => format!(
                "To review and approve it: crewdeck mcp approve {}",
                self.name
            ),
            ItemKind::Hook if self.change == Some(HookChange::Missing) => {
                "To confirm its removal: crewdeck trust".into()
            }
            ItemKind::Hook => "To review and approve it: crewdeck trust".into(),
        }
    }
}
