//! An earlier session: which one is meant, and what the screen showed of it.

use std::path::Path;

use anyhow::{Result, bail};

use crate::domain::stamp::Stamp;
use crate::protocol::Event;
use crate::store::{self, Journal, StoreError};
use crate::ui::{UiState, recall};

/// Fewest characters of an id that name a session.
const PREFIX_MIN: usize = 4;

/// The session that `wish` names by its id or the beginning of it; the newest one where it is empty.
///
/// # Errors
/// When there is none, or more than one; says which there are.
pub fn choose(root: &Path, wish: &str) -> Result<String> {
    let all = match store::sessions(root) {
        Ok(all) => all,
        Err(StoreError::File { why, .. }) if why.kind() == std::io::ErrorKind::NotFound => {
            Vec::new()
        }
        Err(error) => return Err(error.into()),
    };
    let Some(newest) = all.last() else {
        bail!(
            "there is no session here yet: crewdeck begins one, and so does crewdeck run \"what you want done\""
        );
    };
    if wish.is_empty() {
        return Ok(newest.clone());
    }
    if wish.len() < PREFIX_MIN {
        bail!(
            "'{wish}' is too short for the id of a session: write {PREFIX_MIN} characters of it, the newest is {newest}"
        );
    }
    // An id is written in small letters.
    let wish = &wish.to_lowercase();
    let fits: Vec<&String> = all.iter().filter(|id| id.starts_with(wish)).collect();
    match fits.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!("there is no session {wish} here; the newest is {newest}"),
        _ => bail!(
            "{} sessions begin with {wish}: write more of the id",
            fits.len()
        ),
    }
}

/// Whether `text` can be the id of a session, or the beginning of one.
pub fn is_id(text: &str) -> bool {
    (PREFIX_MIN..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Shows what `session` had on screen. What was under way then is over.
///
/// # Errors
/// When its journal can not be read.
pub fn show(root: &Path, session: &str, now: Stamp, state: &mut UiState) -> Result<()> {
    recall(state, None, &recorded(root, session)?);
    state.end_of_session(now);
    Ok(())
}

/// The events of a session as its journal has them.
///
/// # Errors
/// When it can not be read.
pub fn recorded(root: &Path, session: &str) -> Result<Vec<Event>> {
    let lines = Journal::read(root, session)?;
    Ok(lines.iter().filter_map(|l| event(l)).collect())
}

/// The event in a line of a journal, for a screen that has not seen it happen. A line of another version says
/// nothing that this one could show.
pub fn event(line: &str) -> Option<Event> {
    let event: Event = serde_json::from_str(line).ok()?;
    (!event.kind.is_for_asker()).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::protocol::event::{Level, Setup};
    use crate::protocol::{Asked, EventKind};
    use crate::ui::Motion;
    use crate::ui::keymap::Context;
    use jiff::tz::TimeZone;
    use pretty_assertions::assert_eq;

    #[test]
    fn an_answer_to_another_window_opens_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "0190aaaa").unwrap();
        for kind in [
            EventKind::notice(Level::Info, "a notice"),
            EventKind::DiffShown {
                task: TaskId(1),
                stat: "a.rs | 1 +".into(),
                text: "+x".into(),
                untracked: Vec::new(),
            },
            EventKind::refused(Asked::ListModels, "no"),
        ] {
            let (seq, at) = (1, Stamp(1.0));
            let event = Event { seq, at, kind };
            journal
                .append(&serde_json::to_string(&event).unwrap())
                .unwrap();
        }
        let mut state = UiState::new(80, 24, TimeZone::UTC, Motion::Full);
        show(dir.path(), "0190aaaa", Stamp(2.0), &mut state).unwrap();
        assert_eq!(state.contexts(), [Context::Composer, Context::Everywhere]);
    }

    #[test]
    fn the_event_log_names_the_journal_that_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "0190aaaa").unwrap();
        let setup = Setup {
            session: "0190aaaa".into(),
            root: "~".into(),
            provider: "script".into(),
            model: "m".into(),
            scripted: true,
            git: false,
            window: None,
            tools: Vec::new(),
            earlier: false,
        };
        let (seq, at, kind) = (1, Stamp(1.0), EventKind::CrewReady(setup));
        let event = Event { seq, at, kind };
        journal
            .append(&serde_json::to_string(&event).unwrap())
            .unwrap();
        let mut state = UiState::new(80, 24, TimeZone::UTC, Motion::Full);
        show(dir.path(), "0190aaaa", Stamp(2.0), &mut state).unwrap();
        let path = state.journal_path().unwrap();
        assert!(dir.path().join(&path).is_file(), "{path}");
    }

    #[test]
    fn the_newest_or_the_one_that_is_named() {
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
        assert!(short.contains("write 4 characters"), "{short}");
        let other = choose(root, "0777").unwrap_err().to_string();
        assert!(other.contains("the newest is 0191cccc"), "{other}");
    }
}
