//! Builds an agent: its tools, its system prompt and its driver.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::context::CrewContext;
use super::models::ModelSwitch;
use super::registry::AgentHandle;
use super::roles::{AppliedRole, RoleBook};
use super::skills::SkillWatch;
use crate::acp::AcpAgent;
use crate::agent::budget_gate::BudgetGate;
use crate::agent::checkpoint_state::AgentCheckpoints;
use crate::agent::driver::{AgentModel, Control, Driver, DriverState};
use crate::agent::external::{ExternalModel, ExternalPermissions, OwnTools, SessionMemory};
use crate::agent::external_tools::ExternalTools;
use crate::agent::hooks::AgentHooks;
use crate::agent::mailbox::AgentMailbox;
use crate::agent::progress_check::ProgressCheck;
use crate::agent::prompt::PromptContext;
use crate::agent::server_tools::ServerTools;
use crate::agent::tool_runner::{SharedRules, ToolRunner};
use crate::agent::turn::{Turn, TurnInput, TurnLimits};
use crate::domain::environment::Environment;
use crate::domain::ids::Name;
use crate::domain::mcp::{ServerStatus, TOOL_PREFIX};
use crate::domain::memory::ProjectMemory;
use crate::domain::role::ToolSelection;
use crate::domain::subagent::GENERAL_PURPOSE;
use crate::domain::team_preset::LeadMode;
use crate::model::ToolSpec;
use crate::process::supervisor::Supervisor;
use crate::protocol::event::TurnEnd;
use crate::store::{PromptQueue, Skills, Stores};
use crate::tools::host::Host;
use crate::tools::policy::PlanGate;
use crate::tools::{Access, Caller, Tool, table};

pub struct Agent {
    pub driver: Driver,
    pub control: mpsc::Receiver<Control>,
    pub handle: AgentHandle,
}

/// Why the turns of a host end that has lost its session on the hub.
const HUB_LOST: &str = "this host could not reach the hub for too long";

/// Returns the command that ends a turn because the crew stops.
pub(super) fn stop_turn(context: &CrewContext) -> Control {
    if context.may_act() {
        Control::Interrupt
    } else {
        Control::Abandon(HUB_LOST)
    }
}

impl Agent {
    /// Runs one turn and returns how it ended. If the crew stops during the turn, interrupts the turn, waits until it has
    /// ended so that the conversation on disk is complete, and returns `None`.
    pub async fn run_turn(&mut self, start: TurnInput, context: &CrewContext) -> Option<TurnEnd> {
        let Agent {
            driver,
            control,
            handle,
        } = self;
        let interrupt = async {
            context.stop.cancelled().await;
            // If the queue is full, the interrupt is lost. The turn then ends when the process exits.
            let _ = handle.control.try_send(stop_turn(context));
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            biased;
            () = interrupt => None,
            end = driver.turn(start, control) => Some(end),
        };
        end.filter(|_| !context.stop.is_cancelled())
    }
}

/// The properties of one agent, as input for [`AgentBuilder::build`]. Settings that all agents share are in
/// `AgentSettings`.
pub struct AgentSpec<'a> {
    pub name: Name,
    pub caller: Caller,
    pub limits: TurnLimits,
    pub gate: PlanGate,
    pub tags: Vec<String>,
    /// The agent's name, role and team as text, which is added to the conversation again after a compaction. Empty for
    /// the lead and for subagents.
    pub identity: String,
    pub model: Arc<AgentModel>,
    /// The agent's role; `None` if no role file defines it.
    pub role: Option<AppliedRole>,
    /// Limits on the agent's tools in addition to those of its role. For a subagent, these are the limits of its
    /// parent. The agent gets a tool only if all limits permit it.
    pub tools: Vec<ToolSelection>,
    /// The list of roles for the system prompt of the lead. Empty for all other agents.
    pub roles: String,
    pub system: &'a (dyn Fn(&PromptContext) -> String + Sync),
}

/// The properties of an external agent that [`AgentSpec`] does not contain, as input for
/// [`AgentBuilder::build_external`].
pub struct ExternalSpec {
    pub agent: Arc<AcpAgent>,
    pub memory: Arc<dyn SessionMemory>,
    /// The name of the model that the external agent uses; empty for the agent's default model.
    pub model: String,
    /// Maximum time in a turn for which the agent may show no activity while none of its tool calls runs. After that
    /// time, the turn fails.
    pub idle_limit: Duration,
}

/// The external agent of a teammate, and the crew's tools for it. The agent cannot call the tools before
/// `ExternalAgents::connect` has given it access to them.
pub struct ExternalTeammate {
    pub model: Arc<ExternalModel>,
    pub tools: ExternalTools,
}

pub struct AgentSettings {
    /// The names of the tools that the settings allow; `None` allows all tools.
    pub tools: Option<Vec<String>>,
    /// Maximum run time of a program that an agent's tool call starts.
    pub tool_timeout: Duration,
    /// The supervisor of the programs that agents start. With `None`, programs run without a supervisor.
    pub supervisor: Option<Arc<Supervisor>>,
    pub rules: SharedRules,
    /// Percentage of the model's context window. A conversation that fills more is compacted.
    pub compact_at: u64,
    /// The number of model calls in a row without progress after which an agent that can write files pauses; 0 for no
    /// limit.
    pub calls_without_progress: u32,
    /// The project's instruction files (AGENTS.md or CLAUDE.md) for the system prompts.
    pub memory: Arc<ProjectMemory>,
    /// Facts about the machine and the project, collected when the crew starts.
    pub environment: Environment,
    /// Returns a random number from 0 to 1. It varies the delays before retries of model calls, so that agents do not
    /// all retry at the same time.
    pub jitter: fn() -> f64,
}

pub struct AgentStores {
    pub shared: Stores,
    /// The user's prompts that wait for the lead.
    pub prompts: Arc<PromptQueue>,
    /// The checkpoints; `None` if none are recorded.
    pub checkpoints: Option<AgentCheckpoints>,
}

pub struct AgentBuilder {
    context: Arc<CrewContext>,
    pub models: Arc<ModelSwitch>,
    skills: Arc<SkillWatch>,
    pub roles: Arc<RoleBook>,
    budget_gate: Arc<dyn BudgetGate>,
    settings: AgentSettings,
    stores: AgentStores,
}

impl AgentBuilder {
    pub fn new(
        context: Arc<CrewContext>,
        models: Arc<ModelSwitch>,
        skills: Arc<SkillWatch>,
        roles: Arc<RoleBook>,
        budget_gate: Arc<dyn BudgetGate>,
        settings: AgentSettings,
        stores: AgentStores,
    ) -> AgentBuilder {
        AgentBuilder {
            context,
            models,
            skills,
            roles,
            budget_gate,
            settings,
            stores,
        }
    }

    pub fn skills(&self) -> &Skills {
        self.skills.store()
    }

    /// Returns the project's instruction files, which are part of every agent's system prompt.
    pub fn memory(&self) -> &ProjectMemory {
        &self.settings.memory
    }

    /// Returns the tools for agents of the kind `caller`, without those that the settings exclude, in the order of the
    /// tool table.
    fn tools_for(&self, caller: Caller) -> Vec<&'static Tool> {
        table::for_caller(caller)
            .filter(|t| {
                self.settings
                    .tools
                    .as_ref()
                    .is_none_or(|only| only.iter().any(|n| n == t.name))
            })
            .collect()
    }

    /// Returns the object through which the new agent runs hooks; `None` if no hook is configured.
    fn hooks_of(&self, spec: &AgentSpec<'_>) -> Option<AgentHooks> {
        let hooks = self.context.hooks.as_ref()?;
        let role = spec.role.as_ref().map(|role| role.role.name.clone());
        let kind = match spec.caller {
            Caller::Subagent(kind) => role.unwrap_or_else(|| kind.claude_name().into()),
            Caller::Teammate | Caller::ExternalTeammate => {
                role.unwrap_or_else(|| GENERAL_PURPOSE.into())
            }
            Caller::Lead => String::new(),
        };
        Some(hooks.for_agent(&spec.name, kind))
    }

    /// Returns the queue of the commands that the user runs in the conversation of `agent`; `None` for a subagent.
    fn user_commands(&self, agent: &Name) -> Option<Arc<PromptQueue>> {
        let (root, session) = (&self.context.root, &self.context.session);
        let redactor = self.context.event_sender.redactor();
        let queue = || PromptQueue::of_commands(root, session, agent, redactor);
        agent.parent().is_none().then(|| Arc::new(queue()))
    }

    /// Returns the definitions of `tools` for the model of an agent of the kind `caller`.
    fn tool_specs(&self, caller: Caller, tools: &[&'static Tool]) -> Vec<ToolSpec> {
        let text = |tool| table::text(tool, caller, tools, self.settings.tool_timeout);
        let spec = |tool: &&'static Tool| ToolSpec::new(tool.name, text(tool), &(tool.schema)());
        tools.iter().map(spec).collect()
    }

    /// Returns the progress check of an agent. The check is disabled for subagents, because their model calls are
    /// limited and their parent is checked. It is also disabled for agents without a tool that writes files, because
    /// reading is their work.
    fn progress_check(&self, agent: &Name, tools: &[&'static Tool]) -> ProgressCheck {
        let writes = tools.iter().any(|tool| tool.access == Access::Write);
        let is_checked = writes && agent.parent().is_none();
        ProgressCheck::new(if is_checked {
            self.settings.calls_without_progress
        } else {
            0
        })
    }

    /// Returns all limits on the tools of an agent: those of its role, followed by `spec.tools`.
    fn limits_of(spec: &AgentSpec<'_>) -> Arc<[ToolSelection]> {
        let own = spec.role.as_ref().map(|r| r.role.limits());
        let own = own.unwrap_or_default().into_iter();
        own.chain(spec.tools.iter().cloned()).collect()
    }

    /// Returns crewdeck's own tools that an agent may use: those that the settings allow for its kind of agent and that
    /// all `limits` permit. Also contains the tool that submits a plan if the agent needs an approved plan.
    fn tools_of(&self, spec: &AgentSpec<'_>, limits: &[ToolSelection]) -> Vec<&'static Tool> {
        let mut tools = self.tools_for(spec.caller);
        tools.retain(|tool| {
            limits
                .iter()
                .all(|limit| limit.permits(tool.name, tool.used_for))
        });
        // An agent that needs an approved plan must be able to submit a plan, even if the settings exclude the tool for
        // it.
        let submit = table::find(table::SUBMIT_PLAN).filter(|_| spec.gate == PlanGate::Closed);
        tools.extend(submit.filter(|s| !tools.iter().any(|t| t.name == s.name)));
        tools
    }

    /// Creates the tool runner of an agent, which carries out the agent's tool calls.
    fn tool_runner(&self, spec: &AgentSpec<'_>, host: Arc<dyn Host>) -> ToolRunner {
        let user_commands = self.user_commands(&spec.name);
        ToolRunner {
            tools: Arc::new(self.tools_of(spec, &Self::limits_of(spec))),
            rules: Arc::clone(&self.settings.rules),
            mailbox: Arc::new(AgentMailbox::new(spec.gate, user_commands)),
            skills: self.skills.store().clone(),
            servers: self.servers_of(spec, &*host),
            host,
            root: self.context.root.clone(),
            stores: self.stores.shared.clone(),
            workdir: self.context.root.clone(),
            timeout: self.settings.tool_timeout,
            redactor: self.context.event_sender.redactor().clone(),
            supervisor: self.settings.supervisor.clone(),
            snapshots: Arc::default(),
            hooks: self.hooks_of(spec).map(Arc::new),
            is_external: spec.caller == Caller::ExternalTeammate,
            clock: self.context.clock,
        }
    }

    /// Returns the tools of MCP servers for an agent; `None` if there are no MCP servers, or if the settings and the
    /// agent's limits exclude all of them.
    fn servers_of(&self, spec: &AgentSpec<'_>, host: &dyn Host) -> Option<Arc<ServerTools>> {
        let servers = host.servers()?;
        let only = self.settings.tools.as_deref();
        let owner = spec.role.as_ref().map(|r| r.role.name.as_str());
        let limits = Self::limits_of(spec);
        let specs = self.tool_specs(spec.caller, &self.tools_of(spec, &limits));
        let seen = without_servers_of_others(&limits, owner, &servers.status());
        ServerTools::new(servers, only, seen, spec.caller, Arc::new(specs)).map(Arc::new)
    }

    /// Returns whether an external agent may change files and run commands with the tools of its own program. Each is
    /// permitted if the settings and the agent's limits permit crewdeck's tools for the same purpose.
    fn own_tools(&self, spec: &AgentSpec<'_>) -> OwnTools {
        let limits = Self::limits_of(spec);
        let only = self.settings.tools.as_ref();
        OwnTools::new(|name, used_for| {
            only.is_none_or(|only| only.iter().any(|n| n == name))
                && limits.iter().all(|limit| limit.permits(name, used_for))
        })
    }

    /// Builds a teammate that is an external agent. `spec.caller` must be [`Caller::ExternalTeammate`]. `spec.model` is
    /// ignored: the external agent in `external` answers the teammate's prompts.
    pub fn build_external(
        &self,
        mut spec: AgentSpec<'_>,
        host: Arc<dyn Host>,
        external: ExternalSpec,
    ) -> (Agent, ExternalTeammate) {
        let runner = self.tool_runner(&spec, host);
        // The agent calls these tools through the agent socket.
        let tools = ExternalTools::new(spec.name.clone(), runner.clone());
        let permissions = ExternalPermissions {
            agent: spec.name.clone(),
            own_tools: self.own_tools(&spec),
            servers: runner.servers.clone(),
            runner: ToolRunner {
                servers: None,
                ..runner.clone()
            },
        };
        let name = match external.model.as_str() {
            "" => external.agent.agent().name.clone(),
            model => format!("{} {model}", external.agent.agent().name),
        };
        let model = Arc::new(ExternalModel::new(
            external.agent,
            permissions,
            external.memory,
            external.model,
            external.idle_limit,
        ));
        spec.model = self.models.of_external(Arc::clone(&model) as _, name);
        let agent = self.build_with(spec, runner);
        (agent, ExternalTeammate { model, tools })
    }

    /// Builds an agent. The agent's tools call the crew through `host`. The agent is not running yet and is not in the
    /// registry.
    pub fn build(&self, spec: AgentSpec<'_>, host: Arc<dyn Host>) -> Agent {
        let runner = self.tool_runner(&spec, host);
        self.build_with(spec, runner)
    }

    fn build_with(&self, spec: AgentSpec<'_>, tool_runner: ToolRunner) -> Agent {
        let role = spec.role.as_ref();
        let limits = Self::limits_of(&spec);
        let tools = Arc::clone(&tool_runner.tools);
        let mailbox = Arc::clone(&tool_runner.mailbox);
        let rounds = role.and_then(|r| r.role.rounds_max).or(spec.limits.rounds);
        let prompt_context = PromptContext {
            workdir: self.context.root.display().to_string(),
            memory: Arc::clone(&self.settings.memory),
            skills: self.skills.catalog().skills.clone(),
            role: role.map(|r| r.text.clone()).unwrap_or_default(),
            roles: spec.roles.clone(),
            environment: self.settings.environment.clone(),
            tools: tools.iter().map(|t| t.name.to_string()).collect(),
        };
        let side_by_side = tools
            .iter()
            .filter(|t| matches!(t.access, Access::Read | Access::Delegate))
            .map(|t| t.name.into())
            .collect();
        let progress_check = self.progress_check(&spec.name, &tools);
        let specs = Arc::new(self.tool_specs(spec.caller, &tools));
        for text in role.iter().flat_map(|r| &r.given) {
            mailbox.record_given(text.clone());
        }
        let model = Arc::clone(&spec.model);
        let (mut handle, control) = AgentHandle::new(mailbox, model, spec.tags, limits);
        handle.effort = role.and_then(|r| r.role.effort);
        // The checkpoint of the parent, before it starts a subagent, also covers what the subagent changes.
        let is_subagent = spec.name.parent().is_some();
        let checkpoints = self.stores.checkpoints.clone().filter(|_| !is_subagent);
        let driver = Driver {
            system: (spec.system)(&prompt_context),
            specs,
            model: spec.model,
            tool_runner,
            budget_gate: Arc::clone(&self.budget_gate),
            progress_check,
            event_sender: self.context.event_sender.clone(),
            // Subagents receive no messages.
            mailbox: spec
                .name
                .parent()
                .is_none()
                .then(|| self.stores.shared.mailbox.clone()),
            prompts: spec
                .name
                .is_lead()
                .then(|| Arc::clone(&self.stores.prompts)),
            board: self.stores.shared.board.clone(),
            identity: spec.identity,
            effort: handle.effort,
            lead_mode: LeadMode::default(),
            compact_at: self.settings.compact_at,
            requests: self.stores.shared.requests.clone(),
            transcript: self.context.transcript(&spec.name),
            clock: self.context.clock,
            jitter: self.settings.jitter,
            state: DriverState::new(Turn::new(TurnLimits {
                parallel_tools: side_by_side,
                rounds,
                ..spec.limits
            }))
            .with_checkpoints(checkpoints),
            name: spec.name,
        };
        Agent {
            driver,
            control,
            handle,
        }
    }
}

/// Returns `limits` with an additional limit that hides the MCP servers of other roles. A server belongs to a role if
/// the role's file defines it. `role` is the agent's own role. The additional limit does not apply to the agent's
/// subagents, which have their own roles.
fn without_servers_of_others(
    limits: &Arc<[ToolSelection]>,
    role: Option<&str>,
    servers: &[ServerStatus],
) -> Arc<[ToolSelection]> {
    let is_others = |owner: &String| role.is_none_or(|role| !role.eq_ignore_ascii_case(owner));
    let hidden = servers
        .iter()
        .filter(|server| server.role.as_ref().is_some_and(is_others));
    let denied: Vec<String> = hidden
        .map(|server| format!("{TOOL_PREFIX}{}", server.name))
        .collect();
    if denied.is_empty() {
        return Arc::clone(limits);
    }
    let allowed = None;
    let hides = ToolSelection { allowed, denied };
    limits.iter().cloned().chain([hides]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::hub_test_support::lead_on_hub;
    use crate::crew::test_support::TestCrew;
    use crate::store::FakeHostSession;

    #[tokio::test]
    async fn turns_of_a_host_that_has_lost_the_hub_are_not_ended_by_the_user() {
        let mut context = lead_on_hub(&TestCrew::new());
        let session = FakeHostSession::new("home", "s");
        let host = Arc::get_mut(&mut context).and_then(|context| context.host.as_mut());
        host.unwrap().session = session.clone();
        assert!(matches!(stop_turn(&context), Control::Interrupt));
        session.end();
        assert!(matches!(stop_turn(&context), Control::Abandon(HUB_LOST)));
    }
}
