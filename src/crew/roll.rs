//! The roll at the start and the end: members of a dead crew are marked as gone, their tasks offered again.

use std::sync::Arc;

use super::Shared;
use crate::agent::driver::blocking;
use crate::domain::ids::Name;
use crate::domain::request::{Request, RequestKind};
use crate::domain::team::MemberStatus;
use crate::domain::text::{clip, one_line};
use crate::protocol::event::Level;
use crate::store::StoreError;

/// Most requests that are named when they are withdrawn.
const LOST_MAX: usize = 8;
/// Most characters of a request that is named.
const LOST_TEXT_MAX: usize = 160;

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
    let withdrawn = blocking(move || {
        let mut pending = requests.read_all()?.requests;
        pending.retain(Request::is_pending);
        for request in &pending {
            requests.withdraw(&request.id, "the crew that asked has ended", now)?;
        }
        Ok(pending)
    })
    .await?;
    for text in lost(&withdrawn) {
        shared.notice(Level::Warn, text).await;
    }
    Ok(())
}

/// What is said of requests that nobody decided before their crew ended, a line each.
fn lost(requests: &[Request]) -> Vec<String> {
    let mut out: Vec<String> = requests
        .iter()
        .take(LOST_MAX)
        .map(|request| {
            let (from, target) = (&request.from, &request.target);
            let asked = match request.kind {
                RequestKind::Plan => format!("{from} asked for approval of its plan"),
                RequestKind::Shutdown => format!("{from} wanted {target} to shut down"),
                RequestKind::Permission => format!("{target} asked for permission"),
                RequestKind::Question => format!("{from} asked you"),
            };
            let task = request.task.map_or_else(String::new, |id| format!(" for {id}"));
            let what = request.call.as_ref().map_or(&request.body, |c| &c.input);
            let what = clip(&one_line(what), LOST_TEXT_MAX);
            format!("Nobody decided this before crewdeck ended, so it is withdrawn: {asked}{task}: {what}")
        })
        .collect();
    if let beyond @ 1.. = requests.len().saturating_sub(LOST_MAX) {
        out.push(format!("{beyond} more requests were withdrawn."));
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{RequestId, TaskId};
    use crate::domain::request::AskedCall;
    use crate::domain::stamp::Stamp;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_was_lost_is_named() {
        let bob = Name::member("bob").unwrap();
        let request = |kind, body: &str| {
            let id = RequestId("r".into());
            Request::new(id, kind, bob.clone(), bob.clone(), body.into(), Stamp(1.0))
        };
        let mut permission = request(RequestKind::Permission, "bash\n$ git push\n\nwhy");
        permission.task = Some(TaskId(3));
        permission.call = Some(AskedCall {
            tool: "bash".into(),
            input: "git push".into(),
            why: "why".into(),
            scopes: Vec::new(),
        });
        let mut shutdown = request(RequestKind::Shutdown, "All is done.");
        shutdown.from = Name::lead();
        let all = [
            permission,
            shutdown,
            request(RequestKind::Question, "Which\nversion?"),
        ];
        let start = "Nobody decided this before crewdeck ended, so it is withdrawn:";
        assert_eq!(
            lost(&all),
            [
                format!("{start} bob asked for permission for #3: git push"),
                format!("{start} lead wanted bob to shut down: All is done."),
                format!("{start} bob asked you: Which⏎version?"),
            ]
        );
        let many = vec![request(RequestKind::Plan, "x"); LOST_MAX + 2];
        assert_eq!(lost(&many).len(), LOST_MAX + 1);
        assert_eq!(lost(&many)[LOST_MAX], "2 more requests were withdrawn.");
    }
}
