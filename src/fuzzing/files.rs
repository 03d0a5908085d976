//! The fuzz targets of the state files, skills and settings, which other programs or a hostile repository may write.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CheckResult, check_size, check_visible, check_visible_lines, ensure};
use crate::config::Settings;
use crate::domain::ids::{Name, TaskId};
use crate::domain::skill::{BODY_MAX, SkillFile};
use crate::domain::task::Task;
use crate::domain::team::Team;
use crate::domain::worktree::{WorktreeIndex, WorktreeName};
use crate::store::image_metadata::{IMAGE_FORMATS, strip as strip_metadata};
use crate::store::inbox;
use crate::store::read_stable::{StableRead, parse};
use crate::store::rewrite_change_log;

/// Checks the parser of task files, `.tasks/task_N.json`: a valid file can be written and read again without loss.
pub fn task(bytes: &[u8]) -> CheckResult {
    round_trip::<Task>("the task", bytes).map(|_| ())
}

/// Checks the removal of metadata from images: the result is at most one byte longer than the input, and a second
/// removal changes nothing.
pub fn image(bytes: &[u8]) -> CheckResult {
    for format in IMAGE_FORMATS {
        let Some(stripped) = strip_metadata(bytes, format) else {
            continue;
        };
        ensure(stripped.len() <= bytes.len() + 1, || {
            format!(
                "{format:?}: {} bytes became {}",
                bytes.len(),
                stripped.len()
            )
        })?;
        let again = strip_metadata(&stripped, format);
        ensure(again.as_ref() == Some(&stripped), || {
            format!("{format:?}: something was left to remove")
        })?;
    }
    Ok(())
}

/// Checks the parser of the team roster, `.team/config.json`, and the error for an unknown member.
pub fn roster(bytes: &[u8]) -> CheckResult {
    let Some(team) = round_trip::<Team>("the roster", bytes)? else {
        return Ok(());
    };
    let unknown_name = String::from_utf8_lossy(bytes);
    check_visible("the error", &team.unknown(&unknown_name).to_string())
}

/// Checks the parser of the worktree registry, `.worktrees/index.json`, and the lookup of worktrees.
pub fn worktrees(bytes: &[u8]) -> CheckResult {
    let Some(index) = round_trip::<WorktreeIndex>("the index", bytes)? else {
        return Ok(());
    };
    let standing = index.existing_worktrees();
    ensure(standing.len() <= index.worktrees.len(), || {
        "more existing worktrees than entries".into()
    })?;
    for tree in standing {
        let found = index.find(&tree.name).map_err(|e| e.to_string())?;
        ensure(found.name.same(&tree.name), || {
            "find returned another worktree".into()
        })?;
        if let Some(id) = tree.task_id {
            ensure(index.of_task(id).is_some(), || {
                format!("no worktree found for task {id}")
            })?;
        }
    }
    index.of_task(TaskId(1));
    if let Ok(name) = WorktreeName::new("task-1") {
        let mut changed = index.clone();
        // The result is an error if the index has no such worktree.
        let _ = changed.change(&name, |_| {});
    }
    for notice in index.notices() {
        check_size("a notice", notice.len(), 0, 1)?;
    }
    Ok(())
}

/// Checks that a valid JSON state file can be written and read again without loss. Returns the parsed content, or
/// `None` if the file is invalid. `what` names the content in errors.
fn round_trip<T: DeserializeOwned + Serialize + PartialEq>(
    what: &str,
    bytes: &[u8],
) -> Result<Option<T>, String> {
    let found = match parse::<T>(bytes) {
        Ok(StableRead::Valid(found)) => found,
        Ok(StableRead::Unsupported(why) | StableRead::Damaged(why)) | Err(why) => {
            check_size("the error", why.len(), bytes.len(), 6)?;
            return Ok(None);
        }
        Ok(StableRead::Missing) => return Ok(None),
    };
    let text = serde_json::to_vec(&found).map_err(|e| format!("{what} cannot be written: {e}"))?;
    check_size(what, text.len(), bytes.len(), 6)?;
    match parse::<T>(&text) {
        Ok(StableRead::Valid(again)) => ensure(again == found, || {
            format!("{what} changed after writing and reading")
        })?,
        Ok(_) | Err(_) => return Err(format!("{what} cannot be read after writing")),
    }
    Ok(Some(found))
}

/// Checks the parser of inboxes: reading an inbox line by line returns the same messages as reading all lines at once.
pub fn messages(bytes: &[u8]) -> CheckResult {
    let owner = Name::lead();
    let parse_inbox = |bytes: &[u8], offset| inbox::parse(bytes, offset, &owner, &|_| true);
    let whole = parse_inbox(bytes, 0);
    ensure(whole.used <= bytes.len(), || {
        "the count of used bytes exceeds the input".into()
    })?;
    ensure(whole.ends.len() == whole.messages.len(), || {
        "the number of ends differs from the number of messages".into()
    })?;
    ensure(whole.ends.is_sorted(), || {
        format!("unsorted ends: {:?}", whole.ends)
    })?;
    let bad: usize = whole.bad.iter().map(String::len).sum();
    check_size("the bad lines", bad, bytes.len(), 3)?;
    for message in &whole.messages {
        ensure(!message.id.0.is_empty() && !message.to.is_empty(), || {
            "a message without id or recipient".into()
        })?;
        let line = serde_json::to_vec(message).map_err(|e| e.to_string())?;
        let again = parse_inbox(&line, 0);
        ensure(again.messages.first() == Some(message), || {
            format!("a message changed after writing and reading: {message:?}")
        })?;
    }
    // Read line by line, as for an inbox that grows.
    let (mut at, mut count) = (0, 0);
    for end in bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .map(|(at, _)| at + 1)
    {
        let lines = parse_inbox(&bytes[at..end], at as u64);
        at += lines.used;
        count += lines.messages.len();
        if count > whole.messages.len() {
            break;
        }
    }
    if at == whole.used {
        ensure(count == whole.messages.len(), || {
            format!(
                "{count} messages line by line, {} at once",
                whole.messages.len()
            )
        })?;
    }
    Ok(())
}

/// Checks the parser of SKILL.md files. The first line of the input also serves as the name of the skill's folder.
pub fn skill(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    let folder = text.lines().next().unwrap_or_default();
    match SkillFile::parse(&text, folder) {
        Ok(file) => {
            check_visible("the name", &file.name)?;
            check_visible("the description", &file.description)?;
            for tag in &file.tags {
                check_visible("a tag", tag)?;
            }
            // Skills may contain tabs, for example in a Makefile.
            check_visible_lines("the text", &file.body.replace('\t', " "))?;
            ensure(file.body.len() <= BODY_MAX + 64, || {
                format!("the text has {} bytes", file.body.len())
            })
        }
        Err(error) => {
            let message = error.to_string();
            check_visible("the error", &message)?;
            check_size("the error", message.len(), 0, 1)
        }
    }
}

/// Checks the parser of the settings file, `config.toml`: merging empty settings into valid ones changes nothing.
pub fn settings(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    match Settings::parse(&text, Path::new("config.toml")) {
        Ok(settings) => {
            let both = settings.clone().overlaid(Settings::default());
            ensure(both == settings, || {
                "merging empty settings changed something".into()
            })?;
            settings.tool_timeout();
            settings.idle_timeout();
            Ok(())
        }
        Err(error) => check_size("the error", error.to_string().len(), bytes.len(), 12),
    }
}

/// Checks the parser of the change log in the board's lock file: a valid log can be extended and parsed again.
pub fn record(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    let Some(first) = rewrite_change_log(&text) else {
        return Ok(());
    };
    ensure(first.len() <= 4096, || {
        format!("the record has {} bytes", first.len())
    })?;
    // A rewritten log with the highest possible change number is invalid. Readers then read all files and start a new
    // log.
    let is_last = first.contains(&u64::MAX.to_string());
    ensure(is_last || rewrite_change_log(&first).is_some(), || {
        format!("the rewritten record is invalid: {first:?}")
    })
}
