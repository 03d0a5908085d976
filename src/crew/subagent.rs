//! Runs a subagent: it starts with an empty conversation, works in one turn, returns its answer and ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::outfit::{Order, Outfit};
use super::{Shared, lock};
use crate::agent::driver::Control;
use crate::agent::prompt;
use crate::agent::turn::{Input, Limits};
use crate::domain::chat::{Block, Message, Role};
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::protocol::event::{EventKind, TurnEnd};
use crate::tools::Caller;
use crate::tools::host::SubagentOrder;

/// Most subagents of one agent that run at the same time.
pub const SIDE_BY_SIDE: usize = 4;
/// Most model calls of a subagent, the same as in learn-claude-code.
const ROUNDS_MAX: u32 = 30;

/// Starts a subagent and waits for its answer. Dropping the future interrupts the subagent.
pub async fn delegate(
    shared: Arc<Shared>,
    seats: Arc<Semaphore>,
    order: SubagentOrder,
) -> Result<String, String> {
    let Ok(_seat) = seats.acquire().await else {
        return Err("no more subagents can be started".into());
    };
    let cancel = shared.stop.child_token();
    let _interrupts = cancel.clone().drop_guard();
    let (tell, told) = oneshot::channel();
    // Runs as its own task, so that its last events are published even if the caller no longer waits.
    let life = live(Arc::clone(&shared), order, cancel);
    shared.tracker.spawn(async move {
        // The caller may no longer wait.
        let _ = tell.send(life.await);
    });
    told.await
        .unwrap_or_else(|_| Err("the subagent failed".into()))
}

async fn live(
    shared: Arc<Shared>,
    order: SubagentOrder,
    cancel: CancellationToken,
) -> Result<String, String> {
    let number = shared.subagents.fetch_add(1, Ordering::SeqCst) + 1;
    let name = Name::subagent(&order.parent, number);
    let gate = shared
        .handle(&order.parent)
        .map(|h| h.desk.gate())
        .unwrap_or_default();
    let system = |place: &prompt::Place| prompt::subagent(&order.parent, order.kind, place);
    let mut outfit = shared.outfit(Order {
        name: name.clone(),
        caller: Caller::Subagent(order.kind),
        limits: Limits {
            rounds: Some(ROUNDS_MAX),
            last_round: Some(prompt::LAST_ROUND),
            ..Limits::default()
        },
        gate,
        tags: Vec::new(),
        identity: String::new(),
        model: model_of(&shared, &order.parent),
        system: &system,
    });
    outfit.driver.workshop.workdir.clone_from(&order.workdir);
    shared
        .publish(EventKind::SubagentStarted {
            agent: name.clone(),
            parent: order.parent.clone(),
            call: order.call.clone(),
            kind: order.kind,
            prompt: order.prompt.clone(),
        })
        .await;
    let Outfit {
        mut driver,
        mut control,
        handle,
    } = outfit;
    let interrupt = async {
        cancel.cancelled().await;
        // Nothing else uses this queue, so it has room.
        let _ = handle.control.try_send(Control::Interrupt);
        std::future::pending::<()>().await;
    };
    lock(&shared.errands).insert(name.clone(), cancel.clone());
    let say = Input::Say(vec![Block::text(order.prompt)]);
    let end = tokio::select! {
        end = driver.turn(say, &mut control) => end,
        () = interrupt => TurnEnd::Interrupted,
    };
    lock(&shared.errands).remove(&name);
    driver.activity(Activity::Gone).await;
    let answer = last_words(&driver.state.turn.messages());
    match end {
        TurnEnd::Done if answer.is_empty() => Ok("(no summary)".into()),
        TurnEnd::Done => Ok(answer),
        TurnEnd::Stopped { why } if answer.is_empty() => {
            Err(format!("the subagent ended without an answer: {why}"))
        }
        TurnEnd::Stopped { why } => Ok(format!("{answer}\n[The subagent was stopped: {why}]")),
        TurnEnd::Interrupted => Err("the subagent was interrupted".into()),
        TurnEnd::Failed { error, hint } => Err(format!("the subagent failed: {error}. {hint}")
            .trim()
            .into()),
    }
}

/// Returns the model of the parent, which the subagent uses too.
fn model_of(shared: &Shared, parent: &Name) -> String {
    let team = super::lock(&shared.team);
    team.find(parent)
        .map(|m| m.model.clone())
        .unwrap_or_default()
}

/// Returns the text of the last message if the subagent wrote it, else an empty string.
fn last_words(messages: &[Message]) -> String {
    match messages.last() {
        Some(last) if last.role == Role::Assistant => last.words().trim().to_string(),
        Some(_) | None => String::new(),
    }
}
