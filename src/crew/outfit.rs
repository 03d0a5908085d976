//! Builds an agent: its tools, its system prompt and its driver.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::ceilings::CrewMeter;
use super::host::CrewHost;
use super::subagent::SIDE_BY_SIDE;
use super::{CONTROL_MAX, Handle, Shared, Standing, lock};
use crate::agent::calls::Workshop;
use crate::agent::desk::Desk;
use crate::agent::driver::{Control, Driver, Engine, EngineSlot, State};
use crate::agent::prompt::Place;
use crate::agent::turn::{Limits, Turn};
use crate::domain::ids::Name;
use crate::model::ToolSpec;
use crate::store::Transcript;
use crate::tools::policy::PlanGate;
use crate::tools::{Access, Caller, Tool, table};

/// An agent that is ready to run.
pub struct Outfit {
    pub driver: Driver,
    pub control: mpsc::Receiver<Control>,
    pub handle: Handle,
}

/// The specification of an agent.
pub struct Order<'a> {
    pub name: Name,
    pub caller: Caller,
    pub limits: Limits,
    pub gate: PlanGate,
    pub tags: Vec<String>,
    /// A description of its role that is repeated after a compaction; empty for the lead.
    pub identity: String,
    /// The model's name; empty for the lead's model, including later changes of it.
    pub model: String,
    /// Creates the system prompt.
    pub system: &'a dyn Fn(&Place) -> String,
}

impl Shared {
    /// Returns the model configuration in use.
    pub(super) fn engine(&self) -> Engine {
        self.engine
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Switches to another model from the next call on. Its context window and price are unknown.
    pub(super) fn set_model(&self, name: &str) {
        let mut engine = self.engine.write().unwrap_or_else(PoisonError::into_inner);
        if engine.name != name {
            name.clone_into(&mut engine.name);
            engine.window = None;
            engine.price = None;
        }
    }

    /// Returns the configuration of an agent with its own model, or the shared one if `model` is empty.
    fn engine_for(&self, model: &str) -> EngineSlot {
        if model.is_empty() {
            return Arc::clone(&self.engine);
        }
        let engine = Engine {
            name: model.to_string(),
            window: None,
            price: self.prices.get(model).copied(),
            ..self.engine()
        };
        Arc::new(RwLock::new(engine))
    }

    /// Returns the tools of an agent, in the order of the tool table.
    pub(super) fn tools_for(&self, caller: Caller) -> Vec<&'static Tool> {
        table::for_caller(caller)
            .filter(|t| {
                self.tools
                    .as_ref()
                    .is_none_or(|only| only.iter().any(|n| n == t.name))
            })
            .collect()
    }

    /// Builds an agent from its specification.
    pub(super) fn outfit(self: &Arc<Self>, order: Order<'_>) -> Outfit {
        let mut tools = self.tools_for(order.caller);
        // An agent that needs an approved plan must be able to submit one, even if the settings exclude the tool.
        let submit = table::find(table::SUBMIT_PLAN).filter(|_| order.gate == PlanGate::Closed);
        tools.extend(submit.filter(|s| !tools.iter().any(|t| t.name == s.name)));
        let place = Place {
            workdir: shown(&self.root),
            memory: self.memory.clone(),
            skills: self.skill_book().skills.clone(),
            environment: self.environment.clone(),
            tools: tools.iter().map(|t| t.name.to_string()).collect(),
        };
        let side_by_side = tools
            .iter()
            .filter(|t| matches!(t.access, Access::Read | Access::Delegate))
            .map(|t| t.name.into())
            .collect();
        let specs = tools
            .iter()
            .map(|t| {
                ToolSpec::new(
                    t.name,
                    table::text(t, &tools, self.tool_timeout),
                    &(t.schema)(),
                )
            })
            .collect();
        let desk = Arc::new(Desk::new(order.gate));
        let (control, inbox) = mpsc::channel(CONTROL_MAX);
        let handle = Handle {
            control,
            desk: Arc::clone(&desk),
            standing: Arc::new(Mutex::new(Standing::Resting)),
            tags: order.tags,
            force: CancellationToken::new(),
        };
        let session = lock(&self.setup).session.clone();
        let driver = Driver {
            system: (order.system)(&place),
            specs: Arc::new(specs),
            engine: self.engine_for(&order.model),
            workshop: Workshop {
                tools: Arc::new(tools),
                rules: Arc::clone(&self.rules),
                desk,
                skills: self.skills.clone(),
                host: Arc::new(CrewHost {
                    shared: Arc::clone(self),
                    seats: Arc::new(Semaphore::new(SIDE_BY_SIDE)),
                }),
                root: self.root.clone(),
                board: self.board.clone(),
                workdir: self.root.clone(),
                timeout: self.tool_timeout,
                redactor: self.publisher.redactor().clone(),
                guard: self.guard.clone(),
                snapshots: Arc::default(),
                clock: self.clock,
            },
            meter: Arc::new(CrewMeter(Arc::clone(self))),
            publisher: self.publisher.clone(),
            // Subagents receive no messages.
            post: order.name.parent().is_none().then(|| self.post.clone()),
            prompts: order.name.is_lead().then(|| Arc::clone(&self.prompts)),
            board: self.board.clone(),
            identity: order.identity,
            compact_at: self.compact_at,
            requests: self.requests.clone(),
            transcript: Transcript::open(&self.root, &session, &order.name)
                .redacting(self.publisher.redactor()),
            clock: self.clock,
            jitter: self.jitter,
            state: State::new(Turn::new(Limits {
                side_by_side,
                ..order.limits
            })),
            name: order.name,
        };
        Outfit {
            driver,
            control: inbox,
            handle,
        }
    }
}

/// Formats a path for a prompt.
fn shown(path: &Path) -> String {
    PathBuf::from(path).display().to_string()
}
