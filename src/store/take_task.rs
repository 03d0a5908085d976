//! Takes a task away from an agent on behalf of the user: releases it on the board and sends the agent a message.

use super::{Board, Mailbox, Roster, StoreError};
use crate::domain::ids::{MessageId, Name, TaskId};
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;

/// Takes the task `id` away from its owner `from` on behalf of the user, and returns it to the board. If `from` is the
/// lead or a present teammate, that agent gets a message with the id `message`, a running crew stops the agent's work
/// on the task, and the agent does not claim the task again automatically. If `from` is the user or an absent agent, only
/// releases the task.
///
/// # Errors
/// When another agent owns the task, or a file cannot be read or written; for the lead and present teammates also when
/// the task has no owner. If only the message cannot be written, the task is returned to the board nevertheless.
pub fn take_task(
    (board, roster, mailbox): (&Board, &Roster, &Mailbox),
    id: TaskId,
    from: &Name,
    message: MessageId,
    now: Timestamp,
) -> Result<Task, StoreError> {
    let is_here = from.is_lead() || roster.read()?.present().any(|m| m.name.same(from));
    if from.is_user() || !is_here {
        return board.release(id, from, now);
    }
    let task = board.take(id, from, now)?;
    let text = notification(&task);
    let (kind, user) = (MailKind::Message, Name::user());
    let message = MailMessage::new(message, kind, &user, from, &text, now).generated();
    mailbox.send(&message)?;
    Ok(task)
}

/// Returns the message to the previous owner of a task.
fn notification(task: &Task) -> String {
    format!(
        "I have taken task {} ({}) from you and put it back on the board. Do not change it or its worktree, and do not claim it again unless the lead or the user asks you to. Continue with other work.",
        task.id,
        one_line(&task.subject)
    )
}
