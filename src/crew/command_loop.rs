//! The command loop of the crew and of viewers. It runs commands one after another, except slow commands, which run
//! concurrently. A prompt with attachments or hooks also runs in the background: only later prompts, `/clear` and
//! `/compact` for the same agent wait for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::domain::ids::Name;
use crate::protocol::{Command, EventKind, SentCommand};

/// Maximum number of queued commands. Further commands are refused.
pub const COMMANDS_MAX: usize = 256;
const CONCURRENT_MAX: usize = 16;

/// Maximum number of unfinished commands in `OrderedPrompts`, of all agents together.
const ORDERED_MAX: usize = 64;

/// The error for a command beyond [`CONCURRENT_MAX`] or [`ORDERED_MAX`].
const FULL: &str = "Too many commands are running: try again when some have finished.";

/// Executes the commands that [`run`] receives.
pub trait CommandHandler: Send + Sync + 'static {
    /// Executes `command`. If the command is refused, returns an error with a message for the user.
    fn carry_out(
        self: &Arc<Self>,
        command: Command,
    ) -> impl Future<Output = Result<(), String>> + Send;

    /// Returns whether `command` is a prompt that takes so long that commands for other agents must not wait for it.
    fn runs_in_background(&self, command: &Command) -> bool {
        command.reads_attachments()
    }

    /// Returns whether later commands run without waiting for this one.
    fn is_slow(&self, command: &Command) -> bool {
        command.is_slow()
    }

    /// Publishes an event, such as the rejection of a command, to the front end that has sent the commands.
    fn publish(&self, event: EventKind) -> impl Future<Output = ()> + Send;

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Waits until the handler stops. [`run`] then accepts no more commands.
    fn wait_for_stop(&self) -> impl Future<Output = ()> + Send;
}

/// Executes commands until all senders are dropped or `crew` has stopped. If a command is rejected, publishes its id
/// and the error.
pub async fn run<C: CommandHandler>(crew: Arc<C>, mut inbox: mpsc::Receiver<SentCommand>) {
    let room = Arc::new(Semaphore::new(CONCURRENT_MAX));
    let mut prompts = OrderedPrompts::default();
    loop {
        let sent = tokio::select! {
            () = crew.wait_for_stop() => return,
            sent = inbox.recv() => match sent {
                Some(sent) => sent,
                None => return,
            },
        };
        let command = &sent.command;
        let is_ordered = prompts.are_running(command);
        if is_ordered || crew.runs_in_background(command) {
            prompts.run(&crew, sent).await;
        } else if !crew.is_slow(command) {
            answer(&crew, sent).await;
        } else if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
            let own = Arc::clone(&crew);
            crew.spawn(async move {
                answer(&own, sent).await;
                drop(place);
            });
        } else {
            crew.publish(EventKind::rejection(sent.id, FULL)).await;
        }
    }
}

/// Runs slow prompts in the background, together with the later commands that must not overtake them. The commands for
/// one agent run one after another.
struct OrderedPrompts {
    /// For each agent, a channel that closes when the agent's last queued command has finished.
    last: BTreeMap<String, oneshot::Receiver<()>>,
    room: Arc<Semaphore>,
}

impl Default for OrderedPrompts {
    fn default() -> OrderedPrompts {
        OrderedPrompts {
            last: BTreeMap::new(),
            room: Arc::new(Semaphore::new(ORDERED_MAX)),
        }
    }
}

impl OrderedPrompts {
    /// Returns whether `command` must wait for a queued command of the same agent that has not finished yet. Removes
    /// the finished commands of all agents.
    fn are_running(&mut self, command: &Command) -> bool {
        self.last
            .retain(|_, last| last.try_recv() == Err(TryRecvError::Empty));
        command
            .agent_of_prompts()
            .is_some_and(|agent| self.last.contains_key(&key(agent)))
    }

    /// Runs a command in the background, after all earlier commands for the same agent. Rejects it if [`ORDERED_MAX`]
    /// commands are unfinished.
    async fn run<C: CommandHandler>(&mut self, crew: &Arc<C>, sent: SentCommand) {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            crew.publish(EventKind::rejection(sent.id, FULL)).await;
            return;
        };
        let (done, end) = oneshot::channel::<()>();
        let agent = sent.command.agent_of_prompts();
        let before = agent.and_then(|agent| self.last.insert(key(agent), end));
        let own = Arc::clone(crew);
        crew.spawn(async move {
            if let Some(before) = before {
                // The channel closes without a value, because its sender is dropped at the end of the earlier command.
                let _ = before.await;
            }
            answer(&own, sent).await;
            drop((done, place));
        });
    }
}

/// Returns the key of an agent in [`OrderedPrompts::last`]: its name in lower case, because names are compared without
/// regard to case.
fn key(agent: &Name) -> String {
    agent.as_str().to_ascii_lowercase()
}

async fn answer<C: CommandHandler>(crew: &Arc<C>, sent: SentCommand) {
    if let Err(why) = crew.carry_out(sent.command).await {
        crew.publish(EventKind::rejection(sent.id, why)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;
    use tokio::sync::Notify;

    use super::*;
    use crate::domain::ids::TaskId;
    use crate::domain::mention::Mention;
    use crate::domain::worktree::Losses;
    use crate::protocol::event::CrewEvent;
    use crate::protocol::{CommandIds, TaskCommand};

    /// A handler that refuses all commands. Concurrent commands and prompts with attachments first wait for a signal.
    struct Slow {
        events: mpsc::Sender<EventKind>,
        go: Notify,
    }

    impl CommandHandler for Slow {
        async fn carry_out(self: &Arc<Self>, command: Command) -> Result<(), String> {
            if command.is_slow() || command.reads_attachments() {
                self.go.notified().await;
            }
            Err("no".into())
        }

        async fn publish(&self, event: EventKind) {
            self.events.send(event).await.unwrap();
        }

        fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
            tokio::spawn(work);
        }

        async fn wait_for_stop(&self) {
            std::future::pending::<()>().await;
        }
    }

    #[tokio::test]
    async fn prompts_keep_their_order_and_delay_no_other_command() {
        let (events, mut published) = mpsc::channel(64);
        let (commands, inbox) = mpsc::channel(64);
        let go = Notify::new();
        let slow = Arc::new(Slow { events, go });
        tokio::spawn(run(Arc::clone(&slow), inbox));
        let with_image = || Command::Prompt {
            to: Name::lead(),
            text: "see @a.png".into(),
            attachments: vec![Mention {
                path: "a.png".into(),
                is_required: true,
            }],
        };
        let agent = Name::lead;
        let all = [
            with_image(),
            Command::prompt(agent(), "and then this"),
            with_image(),
            Command::Clear { agent: agent() },
            Command::Interrupt { agent: agent() },
            Command::prompt(Name::member("bob").unwrap(), "at once"),
        ];
        let mut ids = CommandIds::default();
        for command in all {
            commands.send(ids.assign(command)).await.unwrap();
        }
        let mut next = async || {
            let event = tokio::time::timeout(Duration::from_secs(40), published.recv()).await;
            match event.unwrap().unwrap() {
                EventKind::Crew(CrewEvent::CommandRejected {
                    command: Some(id), ..
                }) => id.0,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([next().await, next().await], [5, 6]);
        slow.go.notify_one();
        assert_eq!([next().await, next().await], [1, 2]);
        slow.go.notify_one();
        assert_eq!([next().await, next().await], [3, 4]);
        // When all commands have finished, a prompt without attachments runs directly again instead of in the
        // background.
        commands
            .send(ids.assign(Command::prompt(agent(), "last")))
            .await
            .unwrap();
        assert_eq!(next().await, 7);
    }

    #[tokio::test]
    async fn slow_commands_run_concurrently_up_to_a_limit() {
        let (events, mut published) = mpsc::channel(64);
        let (commands, inbox) = mpsc::channel(64);
        let go = Notify::new();
        let slow = Arc::new(Slow { events, go });
        tokio::spawn(run(Arc::clone(&slow), inbox));
        let next = async |published: &mut mpsc::Receiver<EventKind>| {
            let event = tokio::time::timeout(Duration::from_secs(40), published.recv()).await;
            event.unwrap().unwrap()
        };
        let task = TaskId(1);
        let slow_ones = [
            Command::Merge { task },
            Command::MergeAll { tasks: vec![task] },
            Command::ShowDiff { task },
            Command::InspectWorktree { task },
            Command::RemoveWorktree {
                task,
                confirmed: Losses::default(),
            },
            Command::ListModels,
            Command::Task(Box::new(TaskCommand::Complete { task })),
        ];
        let prompt = || Command::prompt(Name::lead(), "hello");
        let mut ids = CommandIds::default();
        let mut send = async |command| {
            let sent = ids.assign(command);
            let id = sent.id;
            commands.send(sent).await.unwrap();
            id
        };
        let mut first = None;
        for command in slow_ones {
            first.get_or_insert(send(command).await);
            let refused = EventKind::rejection(send(prompt()).await, "no");
            assert_eq!(next(&mut published).await, refused);
        }
        for _ in 7..CONCURRENT_MAX {
            send(Command::ListModels).await;
        }
        let full = EventKind::rejection(send(Command::ShowDiff { task }).await, FULL);
        assert_eq!(next(&mut published).await, full);
        slow.go.notify_one();
        let first = EventKind::rejection(first.unwrap(), "no");
        assert_eq!(next(&mut published).await, first);
    }
}
