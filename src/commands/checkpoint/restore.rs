//! `crewdeck checkpoint restore`: restores the files of an agent, its conversation, or both.

use anyhow::{Result, bail};
use serde::Serialize;

use super::format;
use crate::cli::RestoreArgs;
use crate::commands::{CommandContext, CommandOutcome, CrewStatus};
use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, ConversationChange, RestoredFiles, RewindScope,
};
use crate::store::{CheckpointError, Checkpoints, RewoundLog, TranscriptFile, rewind_log};

/// What `crewdeck checkpoint restore` has changed.
#[derive(Serialize)]
pub struct RestoreReport {
    pub checkpoint: CheckpointId,
    /// What happened to the files; `None` if they were not restored.
    pub files: Option<RestoredFiles>,
    /// What happened to the conversation; `None` if it was not restored.
    pub conversation: Option<RestoredConversation>,
    /// Why the conversation was not restored although the user did not ask for the files only; else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conversation_error: String,
    /// The checkpoint that undoes the restore; `None` if there is none.
    pub undo: Option<CheckpointId>,
}

#[derive(Serialize)]
pub struct RestoredConversation {
    /// The file with the conversation before the restore, relative to the root.
    pub transcript: String,
    /// The number of messages that are left.
    pub messages: u64,
    /// What has changed: `unchanged`, or an object with the number of messages that were `removed`, or of those in the
    /// conversation that has `replaced` the present one.
    pub change: ConversationChange,
    /// The session of the conversation.
    pub session: String,
}

pub fn run(
    args: &RestoreArgs,
    checkpoints: &Checkpoints,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let checkpoint = checkpoints.find(args.id)?;
    let mut scope = scope(args, &checkpoint)?;
    // Held until the end, so that no crew starts meanwhile.
    let crew = (context.crew)()?;
    if let CrewStatus::Running(process) = &crew {
        check_beside_crew(scope, args.force, &checkpoint, process)?;
    }
    let mut report = RestoreReport {
        checkpoint: checkpoint.id,
        files: None,
        conversation: None,
        conversation_error: String::new(),
        undo: None,
    };
    if scope.includes_conversation() {
        let log = TranscriptFile::open(
            context.root,
            &checkpoint.content.session,
            &checkpoint.content.agent,
        );
        // Looked for before the files are changed.
        match log.find_place(&checkpoint) {
            Ok(_) => {}
            Err(error) if scope == RewindScope::Both => {
                report.conversation_error = error.to_string();
                scope = RewindScope::Files;
            }
            Err(error) => return Err(error.into()),
        }
    } else if !args.files {
        report.conversation_error = no_conversation(&checkpoint);
    }
    if scope.includes_files() {
        let files = checkpoints.restore(checkpoint.id, context.now)?;
        report.undo = files.undo;
        report.files = Some(files);
    } else {
        report.undo = match checkpoints.record_undo(&checkpoint, context.now) {
            // Files that no longer exist need not be recorded.
            Err(CheckpointError::NoFolder(_)) => None,
            recorded => recorded?,
        };
    }
    if scope.includes_conversation() {
        match rewind_log(context.root, &checkpoint) {
            Ok(log) => report.conversation = Some(conversation(log, &checkpoint)),
            // The files are restored, so the report must be printed.
            Err(error) if report.files.is_some() => report.conversation_error = error.to_string(),
            Err(error) => return Err(error.into()),
        }
    }
    drop(crew);
    context.print(&report, || format::report(&checkpoint, &report))?;
    Ok(CommandOutcome::Done)
}

/// Returns what to restore: what the options say; without options, all that the checkpoint contains.
///
/// # Errors
/// Fails if the options ask for a conversation that the checkpoint does not contain.
fn scope(args: &RestoreArgs, checkpoint: &Checkpoint) -> Result<RewindScope> {
    let has_conversation = checkpoint.content.has_conversation();
    if args.conversation && !has_conversation {
        bail!(
            "nothing was restored: {}; restore only the files: crewdeck checkpoint restore {} --files",
            no_conversation(checkpoint),
            checkpoint.id
        );
    }
    Ok(if args.conversation {
        RewindScope::Conversation
    } else if has_conversation && !args.files {
        RewindScope::Both
    } else {
        RewindScope::Files
    })
}

fn no_conversation(checkpoint: &Checkpoint) -> String {
    format!(
        "checkpoint {} has no place in the conversation of {}",
        checkpoint.id, checkpoint.content.agent
    )
}

/// Fails if `scope` must not be restored while a crew runs. `process` names the process of the crew.
fn check_beside_crew(
    scope: RewindScope,
    is_forced: bool,
    checkpoint: &Checkpoint,
    process: &str,
) -> Result<()> {
    if scope.includes_conversation() {
        let files = match scope {
            RewindScope::Both => ", or restore only the files with --files --force",
            RewindScope::Files | RewindScope::Conversation => "",
        };
        bail!(
            "nothing was restored: a crew runs in this project{process}, and only it can change the conversation of {}; use /rewind in its window, stop it first{files}",
            checkpoint.content.agent
        );
    }
    if !is_forced {
        bail!(
            "nothing was restored: a crew runs in this project{process}, and its agents may be changing the same files; use /rewind in its window, stop it first, or restore the files anyway with --force"
        );
    }
    Ok(())
}

fn conversation(log: RewoundLog, checkpoint: &Checkpoint) -> RestoredConversation {
    RestoredConversation {
        transcript: log.transcript,
        messages: log.messages,
        change: log.change,
        session: checkpoint.content.session.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::checkpoint::format::tests::checkpoint;
    use pretty_assertions::assert_eq;

    fn args(files: bool, conversation: bool) -> RestoreArgs {
        RestoreArgs {
            id: CheckpointId(3),
            files,
            conversation,
            force: false,
        }
    }

    #[test]
    fn scope_follows_options_and_checkpoint() {
        let mut checkpoint = checkpoint(3);
        assert_eq!(
            scope(&args(false, false), &checkpoint).unwrap(),
            RewindScope::Both
        );
        assert_eq!(
            scope(&args(true, false), &checkpoint).unwrap(),
            RewindScope::Files
        );
        assert_eq!(
            scope(&args(false, true), &checkpoint).unwrap(),
            RewindScope::Conversation
        );
        checkpoint.content.starts_conversation = false;
        assert_eq!(
            scope(&args(false, false), &checkpoint).unwrap(),
            RewindScope::Files
        );
        let refusal = scope(&args(false, true), &checkpoint)
            .unwrap_err()
            .to_string();
        assert_eq!(
            refusal,
            "nothing was restored: checkpoint 3 has no place in the conversation of bob; restore only the files: crewdeck checkpoint restore 3 --files"
        );
    }

    #[test]
    fn running_crew_refuses_conversations_and_unforced_files() {
        let checkpoint = checkpoint(3);
        let check = |scope, is_forced| {
            check_beside_crew(scope, is_forced, &checkpoint, " (process 7)")
                .map_err(|refusal| refusal.to_string())
        };
        assert_eq!(check(RewindScope::Files, true), Ok(()));
        for (scope, is_forced, words) in [
            (
                RewindScope::Files,
                false,
                "restore the files anyway with --force",
            ),
            (
                RewindScope::Both,
                true,
                "only the files with --files --force",
            ),
            (RewindScope::Conversation, true, "use /rewind in its window"),
        ] {
            let refusal = check(scope, is_forced).unwrap_err();
            assert!(
                refusal.contains(words) && refusal.contains("this project (process 7)"),
                "{refusal}"
            );
        }
    }
}
