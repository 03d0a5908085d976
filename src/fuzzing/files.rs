//! The state files and the settings, as other programs or a hostile repository may have written them.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Held, Lines, bounded, hold, seen};
use crate::config::Settings;
use crate::domain::ids::{Name, TaskId};
use crate::domain::skill::{BODY_MAX, SkillFile};
use crate::domain::task::Task;
use crate::domain::team::Team;
use crate::domain::worktree::{WorktreeIndex, WorktreeName};
use crate::store::inbox::parse as letters_of;
use crate::store::rewritten;
use crate::store::settle::{Found, parsed};

/// `.tasks/task_N.json`.
pub fn task(bytes: &[u8]) -> Held {
    kept::<Task>("the task", bytes).map(|_| ())
}

/// `.team/config.json`.
pub fn roster(bytes: &[u8]) -> Held {
    let Some(team) = kept::<Team>("the roster", bytes)? else {
        return Ok(());
    };
    let wanted = String::from_utf8_lossy(bytes);
    seen(
        "the refusal",
        &team.unknown(&wanted).to_string(),
        Lines::One,
    )
}

/// `.worktrees/index.json`.
pub fn worktrees(bytes: &[u8]) -> Held {
    let Some(index) = kept::<WorktreeIndex>("the index", bytes)? else {
        return Ok(());
    };
    let standing = index.standing();
    hold(standing.len() <= index.worktrees.len(), || {
        "more stand than there are".into()
    })?;
    for tree in standing {
        let found = index.find(&tree.name).map_err(|e| e.to_string())?;
        hold(found.name.same(&tree.name), || "found another".into())?;
        if let Some(id) = tree.task_id {
            hold(index.of_task(id).is_some(), || format!("{id} has none"))?;
        }
    }
    index.of_task(TaskId(1));
    if let Ok(name) = WorktreeName::new("task-1") {
        let mut changed = index.clone();
        // It may well not be there.
        let _ = changed.change(&name, |_| {});
    }
    for notice in index.notices() {
        bounded("a notice", notice.len(), 0, 1)?;
    }
    Ok(())
}

/// A JSON state file: what is understood is written back with nothing lost, and read again as the same.
fn kept<T: DeserializeOwned + Serialize + PartialEq>(
    what: &str,
    bytes: &[u8],
) -> Result<Option<T>, String> {
    let found = match parsed::<T>(bytes) {
        Ok(Found::Whole(found)) => found,
        Ok(Found::Foreign(why) | Found::Damaged(why)) | Err(why) => {
            bounded("the complaint", why.len(), bytes.len(), 6)?;
            return Ok(None);
        }
        Ok(Found::Gone) => return Ok(None),
    };
    let text = serde_json::to_vec(&found).map_err(|e| format!("{what} can not be written: {e}"))?;
    bounded(what, text.len(), bytes.len(), 6)?;
    match parsed::<T>(&text) {
        Ok(Found::Whole(again)) => hold(again == found, || {
            format!("{what} is another when read again")
        })?,
        Ok(_) | Err(_) => return Err(format!("{what} can not be read again")),
    }
    Ok(Some(found))
}

/// The lines of an inbox: at any cut the same letters, in the same order, at the same places.
pub fn letters(bytes: &[u8]) -> Held {
    let owner = Name::lead();
    let whole = letters_of(bytes, 0, &owner);
    hold(whole.used <= bytes.len(), || {
        "used more than there is".into()
    })?;
    hold(whole.ends.len() == whole.letters.len(), || {
        "not one end for each letter".into()
    })?;
    hold(whole.ends.is_sorted(), || format!("ends: {:?}", whole.ends))?;
    let bad: usize = whole.bad.iter().map(String::len).sum();
    bounded("the bad lines", bad, bytes.len(), 3)?;
    for letter in &whole.letters {
        hold(!letter.id.0.is_empty() && !letter.to.is_empty(), || {
            "a letter without id or recipient".into()
        })?;
        let line = serde_json::to_vec(letter).map_err(|e| e.to_string())?;
        let again = letters_of(&line, 0, &owner);
        hold(again.letters.first() == Some(letter), || {
            format!("a letter is another when read again: {letter:?}")
        })?;
    }
    // What was read line by line, as somebody who looks while it grows.
    let (mut at, mut count) = (0, 0);
    for end in bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(at, _)| at + 1)
    {
        let lines = letters_of(&bytes[at..end], at as u64, &owner);
        at += lines.used;
        count += lines.letters.len();
        if count > whole.letters.len() {
            break;
        }
    }
    if at == whole.used {
        hold(count == whole.letters.len(), || {
            format!(
                "{count} letters line by line, {} at once",
                whole.letters.len()
            )
        })?;
    }
    Ok(())
}

/// A SKILL.md, and the name of its folder in the first line.
pub fn skill(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    let folder = text.lines().next().unwrap_or_default();
    match SkillFile::parse(&text, folder) {
        Ok(file) => {
            seen("the name", &file.name, Lines::One)?;
            seen("the description", &file.description, Lines::One)?;
            for tag in &file.tags {
                seen("a tag", tag, Lines::One)?;
            }
            // Tabs are kept: in a Makefile they are not blanks.
            seen("the text", &file.body.replace('\t', " "), Lines::Many)?;
            hold(file.body.len() <= BODY_MAX + 64, || {
                format!("a text of {} bytes", file.body.len())
            })
        }
        Err(error) => {
            let said = error.to_string();
            seen("the refusal", &said, Lines::One)?;
            bounded("the refusal", said.len(), 0, 1)
        }
    }
}

/// `config.toml`.
pub fn settings(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    match Settings::parse(&text, Path::new("config.toml")) {
        Ok(settings) => {
            let both = settings.clone().overlaid(Settings::default());
            // A price may be NaN, which is not even equal to itself.
            let is_same = format!("{both:?}") == format!("{settings:?}");
            hold(is_same, || "nothing over it changes it".into())?;
            settings.tool_timeout();
            settings.idle_timeout();
            Ok(())
        }
        Err(error) => bounded("the refusal", error.to_string().len(), bytes.len(), 12),
    }
}

/// The record of changes in the board's lock file.
pub fn record(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    let Some(first) = rewritten(&text) else {
        return Ok(());
    };
    hold(first.len() <= 4096, || {
        format!("a record of {} bytes", first.len())
    })?;
    // The last number of all is taken for no record: everybody looks at everything, and begins a new one.
    let is_last = first.contains(&u64::MAX.to_string());
    hold(is_last || rewritten(&first).is_some(), || {
        format!("no record any more: {first:?}")
    })
}
