//! Prompts of the user that wait until the files and resources that they mention have been read. A wait is shown as the
//! agent's activity, has a time limit, and ends when the user interrupts the agent.

use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::context::{CrewContext, lock};
use super::registry::AgentRegistry;
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::protocol::event::AgentEvent;

/// Maximum time that a prompt waits until everything that it mentions has been read. After that time, the prompt is
/// rejected.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time after which a wait is shown as the activity of the agent to which the prompt goes.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

/// The prompts that wait now. Each has the name of its recipient and a token whose cancellation ends the wait.
#[derive(Default)]
pub struct PromptWaits {
    waiting: Mutex<Vec<(Name, CancellationToken)>>,
}

impl PromptWaits {
    /// Ends the waits of all prompts to `agent`; these prompts are not sent. Returns whether there were any.
    pub fn interrupt(&self, agent: &Name) -> bool {
        let waiting = lock(&self.waiting);
        let own = waiting.iter().filter(|(name, _)| name.same(agent));
        own.map(|(_, cancel)| cancel.cancel()).count() > 0
    }

    /// Waits for `work`, which reads the files and resources that a prompt to `agent` mentions. Drops `work` if the
    /// wait ends early. Dropping `work` must stop the reading.
    ///
    /// # Errors
    /// Fails if `work` fails, the wait is interrupted, [`WAIT_MAX`] is over, or the crew stops.
    pub async fn wait<T>(
        &self,
        context: &CrewContext,
        registry: &AgentRegistry,
        agent: &Name,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let cancel = CancellationToken::new();
        lock(&self.waiting).push((agent.clone(), cancel.clone()));
        // Removes the wait even if this future is dropped.
        let _registered = Registered {
            waits: self,
            cancel: cancel.clone(),
        };
        let mut is_shown = false;
        tokio::pin!(work);
        let limit = tokio::time::sleep(WAIT_MAX);
        let show = tokio::time::sleep(SHOWN_AFTER);
        tokio::pin!(limit, show);
        let ended = loop {
            tokio::select! {
                biased;
                read = &mut work => break read,
                () = context.stop.cancelled() => break Err("crewdeck is ending.".into()),
                () = cancel.cancelled() => {
                    break Err("The message was not sent: you interrupted it.".into());
                }
                () = &mut limit => break Err(format!(
                    "The message was not sent: reading what it mentions took longer than {} s. Check the MCP server with \
                     /mcp, or remove the mention.",
                    WAIT_MAX.as_secs()
                )),
                () = &mut show, if !is_shown => {
                    is_shown = true;
                    show_activity(context, registry, agent, Activity::Tool {
                        tool: "reading".into(),
                        on: "reading what your message mentions".into(),
                    })
                    .await;
                }
            }
        };
        if is_shown {
            show_activity(context, registry, agent, Activity::Idle).await;
        }
        ended
    }
}

/// Publishes `activity` as the activity of `agent`. Does nothing if the agent is working or not running.
async fn show_activity(
    context: &CrewContext,
    registry: &AgentRegistry,
    agent: &Name,
    activity: Activity,
) {
    let handle = registry.find(agent);
    if handle.is_some_and(|handle| !handle.is_working()) {
        let changed = AgentEvent::ActivityChanged { activity };
        context.publish(changed.of(agent.clone())).await;
    }
}

/// The entry of a wait in `PromptWaits`. Dropping this value removes the entry.
struct Registered<'a> {
    waits: &'a PromptWaits,
    cancel: CancellationToken,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        // Each wait has its own token. The token is cancelled here so that the next line finds the entry.
        self.cancel.cancel();
        lock(&self.waits.waiting).retain(|(_, cancel)| !cancel.is_cancelled());
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::crew::test_support::{TestCrew, bob};
    use crate::protocol::event::EventKind;

    fn activities(crew: &mut TestCrew) -> Vec<Activity> {
        let of = |event| match event {
            EventKind::Agent {
                event: AgentEvent::ActivityChanged { activity },
                ..
            } => Some(activity),
            _ => None,
        };
        crew.take_events().into_iter().filter_map(of).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn wait_ends_at_its_limit_and_at_an_interrupt_of_its_agent() {
        let mut crew = TestCrew::new();
        let _bob = crew.agent(&bob());
        let waits = PromptWaits::default();
        let (context, registry, bob) = (crew.context.clone(), crew.registry.clone(), bob());
        let wait = || waits.wait(&context, &registry, &bob, pending::<Result<(), String>>());
        let began = tokio::time::Instant::now();
        let why = wait().await.unwrap_err();
        assert!(why.contains("took longer than 60 s"), "{why}");
        assert_eq!(began.elapsed().as_secs(), WAIT_MAX.as_secs());
        let shown = activities(&mut crew);
        assert!(
            matches!(&shown[..], [Activity::Tool { .. }, Activity::Idle]),
            "{shown:?}"
        );

        assert!(!waits.interrupt(&bob));
        let interrupt = async {
            tokio::task::yield_now().await;
            assert!(!waits.interrupt(&Name::lead()));
            assert!(waits.interrupt(&bob));
        };
        let (ended, ()) = tokio::join!(wait(), interrupt);
        assert!(ended.unwrap_err().contains("you interrupted it"));
        assert!(lock(&waits.waiting).is_empty());
        // A short wait is not shown.
        assert_eq!(activities(&mut crew), []);
        let read = waits.wait(&context, &registry, &bob, async { Ok(7) });
        assert_eq!(read.await, Ok(7));
    }
}
