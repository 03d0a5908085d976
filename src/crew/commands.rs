//! Commands as the crew carries them out, one after the other.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc;

use super::{Shared, lock};
use crate::agent::driver::{Control, blocking};
use crate::domain::chat::Block;
use crate::domain::ids::{LetterId, Name, TaskId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::request::{Asking, Decision, RequestKind, Verdict};
use crate::domain::stamp::Stamp;
use crate::domain::worktree::Losses;
use crate::protocol::event::EventKind;
use crate::protocol::{Asked, Command, TaskWish};
use crate::store::{Post, Roster, StoreError};

/// Carries commands out until the crew stops.
pub async fn obey(shared: Arc<Shared>, mut inbox: mpsc::Receiver<Command>) {
    loop {
        let command = tokio::select! {
            () = shared.stop.cancelled() => return,
            command = inbox.recv() => match command {
                Some(command) => command,
                None => return,
            },
        };
        let asked = command.asked();
        let done = match command {
            Command::Prompt { to, text } => prompt(&shared, to, text).await,
            Command::Interrupt { agent } => interrupt(&shared, &agent),
            Command::Compact { agent, focus } => compact(&shared, &agent, focus),
            Command::KillJob { job } => shared.jobs.kill(&job, &Name::user()),
            Command::Decide(decision) => shared.decide(decision).await.map(|_| ()),
            Command::Allow { request, scope } => shared.allow(&request, scope).await,
            Command::TakeBack { rule } => shared.take_back(rule).await,
            Command::AskShutdown { member } => ask_shutdown(&shared, &member).await,
            Command::Force { member } => shared.force(&member),
            Command::Nudge { member } => shared.nudge(&member).await,
            Command::Task(wish) => act(&shared, asked.clone(), *wish).await,
            Command::Merge { task } => {
                merge(&shared, asked.clone(), vec![task]);
                Ok(())
            }
            Command::MergeAll { tasks } => {
                merge(&shared, asked.clone(), tasks);
                Ok(())
            }
            Command::JudgeWorktree { task } => {
                judge(&shared, asked.clone(), task);
                Ok(())
            }
            Command::RemoveWorktree { task, told } => {
                remove(&shared, asked.clone(), task, told);
                Ok(())
            }
            Command::ShowDiff { task } => shared.show_diff(task).await,
            Command::ListModels => {
                // The server may be slow to answer; other commands must not wait for it.
                shared.tracker.spawn(list_models(Arc::clone(&shared)));
                Ok(())
            }
            Command::UseModel { name } => {
                use_model(&shared, name).await;
                Ok(())
            }
        };
        if let Err(why) = done {
            shared.publish(EventKind::refused(asked, why)).await;
        }
    }
}

async fn prompt(shared: &Arc<Shared>, to: Name, text: String) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("An empty message was not sent.".into());
    }
    if !to.is_lead() {
        return write_to_mate(shared, &to, &text).await;
    }
    let handle = shared.handle(&to).ok_or("the lead is not running")?;
    shared.queued.fetch_add(1, Ordering::SeqCst);
    let blocks = vec![Block::text(text.clone())];
    if handle.control.try_send(Control::Say(blocks)).is_err() {
        shared.queued.fetch_sub(1, Ordering::SeqCst);
        return Err("The lead has too many messages waiting: let it work first.".into());
    }
    shared
        .publish(EventKind::Prompted { agent: to, text })
        .await;
    Ok(())
}

async fn write_to_mate(shared: &Arc<Shared>, to: &Name, text: &str) -> Result<(), String> {
    let (roster, post) = (shared.roster.clone(), shared.post.clone());
    let letter = from_person(to, text, (shared.new_id)(), shared.now());
    blocking(move || send_to_member(&roster, &post, &letter))
        .await
        .map_err(|e| e.to_string())?;
    let agent = to.clone();
    shared
        .publish(EventKind::Prompted {
            agent,
            text: text.into(),
        })
        .await;
    shared.changed();
    Ok(())
}

/// A letter of the person.
pub(super) fn from_person(to: &Name, text: &str, id: String, now: Stamp) -> Letter {
    let kind = LetterKind::Message;
    Letter::new(LetterId(id), kind, &Name::user(), to, text, now)
}

/// Sends a letter to a member that is there; refuses where nobody would read it.
pub(super) fn send_to_member(
    roster: &Roster,
    post: &Post,
    letter: &Letter,
) -> Result<(), StoreError> {
    let team = roster.read()?;
    if !team
        .present()
        .any(|m| m.name.as_str().eq_ignore_ascii_case(&letter.to))
    {
        return Err(team.unknown(&letter.to).into());
    }
    post.send(letter)
}

fn interrupt(shared: &Shared, agent: &Name) -> Result<(), String> {
    if let Some(errand) = lock(&shared.errands).get(agent) {
        errand.cancel();
        return Ok(());
    }
    let handle = shared
        .handle(agent)
        .ok_or_else(|| format!("{agent} is not running"))?;
    if *lock(&handle.standing) != super::Standing::Working {
        return Err(format!(
            "{agent} is not working: there is nothing to interrupt."
        ));
    }
    // A full queue means that an interrupt waits in it already.
    let _ = handle.control.try_send(Control::Interrupt);
    Ok(())
}

fn compact(shared: &Shared, agent: &Name, focus: String) -> Result<(), String> {
    let handle = shared
        .handle(agent)
        .ok_or_else(|| format!("{agent} is not running"))?;
    handle
        .control
        .try_send(Control::Compact(focus))
        .map_err(|_| format!("{agent} has too many messages waiting: let it work first."))
}

async fn ask_shutdown(shared: &Arc<Shared>, member: &Name) -> Result<(), String> {
    if shared.handle(member).is_none() || member.is_lead() {
        return Err(format!("'{member}' is not a teammate at work."));
    }
    let body = "The person asks for it.".to_string();
    let request = shared
        .file_request(
            &Name::user(),
            Asking::new(RequestKind::Shutdown, member, body),
        )
        .await?;
    if !request.is_pending() {
        return Ok(());
    }
    let decision = Decision::on(&request, Verdict::Approve, Name::user(), String::new());
    shared.decide(decision).await.map(|_| ())
}

/// Changes the board. A task is completed beside the other commands: what is left in its worktree is committed first.
async fn act(shared: &Arc<Shared>, asked: Asked, wish: TaskWish) -> Result<(), String> {
    if !matches!(wish, TaskWish::Complete { .. }) {
        return shared.act_for_person(wish).await;
    }
    let crew = Arc::clone(shared);
    shared.tracker.spawn(async move {
        if let Err(why) = crew.act_for_person(wish).await {
            crew.publish(EventKind::refused(asked, why)).await;
        }
    });
    Ok(())
}

/// Begins to merge. Each merge runs the person's hooks, which may take their time; other commands must not wait for it.
fn merge(shared: &Arc<Shared>, asked: Asked, tasks: Vec<TaskId>) {
    let crew = Arc::clone(shared);
    shared.tracker.spawn(async move {
        if let Err(why) = crew.merge_asked(tasks).await {
            crew.publish(EventKind::refused(asked, why)).await;
        }
    });
}

/// Looks what would be lost with a worktree. A large one takes its time; other commands must not wait for it.
fn judge(shared: &Arc<Shared>, asked: Asked, task: TaskId) {
    let crew = Arc::clone(shared);
    shared.tracker.spawn(async move {
        let told = crew.judge_worktree(task).await;
        crew.publish(told.unwrap_or_else(|why| EventKind::refused(asked, why)))
            .await;
    });
}

/// Removes a worktree, beside the other commands.
fn remove(shared: &Arc<Shared>, asked: Asked, task: TaskId, losses: Losses) {
    let crew = Arc::clone(shared);
    shared.tracker.spawn(async move {
        if let Err(why) = crew.remove_worktree(task, losses).await {
            crew.publish(EventKind::refused(asked, why)).await;
        }
    });
}

async fn list_models(shared: Arc<Shared>) {
    let model = Arc::clone(&shared.engine().model);
    let listed = tokio::select! {
        () = shared.stop.cancelled() => return,
        listed = model.list() => listed,
    };
    shared
        .publish(match listed {
            Ok(names) => EventKind::ModelsListed { names },
            Err(error) => EventKind::refused(
                Asked::ListModels,
                format!("The models can not be listed: {error}. {}", error.hint),
            ),
        })
        .await;
}

async fn use_model(shared: &Shared, name: String) {
    shared.set_model(&name);
    let setup = {
        let mut setup = lock(&shared.setup);
        setup.model = name;
        setup.window = shared.engine().window;
        setup.clone()
    };
    shared.publish(EventKind::CrewReady(setup)).await;
    shared.tell_of_unknown_price().await;
}
