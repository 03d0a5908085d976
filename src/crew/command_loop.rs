//! The command loop of the crew and of viewers: runs commands one after another, except slow ones, which run
//! concurrently.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use crate::protocol::{Command, EventKind, SentCommand};

/// Maximum number of queued commands.
pub const COMMANDS_MAX: usize = 256;
/// Maximum number of commands that run concurrently.
const CONCURRENT_MAX: usize = 16;

/// The error for a command beyond [`CONCURRENT_MAX`].
const FULL: &str = "Too many commands are running: try again when some have finished.";

/// Executes commands.
pub trait CommandHandler: Send + Sync + 'static {
    /// Executes `command`. Returns an error with a message for the user if it is refused.
    fn carry_out(
        self: &Arc<Self>,
        command: Command,
    ) -> impl Future<Output = Result<(), String>> + Send;

    /// Publishes an event, which the sender of the command receives.
    fn publish(&self, event: EventKind) -> impl Future<Output = ()> + Send;

    /// Runs `work` in the background.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Waits until no more commands are accepted.
    fn stopped(&self) -> impl Future<Output = ()> + Send;
}

/// Executes commands until all senders are gone or `crew` has stopped. A rejected command is reported
/// with its id and error.
pub async fn run<C: CommandHandler>(crew: Arc<C>, mut inbox: mpsc::Receiver<SentCommand>) {
    let room = Arc::new(Semaphore::new(CONCURRENT_MAX));
    loop {
        let sent = tokio::select! {
            () = crew.stopped() => return,
            sent = inbox.recv() => match sent {
                Some(sent) => sent,
                None => return,
            },
        };
        if !sent.command.is_slow() {
            answer(&crew, sent).await;
        } else if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
            let own = Arc::clone(&crew);
            crew.spawn(async move {
                answer(&own, sent).await;
                drop(place);
            });
        } else {
            crew.publish(EventKind::rejected(sent.id, FULL)).await;
        }
    }
}

async fn answer<C: CommandHandler>(crew: &Arc<C>, sent: SentCommand) {
    if let Err(why) = crew.carry_out(sent.command).await {
        crew.publish(EventKind::rejected(sent.id, why)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;
    use tokio::sync::Notify;

    use super::*;
    use crate::domain::ids::{Name, TaskId};
    use crate::domain::worktree::Losses;
    use crate::protocol::{CommandIds, TaskCommand};

    /// Refuses all commands; concurrent ones wait for a signal first.
    struct Slow {
        events: mpsc::Sender<EventKind>,
        go: Notify,
    }

    impl CommandHandler for Slow {
        async fn carry_out(self: &Arc<Self>, command: Command) -> Result<(), String> {
            if command.is_slow() {
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

        async fn stopped(&self) {
            std::future::pending::<()>().await;
        }
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
            let refused = EventKind::rejected(send(prompt()).await, "no");
            assert_eq!(next(&mut published).await, refused);
        }
        for _ in 7..CONCURRENT_MAX {
            send(Command::ListModels).await;
        }
        let full = EventKind::rejected(send(Command::ShowDiff { task }).await, FULL);
        assert_eq!(next(&mut published).await, full);
        slow.go.notify_one();
        let first = EventKind::rejected(first.unwrap(), "no");
        assert_eq!(next(&mut published).await, first);
    }
}
