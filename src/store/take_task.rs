//! Takes a task away from an agent on behalf of the user: releases it on the board and sends the agent a message.

use super::{Board, Mailbox, Roster, StoreError};
use crate::domain::ids::{MessageId, Name, TaskId};
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;

/// A task that was taken away from its owner, as it is afterwards.
#[derive(Debug)]
pub struct TakenTask {
    pub task: Task,
    /// A notice for the user if the message to the previous owner could not be written.
    pub notice: Option<String>,
}

/// Takes the task `id` away from its owner `from` on behalf of the user, and returns it to the board. If `from` is the
/// lead or a present teammate, that agent gets a message with the id `message`, a running crew stops the agent's work
/// on the task, and the agent does not claim the task again automatically. If `from` is the user or an absent agent, only
/// releases the task.
///
/// # Errors
/// When another agent owns the task, or a file cannot be read or written. Also when the task has no owner and `from` is
/// the lead or a present teammate. If only the message cannot be written, the task is already back on the board: the
/// result then has a `notice` and is no error.
pub fn take_task(
    (board, roster, mailbox): (&Board, &Roster, &Mailbox),
    id: TaskId,
    from: &Name,
    message: MessageId,
    now: Timestamp,
) -> Result<TakenTask, StoreError> {
    let is_here = from.is_lead() || roster.read()?.present().any(|m| m.name.same(from));
    if from.is_user() || !is_here {
        let task = board.release_as_user(id, from, now)?;
        return Ok(TakenTask { task, notice: None });
    }
    let task = board.take(id, from, now)?;
    let text = notification(&task);
    let (kind, user) = (MailKind::Message, Name::user());
    let message = MailMessage::new(message, kind, &user, from, &text, now).generated();
    let sent = mailbox.send(&message);
    let notice = sent.err().map(|why| {
        format!("task {id} is back on the board, but {from} got no message about it: {why}")
    });
    Ok(TakenTask { task, notice })
}

/// Returns the message to the previous owner of a task.
fn notification(task: &Task) -> String {
    format!(
        "I have taken task {} ({}) from you and put it back on the board. Do not change it or its worktree, and do not claim it again unless the lead or the user asks you to. Continue with other work.",
        task.id,
        one_line(&task.subject)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::graph::{Claimer, NewTask};
    use crate::domain::task::TaskStatus;

    #[test]
    fn unwritten_message_is_no_error_after_the_task_was_taken() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in [".tasks", ".team"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        let stores = (Board::open(root), Roster::open(root), Mailbox::open(root));
        let (lead, now) = (Name::lead(), Timestamp(1.0));
        let new = NewTask {
            subject: "a".into(),
            ..NewTask::default()
        };
        let id = stores.0.create(new, now).unwrap().id;
        let claimer = Claimer {
            name: lead.clone(),
            ..Claimer::user()
        };
        stores.0.claim(Some(id), &claimer, now).unwrap();
        // No inbox can be created in a file.
        std::fs::write(root.join(".team/inbox"), "").unwrap();
        let doors = (&stores.0, &stores.1, &stores.2);
        let taken = take_task(doors, id, &lead, MessageId("m".into()), now).unwrap();
        assert_eq!(taken.task.status, TaskStatus::Pending);
        let notice = taken.notice.unwrap();
        assert!(notice.contains("lead got no message"), "{notice}");
    }
}
