//! The command loop of the crew and of viewers: runs commands one after another, except slow ones (git, model server),
//! which run concurrently.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use crate::protocol::{Command, EventKind, TaskCommand};

/// Most commands that may be queued.
pub const COMMANDS_MAX: usize = 256;
/// Most commands that run concurrently.
const CONCURRENT_MAX: usize = 16;

/// The error if the limit is reached.
const FULL: &str = "Too many commands are running: try again when some have finished.";

/// Executes commands.
pub trait CommandHandler: Send + Sync + 'static {
    /// Executes `command`. The error is a message for the user.
    fn carry_out(
        self: &Arc<Self>,
        command: Command,
    ) -> impl Future<Output = Result<(), String>> + Send;

    /// Publishes an event to the sender of the command.
    fn publish(&self, event: EventKind) -> impl Future<Output = ()> + Send;

    /// Runs `work` in the background.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static);

    /// Completes when no more commands are accepted.
    fn stopped(&self) -> impl Future<Output = ()> + Send;
}

/// Whether the next command does not wait for this one. True for commands that use git or the model server: git may be
/// slow, runs the user's hooks and serializes merges, and a server may not answer.
fn is_concurrent(command: &Command) -> bool {
    match command {
        Command::Merge { .. }
        | Command::MergeAll { .. }
        | Command::ShowDiff { .. }
        | Command::JudgeWorktree { .. }
        | Command::RemoveWorktree { .. }
        | Command::ListModels => true,
        Command::Task(wish) => match **wish {
            // Commits the worktree's uncommitted files first.
            TaskCommand::Complete { .. } => true,
            TaskCommand::Claim { .. }
            | TaskCommand::Release { .. }
            | TaskCommand::Add { .. }
            | TaskCommand::Edit { .. } => false,
        },
        Command::Prompt { .. }
        | Command::Interrupt { .. }
        | Command::Compact { .. }
        | Command::KillJob { .. }
        | Command::Decide(_)
        | Command::Allow { .. }
        | Command::TakeBack { .. }
        | Command::AskShutdown { .. }
        | Command::Force { .. }
        | Command::Nudge { .. }
        | Command::UseModel { .. } => false,
    }
}

/// Executes commands until all senders are gone or `crew` has stopped. A refused command is reported with its error.
pub async fn run<C: CommandHandler>(crew: Arc<C>, mut inbox: mpsc::Receiver<Command>) {
    let room = Arc::new(Semaphore::new(CONCURRENT_MAX));
    loop {
        let command = tokio::select! {
            () = crew.stopped() => return,
            command = inbox.recv() => match command {
                Some(command) => command,
                None => return,
            },
        };
        if !is_concurrent(&command) {
            answer(&crew, command).await;
        } else if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
            let own = Arc::clone(&crew);
            crew.spawn(async move {
                answer(&own, command).await;
                drop(place);
            });
        } else {
            crew.publish(EventKind::refused(command.to_ref(), FULL))
                .await;
        }
    }
}

async fn answer<C: CommandHandler>(crew: &Arc<C>, command: Command) {
    let asked = command.to_ref();
    if let Err(why) = crew.carry_out(command).await {
        crew.publish(EventKind::refused(asked, why)).await;
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
    use crate::protocol::CommandRef;

    /// Refuses all commands; concurrent ones wait for a signal first.
    struct Slow {
        events: mpsc::Sender<EventKind>,
        go: Notify,
    }

    impl CommandHandler for Slow {
        async fn carry_out(self: &Arc<Self>, command: Command) -> Result<(), String> {
            if is_concurrent(&command) {
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
            Command::JudgeWorktree { task },
            Command::RemoveWorktree {
                task,
                told: Losses::default(),
            },
            Command::ListModels,
            Command::Task(Box::new(TaskCommand::Complete { task })),
        ];
        let prompt = || Command::Prompt {
            to: Name::lead(),
            text: "hello".into(),
        };
        let to = Name::lead();
        let text = "hello".into();
        let refused = EventKind::refused(CommandRef::Prompt { to, text }, "no");
        for command in slow_ones {
            commands.send(command).await.unwrap();
            commands.send(prompt()).await.unwrap();
            assert_eq!(next(&mut published).await, refused);
        }
        for _ in 7..CONCURRENT_MAX {
            commands.send(Command::ListModels).await.unwrap();
        }
        commands.send(Command::ShowDiff { task }).await.unwrap();
        let full = EventKind::refused(CommandRef::ShowDiff { task }, FULL);
        assert_eq!(next(&mut published).await, full);
        slow.go.notify_one();
        assert!(matches!(
            next(&mut published).await,
            EventKind::Refused { .. }
        ));
    }
}
