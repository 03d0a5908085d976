//! The roll at the start and the end: members of a dead crew are marked as gone, their tasks offered again.

use std::sync::Arc;

use super::Shared;
use crate::agent::driver::blocking;
use crate::domain::ids::Name;
use crate::domain::team::MemberStatus;
use crate::protocol::event::Level;
use crate::store::StoreError;

/// Marks every member that still counts as present as gone, gives its task back, withdraws what it asked.
pub async fn close_the_dead(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let roster = shared.roster.clone();
    let team = blocking(move || roster.read()).await?;
    for member in team.present() {
        shared.give_back(&member.name).await?;
        let (roster, name, now) = (shared.roster.clone(), member.name.clone(), shared.now());
        blocking(move || roster.set_status(&name, MemberStatus::Shutdown, now)).await?;
    }
    shared.give_back(&Name::lead()).await?;
    let (requests, now) = (shared.requests.clone(), shared.now());
    blocking(move || {
        for request in requests
            .read_all()?
            .requests
            .iter()
            .filter(|r| r.is_pending())
        {
            requests.withdraw(&request.id, "the crew that asked has ended", now)?;
        }
        Ok(())
    })
    .await
}

impl Shared {
    /// Puts the open task of `owner` back on the board.
    pub(super) async fn give_back(&self, owner: &Name) -> Result<(), StoreError> {
        let (board, name, now) = (self.board.clone(), owner.clone(), self.now());
        let released = blocking(move || {
            let reading = board.read()?;
            match reading.graph.open_task_of(&name) {
                Some(task) => board.release(task.id, &name, now).map(Some),
                None => Ok(None),
            }
        })
        .await?;
        if let Some(task) = released {
            let text = format!(
                "Task {} ({}) of {owner} is offered again: {owner} left it open.",
                task.id, task.subject
            );
            self.notice(Level::Warn, text).await;
        }
        Ok(())
    }
}
