//! Executes the user's commands in the process that runs the crew.

use std::sync::Arc;

use super::attachments;
use super::budget::TeamBudget;
use super::checkpoints::CheckpointService;
use super::command_loop::CommandHandler;
use super::context::CrewContext;
use super::hook_session;
use super::jobs::JobRunner;
use super::lead_inbox::LeadInbox;
use super::merge_service::MergeService;
use super::message_delivery::MessageDelivery;
use super::models::ModelSwitch;
use super::prompt_waits::PromptWaits;
use super::registry::{AgentHandle, AgentRegistry};
use super::request_broker::RequestBroker;
use super::server_prompt::{self, calls_prompt};
use super::servers::CrewServers;
use super::session_permissions::SessionPermissions;
use super::shutdown::Shutdowns;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use super::teammate::Teammates;
use super::user_actions::UserActions;
use super::user_shell::UserShell;
use super::worktree_removal::WorktreeRemoval;
use crate::agent::driver::{Control, run_blocking};
use crate::domain::attachment::Attachment;
use crate::domain::hook::HookEvent;
use crate::domain::ids::{Name, PromptId};
use crate::domain::mention::Mention;
use crate::domain::request::{Decision, NewRequest, RequestKind, Verdict};
use crate::domain::team_preset::LeadMode;
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};
use crate::protocol::{Command, TaskCommand};
use crate::store::{PROMPTS_MAX, QueuedPrompt, team_preset};
use crate::tools::host::Host;

/// Executes the user's commands by calling the components that they affect.
pub struct Commands {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub registry: Arc<AgentRegistry>,
    pub lead: Arc<LeadInbox>,
    pub delivery: Arc<MessageDelivery>,
    pub team: Arc<TeamRoster>,
    pub jobs: Arc<JobRunner>,
    pub broker: Arc<RequestBroker>,
    pub permissions: Arc<SessionPermissions>,
    pub shutdowns: Arc<Shutdowns>,
    pub user_actions: UserActions,
    pub merges: Arc<MergeService>,
    pub removal: WorktreeRemoval,
    pub models: Arc<ModelSwitch>,
    pub directories: DirectoryCommands,
    pub budget: Arc<TeamBudget>,
    pub teammates: Arc<Teammates>,
    pub host: Arc<dyn Host>,
    pub servers: Option<Arc<CrewServers>>,
    pub waits: PromptWaits,
}

/// Carries out the commands that act in the work directories of agents.
pub struct DirectoryCommands {
    pub shell: UserShell,
    pub checkpoints: CheckpointService,
}

impl CommandHandler for Commands {
    #[allow(clippy::too_many_lines)] // one list of commands
    async fn carry_out(self: &Arc<Self>, command: Command) -> Result<(), String> {
        if let Some(why) = process_of(&command).and_then(|agent| self.team.remote_error(agent)) {
            return Err(why);
        }
        match command {
            Command::Prompt {
                to,
                text,
                attachments,
            } => self.prompt(to, text, attachments).await,
            Command::RecallPrompt { text } => self.recall_prompt(text).await,
            Command::RunShell { agent, command } => {
                self.directories.shell.run(&agent, command).await
            }
            Command::Interrupt { agent } if self.directories.shell.interrupt(&agent) => Ok(()),
            Command::Interrupt { agent } => {
                let hooks = self.context.hooks.as_ref();
                let hooks_ran = hooks.is_some_and(|hooks| hooks.interrupt(&agent));
                let mut were_running = self.waits.interrupt(&agent) || hooks_ran;
                were_running |= self.user_actions.stop_checks(&agent);
                were_running |= self.removal.interrupt(&agent);
                // An agent that waits for it then reads that it was interrupted, and its turn is interrupted too.
                were_running |= self.teammates.worktrees.interrupt_setup(&agent);
                // A merge of the user is shown with the board, which has no interruption of its own.
                were_running |= agent.is_lead() && self.merges.stop_user_train();
                match self.registry.interrupt(&agent) {
                    Err(_) if were_running => Ok(()),
                    Err(why) => Err(self.team.remote_error(&agent).unwrap_or(why)),
                    Ok(()) => Ok(()),
                }
            }
            Command::Compact { agent, focus } => self.control(&agent, Control::Compact(focus)),
            Command::Clear { agent } => self.control(&agent, Control::Clear),
            Command::ListCheckpoints { agent } => self.directories.checkpoints.list(&agent).await,
            Command::ShowCheckpoint { agent, checkpoint } => {
                self.directories.checkpoints.show(&agent, checkpoint).await
            }
            Command::Rewind {
                agent,
                checkpoint,
                scope,
            } => {
                self.directories
                    .checkpoints
                    .rewind(&agent, checkpoint, scope)
                    .await
            }
            Command::KillJob { job } => self.jobs.kill(&job, &Name::user()),
            Command::Decide(decision) => self.broker.decide(decision).await.map(|_| ()),
            Command::Allow { request, scope } => self.permissions.allow(&request, scope).await,
            Command::RevokePermission { rule } => self.permissions.revoke(rule).await,
            Command::Server { name, action } => match &self.servers {
                Some(servers) => servers.act(&name, action).await,
                None => Err("no MCP server is configured.".into()),
            },
            Command::ListOffers { start } => {
                if let Some(servers) = &self.servers {
                    servers.list_offers(start.as_deref());
                }
                Ok(())
            }
            Command::AskShutdown { member } => self.ask_shutdown(&member).await,
            Command::Force { member } => self.shutdowns.force(&member),
            Command::Nudge { member } => {
                self.check_teammate(&member)?;
                self.shutdowns.nudge(&member).await
            }
            Command::Task(command) => {
                let lead = self.registry.find(&Name::lead());
                self.user_actions
                    .act(*command, lead.as_ref(), Some(&*self.host))
                    .await
            }
            Command::Merge { task } => self.merges.merge_for_user(vec![task]).await,
            Command::MergeAll { tasks } => self.merges.merge_for_user(tasks).await,
            Command::InspectWorktree { task } => self.removal.publish_losses(task).await,
            Command::RemoveWorktree { task, confirmed } => {
                let lead = self.registry.find(&Name::lead());
                self.removal.remove(task, confirmed, lead.as_ref()).await
            }
            Command::ShowDiff { task } => self.merges.show_diff(task).await,
            Command::ShowMemory { agent } => {
                let mailbox = self.registry.mailbox_of(&agent);
                let given = mailbox
                    .ok_or_else(|| format!("{agent} is not running."))?
                    .given_texts();
                let report = self.teammates.builder.memory().report(&agent, given);
                let event = CrewEvent::MemoryShown(report);
                self.context.publish(EventKind::Crew(event)).await;
                Ok(())
            }
            Command::StartTeam { preset } => self.start_team(preset).await,
            Command::ListModels => self.models.list().await,
            Command::UseModel { name, agent } => {
                self.models.switch_to(name.clone(), agent.as_ref()).await?;
                let choice = self.models.choice(name);
                let stored = match agent {
                    Some(agent) => self.team.set_model(&agent, choice).await,
                    None => self.team.set_lead_model(Some(choice)).await,
                };
                stored.map_err(|e| format!("The model cannot be stored: {e}"))?;
                self.budget.warn_without_effect().await;
                Ok(())
            }
        }
    }

    fn runs_in_background(&self, command: &Command) -> bool {
        let has_hooks = self.has_hooks(HookEvent::UserPromptSubmit);
        command.reads_attachments() || (has_hooks && matches!(command, Command::Prompt { .. }))
    }

    fn is_slow(&self, command: &Command) -> bool {
        let adds =
            matches!(command, Command::Task(change) if matches!(**change, TaskCommand::Add { .. }));
        command.is_slow() || (adds && self.has_hooks(HookEvent::TaskCreated))
    }

    async fn publish(&self, event: EventKind) {
        self.context.publish(event).await;
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.context.spawn(work);
    }

    async fn wait_for_stop(&self) {
        self.context.stop.cancelled().await;
    }
}

impl Commands {
    fn has_hooks(&self, event: HookEvent) -> bool {
        let hooks = self.context.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.has_hooks(event))
    }

    async fn prompt(
        &self,
        to: Name,
        text: String,
        attachments: Vec<Mention>,
    ) -> Result<(), String> {
        if text.trim().is_empty() {
            return Err("An empty message was not sent.".into());
        }
        // The crew counts as busy, so that `crewdeck run` does not end while a large image is read.
        let _busy = self.signals.busy();
        let reading = self.read_attachments(&text, attachments);
        let waits = self.waits.wait(&self.context, &self.registry, &to, reading);
        let attachments = waits.await?;
        if !to.is_lead() {
            let agent = self.registry.find(&to);
            let recipient = (&to, agent.as_ref());
            let context = self.check_prompt(recipient, &text).await?;
            let sent = self
                .delivery
                .send_from_user(&to, (&text, context), &attachments, self.team.store())
                .await;
            return sent.map_err(|e| e.to_string());
        }
        let Some(lead) = self.registry.find(&to) else {
            return Err("the lead is not running".into());
        };
        if self.lead.prompts_waiting() >= PROMPTS_MAX {
            return Err(
                "The lead has too many queued messages: wait until it has read some.".into(),
            );
        }
        let recipient = (&to, Some(&lead));
        let context = self.check_prompt(recipient, &text).await?;
        let prompt = QueuedPrompt {
            id: PromptId(self.context.new_id()),
            text,
            attachments,
            context,
        };
        if let Err(error) = self.lead.add_prompt(prompt).await {
            let text = format!(
                "A message to the lead could not be saved ({error}). It is lost if crewdeck ends before the lead reads it."
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        self.signals.files_changed();
        Ok(())
    }

    /// Runs the `UserPromptSubmit` hooks of a message that the user sends in this process. Returns the texts that the
    /// hooks add for the model.
    ///
    /// # Errors
    /// Returns why the message must not be sent.
    async fn check_prompt(
        &self,
        recipient: (&Name, Option<&AgentHandle>),
        text: &str,
    ) -> Result<Vec<String>, String> {
        let checked = hook_session::check_prompt(&self.context, recipient, &*self.host, text).await;
        checked.map_err(|why| format!("The message was not sent: {why}"))
    }

    /// Reads the files and resources that a message mentions, and the prompt of an MCP server if the message calls one.
    ///
    /// # Errors
    /// Returns one line for the user that says what cannot be read and why. The message must then not be sent.
    async fn read_attachments(
        &self,
        text: &str,
        mentions: Vec<Mention>,
    ) -> Result<Vec<Attachment>, String> {
        let (root, redactor) = (&self.context.root, self.context.event_sender.redactor());
        let pool = self.servers.as_ref().map(|servers| servers.pool());
        let mut all = match pool {
            Some(pool) if calls_prompt(self.teammates.builder.skills(), text).await => {
                server_prompt::read(pool, root, text, redactor).await?
            }
            _ => Vec::new(),
        };
        let servers = pool.ok_or("no MCP server is configured");
        all.extend(attachments::read(root, mentions, redactor, servers).await?);
        Ok(all)
    }

    async fn start_team(&self, name: String) -> Result<(), String> {
        let root = self.context.root.clone();
        let wanted = name.clone();
        let read = run_blocking(move || Ok(team_preset(&root, &wanted))).await;
        let preset = read.map_err(|e| e.to_string())??;
        if preset.lead == LeadMode::Delegate {
            let text = format!(
                "The lead keeps its tools: lead = \"delegate\" applies only if crewdeck starts with --team {name}."
            );
            self.context.notice(NoticeLevel::Info, text).await;
        }
        let teammates = Arc::clone(&self.teammates);
        teammates
            .start_all(preset.members, Arc::clone(&self.host))
            .await;
        Ok(())
    }

    async fn recall_prompt(&self, text: String) -> Result<(), String> {
        match self.lead.recall_prompt(text).await {
            Ok(true) => Ok(()),
            Ok(false) => Err("The lead has read that message already.".into()),
            Err(error) => Err(format!(
                "The message was taken back, but not deleted from disk ({error}). A resumed session still reads it."
            )),
        }
    }

    fn control(&self, agent: &Name, control: Control) -> Result<(), String> {
        let handle = self
            .registry
            .find(agent)
            .ok_or_else(|| format!("{agent} is not running"))?;
        handle.control.try_send(control).map_err(|_| {
            format!("{agent} has too many queued messages: wait until it has read some.")
        })
    }

    /// Fails if `member` is no teammate that runs here or on another host.
    fn check_teammate(&self, member: &Name) -> Result<(), String> {
        match self.team.remote_host(member) {
            Some(_) => Ok(()),
            None => self.registry.find_teammate(member).map(drop),
        }
    }

    async fn ask_shutdown(&self, member: &Name) -> Result<(), String> {
        self.check_teammate(member)?;
        let body = "Requested by the user.".to_string();
        let asking = NewRequest::new(RequestKind::Shutdown, member, body);
        let request = self.broker.file(&Name::user(), asking).await?;
        if !request.is_pending() {
            return Ok(());
        }
        let decision = Decision::on(&request, Verdict::Approve, Name::user(), String::new());
        self.broker.decide(decision).await.map(|_| ())
    }
}

/// Returns the agent whose process the command needs; `None` if it needs only the shared state, or can also concern what this
/// process does for the agent.
fn process_of(command: &Command) -> Option<&Name> {
    match command {
        Command::RunShell { agent, .. }
        | Command::Compact { agent, .. }
        | Command::Clear { agent }
        | Command::ListCheckpoints { agent }
        | Command::ShowCheckpoint { agent, .. }
        | Command::Rewind { agent, .. }
        | Command::ShowMemory { agent }
        | Command::UseModel {
            agent: Some(agent), ..
        } => Some(agent),
        Command::Force { member } => Some(member),
        _ => None,
    }
}
