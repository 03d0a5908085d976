//! Handles commands in the process that runs the crew.

use std::sync::Arc;

use super::obey::Obeys;
use super::{Shared, lock};
use crate::agent::driver::{Control, blocking};
use crate::domain::ids::{LetterId, Name, PromptId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::request::{Asking, Decision, RequestKind, Verdict};
use crate::domain::stamp::Stamp;
use crate::protocol::Command;
use crate::protocol::event::{EventKind, Level};
use crate::store::{PROMPTS_MAX, Post, QueuedPrompt, Roster, StoreError};

impl Obeys for Shared {
    async fn carry_out(self: &Arc<Self>, command: Command) -> Result<(), String> {
        match command {
            Command::Prompt { to, text } => prompt(self, to, text).await,
            Command::Interrupt { agent } => interrupt(self, &agent),
            Command::Compact { agent, focus } => compact(self, &agent, focus),
            Command::KillJob { job } => self.jobs.kill(&job, &Name::user()),
            Command::Decide(decision) => self.decide(decision).await.map(|_| ()),
            Command::Allow { request, scope } => self.allow(&request, scope).await,
            Command::TakeBack { rule } => self.take_back(rule).await,
            Command::AskShutdown { member } => ask_shutdown(self, &member).await,
            Command::Force { member } => self.force(&member),
            Command::Nudge { member } => self.nudge(&member).await,
            Command::Task(wish) => self.act_for_person(*wish).await,
            Command::Merge { task } => self.merge_asked(vec![task]).await,
            Command::MergeAll { tasks } => self.merge_asked(tasks).await,
            Command::JudgeWorktree { task } => self.judge_worktree(task).await,
            Command::RemoveWorktree { task, told } => self.remove_worktree(task, told).await,
            Command::ShowDiff { task } => self.show_diff(task).await,
            Command::ListModels => list_models(self).await,
            Command::UseModel { name } => {
                use_model(self, name).await;
                Ok(())
            }
        }
    }

    async fn tell(&self, event: EventKind) {
        self.publish(event).await;
    }

    fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(work);
    }

    async fn stopped(&self) {
        self.stop.cancelled().await;
    }
}

async fn prompt(shared: &Arc<Shared>, to: Name, text: String) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("An empty message was not sent.".into());
    }
    if !to.is_lead() {
        return write_to_mate(shared, &to, &text).await;
    }
    if shared.handle(&to).is_none() {
        return Err("the lead is not running".into());
    }
    if shared.prompts.waiting() >= PROMPTS_MAX {
        return Err("The lead has too many queued messages: wait until it has read some.".into());
    }
    let id = PromptId((shared.new_id)());
    let queue = Arc::clone(&shared.prompts);
    let written = blocking(move || queue.push(QueuedPrompt { id, text })).await;
    if let Err(error) = written {
        let text =
            format!("A message for the lead could not be saved and is in memory only: {error}");
        shared.notice(Level::Warn, text).await;
    }
    shared.changed();
    Ok(())
}

async fn write_to_mate(shared: &Arc<Shared>, to: &Name, text: &str) -> Result<(), String> {
    let (roster, post) = (shared.roster.clone(), shared.post.clone());
    let letter = from_person(to, text, (shared.new_id)(), shared.now());
    blocking(move || send_to_member(&roster, &post, &letter))
        .await
        .map_err(|e| e.to_string())?;
    shared.changed();
    Ok(())
}

/// Creates a message from the user.
pub(super) fn from_person(to: &Name, text: &str, id: String, now: Stamp) -> Letter {
    let kind = LetterKind::Message;
    Letter::new(LetterId(id), kind, &Name::user(), to, text, now)
}

/// Sends a message to a member. Fails if no member with that name is present, since the message would stay unread.
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
            "{agent} is not in a turn: there is nothing to interrupt."
        ));
    }
    // A full queue already contains an interrupt.
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
        .map_err(|_| format!("{agent} has too many queued messages: wait until it has read some."))
}

async fn ask_shutdown(shared: &Arc<Shared>, member: &Name) -> Result<(), String> {
    if shared.handle(member).is_none() || member.is_lead() {
        return Err(format!("'{member}' is not a running teammate."));
    }
    let body = "Requested by the user.".to_string();
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

/// Publishes the models that the server offers. Gives up without an answer if the crew stops.
async fn list_models(shared: &Shared) -> Result<(), String> {
    let model = Arc::clone(&shared.engine().model);
    let listed = tokio::select! {
        () = shared.stop.cancelled() => return Ok(()),
        listed = model.list() => listed,
    };
    let names =
        listed.map_err(|error| format!("The models cannot be listed: {error}. {}", error.hint))?;
    shared.publish(EventKind::ModelsListed { names }).await;
    Ok(())
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
