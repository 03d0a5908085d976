//! Session permissions: commands that the user has allowed the whole team until crewdeck ends.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::{CrewContext, lock};
use super::request_broker::RequestBroker;
use crate::agent::tool_runner::SharedRules;
use crate::domain::ids::{Name, RequestId};
use crate::domain::permission::{PERMISSIONS_MAX, PermissionScope, SessionPermission};
use crate::domain::request::{Decision, Request, RequestKind, Verdict};
use crate::domain::text::{clip, one_line};
use crate::protocol::event::{EventKind, NoticeLevel, TeamEvent};
use crate::tools::pending;
use crate::tools::policy::{PlanGate, PolicyContext};

/// Maximum number of characters of a permission that a notice shows.
const SHOWN_MAX: usize = 160;

/// Grants and revokes session permissions, and publishes the changes.
pub struct SessionPermissions {
    context: Arc<CrewContext>,
    broker: Arc<RequestBroker>,
    /// The permission rules that the agents' tool calls are checked against.
    rules: SharedRules,
    given: Mutex<GrantedPermissions>,
}

/// The session permissions that are in effect, and the number of the permission that was granted last. The first number
/// is 1.
#[derive(Default)]
struct GrantedPermissions {
    rules: Vec<SessionPermission>,
    last: u64,
}

impl SessionPermissions {
    pub fn new(
        context: Arc<CrewContext>,
        broker: Arc<RequestBroker>,
        rules: SharedRules,
    ) -> SessionPermissions {
        SessionPermissions {
            context,
            broker,
            rules,
            given: Mutex::default(),
        }
    }

    /// Approves a permission request, and allows all commands in `scope` for the whole team until crewdeck ends. Also
    /// approves the other pending requests that the new permission covers.
    ///
    /// # Errors
    /// Returns the reason if nothing was approved or allowed.
    pub async fn allow(&self, id: &RequestId, scope: PermissionScope) -> Result<(), String> {
        let request = self.broker.get(id).await?;
        let call = request
            .call
            .as_ref()
            .filter(|_| request.kind == RequestKind::Permission)
            .ok_or("this request cannot be allowed for the session: approve it once")?;
        let offered =
            self.with_policy_context(&request, |standing| pending::scopes(call, standing));
        if offered.is_empty() {
            return Err("this request cannot be allowed for the session: approve it once".into());
        }
        if !offered.contains(&scope) {
            return Err(format!(
                "{} cannot be allowed for the session: approve the request once",
                format_scope(&scope)
            ));
        }
        let number = self.add_rule(scope.clone(), &request)?;
        if let Err(why) = self.broker.decide(approval(&request)).await {
            // The request was decided in the meantime, so the user's approval has no effect.
            self.remove_rule(number);
            return Err(why);
        }
        let text = format!(
            "user allowed {} for the whole team until crewdeck ends (requested by {}). Revoke it with /permissions.",
            format_scope(&scope),
            request.from
        );
        self.tell_rules(text).await;
        self.approve_covered().await;
        Ok(())
    }

    /// Revokes the session permission with this number. Its commands require approval again.
    ///
    /// # Errors
    /// Fails if the permission was already revoked.
    pub async fn revoke(&self, number: u64) -> Result<(), String> {
        let Some(rule) = self.remove_rule(number) else {
            return Err("that permission was already revoked".into());
        };
        let text = format!(
            "user revoked {}: it requires permission again.",
            format_scope(&rule.scope)
        );
        self.tell_rules(text).await;
        Ok(())
    }

    /// Approves the pending requests whose calls the session permissions allow. Such requests exist if they were filed
    /// before the permission was granted.
    pub async fn approve_covered(&self) {
        if lock(&self.given).rules.is_empty() {
            return;
        }
        let Ok(pending) = self.broker.read_pending().await else {
            return; // the next read reports the error
        };
        for request in &pending {
            let Some(call) = request.call.as_ref() else {
                continue;
            };
            if self.with_policy_context(request, |standing| pending::is_allowed(call, standing)) {
                // Fails if the request was decided in the meantime, which is no problem.
                let _ = self.broker.decide(approval(request)).await;
            }
        }
    }

    fn with_policy_context<T>(
        &self,
        request: &Request,
        judge: impl FnOnce(&PolicyContext<'_>) -> T,
    ) -> T {
        let workdir: PathBuf = self.context.root.join(&request.workdir);
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        judge(&PolicyContext {
            rules: &rules,
            gate: PlanGate::Open,
            workdir: &workdir,
        })
    }

    fn add_rule(&self, scope: PermissionScope, request: &Request) -> Result<u64, String> {
        let mut given = lock(&self.given);
        if given.rules.len() >= PERMISSIONS_MAX {
            return Err(format!(
                "there are already {PERMISSIONS_MAX} session permissions: revoke one first (/permissions)"
            ));
        }
        given.last += 1;
        let number = given.last;
        given.rules.push(SessionPermission {
            number,
            scope,
            by: Name::user(),
            asked_by: request.from.clone(),
            since: self.context.now(),
        });
        self.use_rules(&given);
        Ok(number)
    }

    fn remove_rule(&self, number: u64) -> Option<SessionPermission> {
        let mut given = lock(&self.given);
        let at = given.rules.iter().position(|r| r.number == number)?;
        let rule = given.rules.remove(at);
        self.use_rules(&given);
        Some(rule)
    }

    /// Applies the session permissions in `given` to the tool calls of all agents, from the next call on.
    fn use_rules(&self, given: &GrantedPermissions) {
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.session = given.rules.iter().map(|r| r.scope.clone()).collect();
    }

    async fn tell_rules(&self, text: String) {
        let rules = lock(&self.given).rules.clone();
        self.context
            .publish(EventKind::Team(TeamEvent::PermissionsChanged { rules }))
            .await;
        self.context.notice(NoticeLevel::Info, text).await;
    }
}

fn approval(request: &Request) -> Decision {
    Decision::on(request, Verdict::Approve, Name::user(), String::new())
}

fn format_scope(scope: &PermissionScope) -> String {
    clip(&one_line(&scope.to_string()), SHOWN_MAX)
}
