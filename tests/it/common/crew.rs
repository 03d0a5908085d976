//! A crew within the test's process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crewdeck::agent::driver::{ModelConfig, ModelOptions};
use crewdeck::app::new_id;
use crewdeck::crew::{
    Approvers, BudgetParts, CrewParts, ExtensionParts, InstructionParts, ModelParts, NamedModels,
    SessionParts, SharedParts, TeamLimits,
};
use crewdeck::domain::named_model::ModelUses;
use crewdeck::domain::permission::SettingsPermissions;
use crewdeck::domain::request::Approver;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::model::Model;
use crewdeck::protocol::EventSender;
use crewdeck::protocol::event::SessionInfo;
use crewdeck::store::{Roles, Skills};
use crewdeck::tools::policy::PermissionRules;

/// Returns the parts of a crew that runs in `root` and calls `model`. Without a user, plans, tools and shutdowns are
/// approved, but questions and larger budgets are denied.
pub fn crew_parts(
    root: &Path,
    event_sender: EventSender,
    clock: fn() -> Timestamp,
    model: Arc<dyn Model>,
) -> CrewParts {
    CrewParts {
        shared: SharedParts::files(root),
        session: SessionParts {
            published: None,
            info: SessionInfo {
                session: new_id(),
                root: "here".into(),
                provider: "script".into(),
                model: "script".into(),
                scripted: true,
                git: false,
                window: None,
                tools: Vec::new(),
                earlier: false,
                allowed: SettingsPermissions::default(),
                checks: false,
            },
        },
        models: ModelParts {
            model_config: ModelConfig {
                model,
                name: "script".into(),
                window: None,
                price: None,
                max_tokens: 1000,
                options: ModelOptions::default(),
            },
            prices: std::collections::BTreeMap::new(),
            is_chosen: false,
            max_tokens: 1000,
            named: Arc::new(NoNamedModels),
            uses: ModelUses::default(),
            calls_max: 4,
        },
        approvers: Approvers {
            plan: Approver::Auto,
            shutdown: Approver::Auto,
            tool: Approver::Auto,
            budget: Approver::Deny,
            question: Approver::Deny,
        },
        limits: TeamLimits {
            agents_max: 16,
            idle_timeout: Some(Duration::from_secs(1)),
            checkpoints: None,
        },
        budgets: BudgetParts::default(),
        rules: PermissionRules::default(),
        tools: None,
        tool_timeout: Duration::from_secs(20),
        supervisor: None,
        compact_at: 80,
        resumes: false,
        instructions: InstructionParts {
            memory: Arc::default(),
            skills: Skills::open(root, None),
            roles: Roles::open(root, None, crewdeck::tools::table::names()),
        },
        preset: None,
        extensions: ExtensionParts::default(),
        worktrees: None,
        event_sender,
        clock,
        new_id,
        jitter: || 0.5,
    }
}

/// The settings contain no named models.
struct NoNamedModels;

impl NamedModels for NoNamedModels {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Option<Result<ModelConfig, String>> {
        None
    }
}
