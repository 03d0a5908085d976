//! Finds earlier sessions, and shows their recorded events.

use std::path::Path;

use anyhow::{Result, bail};

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;
use crate::store::{self, Journal};
use crate::ui::{UiState, recall};

/// Minimum number of characters in an abbreviated session id.
const PREFIX_MIN: usize = 4;

/// Returns the id of the session whose id starts with `id`, ignoring upper and lower case. If `id` is empty, returns
/// the id of the newest session.
///
/// # Errors
/// Fails if no session or several sessions match, if `id` is not empty and has fewer than `PREFIX_MIN` bytes, or if the
/// sessions cannot be read.
pub fn choose(root: &Path, id: &str) -> Result<String> {
    let all = store::sessions(root)?;
    let Some(newest) = all.last() else {
        bail!(
            "there is no session here yet: start one with crewdeck or crewdeck run \"what you want done\""
        );
    };
    if id.is_empty() {
        return Ok(newest.clone());
    }
    if id.len() < PREFIX_MIN {
        bail!(
            "'{id}' is too short for a session id: give at least {PREFIX_MIN} characters; the newest is {newest}"
        );
    }
    // Ids are written in lower case.
    let prefix = &id.to_lowercase();
    let matches: Vec<&String> = all.iter().filter(|id| id.starts_with(prefix)).collect();
    match matches.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!("there is no session {prefix} here; the newest is {newest}"),
        _ => bail!(
            "{} sessions begin with {prefix}: give more characters of the id",
            matches.len()
        ),
    }
}

/// Returns whether `text` can be a session id or its beginning: `PREFIX_MIN` to 32 hexadecimal digits.
pub fn is_id(text: &str) -> bool {
    (PREFIX_MIN..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Shows the recorded events of `session` in `state`, and marks all activity as ended.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn show(root: &Path, session: &str, now: Timestamp, state: &mut UiState) -> Result<()> {
    recall(state, None, &read_events(root, session)?);
    state.end_of_session(now);
    Ok(())
}

/// Reads the events of a session from its journal.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn read_events(root: &Path, session: &str) -> Result<Vec<Event>> {
    let lines = Journal::read(root, session)?;
    Ok(lines.iter().filter_map(|l| event(l)).collect())
}

/// Parses a line of a journal. Returns `None` if this version cannot parse the line, or if the event is only a reply to
/// a command: command ids are valid only in the window that sent the command.
pub fn event(line: &str) -> Option<Event> {
    let event: Event = serde_json::from_str(line).ok()?;
    (!event.kind.is_command_reply()).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::domain::permission::SettingsPermissions;
    use crate::protocol::event::{NoticeLevel, SessionInfo};
    use crate::protocol::{BoardEvent, CommandId, CrewEvent, EventKind};
    use crate::ui::keymap::Context;
    use crate::ui::{Effect, Msg, update};
    use crossterm::event::KeyCode;
    use jiff::tz::TimeZone;
    use pretty_assertions::assert_eq;

    #[test]
    fn answers_to_another_window_open_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "0190aaaa").unwrap();
        for kind in [
            EventKind::notice(NoticeLevel::Info, "a notice"),
            EventKind::Board(BoardEvent::DiffShown {
                task: TaskId(1),
                stat: "a.rs | 1 +".into(),
                text: "+x".into(),
                untracked: Vec::new(),
            }),
            EventKind::rejection(CommandId(1), "no"),
        ] {
            let (seq, at) = (1, Timestamp(1.0));
            let event = Event { seq, at, kind };
            journal
                .append(&serde_json::to_string(&event).unwrap())
                .unwrap();
        }
        let mut state = UiState::new(80, 24, TimeZone::UTC);
        show(dir.path(), "0190aaaa", Timestamp(2.0), &mut state).unwrap();
        assert_eq!(
            state.contexts(),
            [
                Context::EmptyComposer,
                Context::Composer,
                Context::Editing,
                Context::Everywhere
            ]
        );
    }

    #[test]
    fn rejection_in_a_journal_is_not_taken_for_an_own_one() {
        let mut state = UiState::new(80, 24, TimeZone::UTC);
        let at = Timestamp(1.0);
        update(&mut state, Msg::Paste("hello".into()));
        let enter = Msg::Key(KeyCode::Enter.into(), at);
        let Some(Effect::Command(command)) = update(&mut state, enter).pop() else {
            panic!("nothing was sent");
        };
        let id = state.assign_id(command).id;
        let (seq, kind) = (1, EventKind::rejection(id, "no"));
        let own = Event { seq, at, kind };
        // The crew's own window has sent a command with the same id.
        assert_eq!(event(&serde_json::to_string(&own).unwrap()), None);
        assert_eq!(state.composer_text(), "");
        update(&mut state, Msg::Event(own));
        assert_eq!(state.composer_text(), "hello");
    }

    #[test]
    fn event_log_names_the_journal_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "0190aaaa").unwrap();
        let setup = SessionInfo {
            session: "0190aaaa".into(),
            root: "~".into(),
            provider: "script".into(),
            model: "m".into(),
            scripted: true,
            git: false,
            window: None,
            tools: Vec::new(),
            earlier: false,
            allowed: SettingsPermissions::default(),
            checks: false,
        };
        let (seq, at, kind) = (1, Timestamp(1.0), EventKind::Crew(CrewEvent::Ready(setup)));
        let event = Event { seq, at, kind };
        journal
            .append(&serde_json::to_string(&event).unwrap())
            .unwrap();
        let mut state = UiState::new(80, 24, TimeZone::UTC);
        show(dir.path(), "0190aaaa", Timestamp(2.0), &mut state).unwrap();
        let path = state.journal_path().unwrap();
        assert!(dir.path().join(&path).is_file(), "{path}");
    }

    #[test]
    fn session_is_chosen_by_prefix_or_newest() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let none = choose(root, "").unwrap_err().to_string();
        assert!(none.contains("no session here yet"), "{none}");
        let folder = root.join(".transcripts");
        std::fs::create_dir(&folder).unwrap();
        for id in ["0190aaaa", "0190abbb", "0191cccc"] {
            std::fs::write(folder.join(format!("{id}-lead.jsonl")), "").unwrap();
        }
        std::fs::write(folder.join("0199ffff-bob.jsonl"), "").unwrap();
        assert_eq!(choose(root, "").unwrap(), "0191cccc");
        assert_eq!(choose(root, "0190aa").unwrap(), "0190aaaa");
        let many = choose(root, "0190").unwrap_err().to_string();
        assert!(many.contains("2 sessions begin with"), "{many}");
        assert_eq!(choose(root, "0191CCCC").unwrap(), "0191cccc");
        let short = choose(root, "01").unwrap_err().to_string();
        assert!(short.contains("at least 4 characters"), "{short}");
        let other = choose(root, "0777").unwrap_err().to_string();
        assert!(other.contains("the newest is 0191cccc"), "{other}");
    }
}
