//! A task that the person takes from somebody: the board, the roster and the post together.

use super::{Board, Post, Roster, StoreError};
use crate::domain::ids::{LetterId, Name, TaskId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::text::one_line;

/// Puts a task of `from` back because the person wants it. From one who is here it is taken: a letter of that id says
/// so, a crew that runs stops the work on it, and `from` does not choose it again.
///
/// # Errors
/// When it is no task of `from`, or a file can not be read or written.
pub fn take_from(
    (board, roster, post): (&Board, &Roster, &Post),
    id: TaskId,
    from: &Name,
    letter: LetterId,
    now: Stamp,
) -> Result<Task, StoreError> {
    let is_here = from.is_lead() || roster.read()?.present().any(|m| m.name.same(from));
    if from.is_user() || !is_here {
        return board.release(id, from, now);
    }
    let task = board.take(id, from, now)?;
    let text = taken(&task);
    let kind = LetterKind::Message;
    post.send(&Letter::new(letter, kind, &Name::user(), from, &text, now))?;
    Ok(task)
}

/// What is written to one from whom a task was taken.
fn taken(task: &Task) -> String {
    format!(
        "I have taken task {} ({}) from you and put it back on the board. Leave it and its worktree as they are; do not claim it again unless you are told to. Go on with what else there is.",
        task.id,
        one_line(&task.subject)
    )
}
