//! The request for approval of a project's sensitive settings, servers and hooks. The user reviews them together and
//! makes one decision about all of them.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::trust_item::{HookChange, ItemKind, TrustItem};
use super::{Extensions, ListedState};
use crate::config::PROJECT_FILE;
use crate::config::approvals::{self, DecisionChange, SettingsDecision};
use crate::config::project_policy::{ProjectPolicy, SensitiveSettings};

/// The settings, servers and hooks of a project that need the user's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    pub root: PathBuf,
    /// The project's sensitive settings, and the user's earlier decision about them; `None` if the project has none.
    pub settings: Option<(SensitiveSettings, Option<SettingsDecision>)>,
    /// The servers and hooks that can be approved. The `digest` of each is `Ok`.
    pub items: Vec<TrustItem>,
}

impl ApprovalRequest {
    /// Returns everything in the project that needs approval, including what the user has already decided about. Leaves
    /// out servers and hooks that cannot be approved. `None` if there is nothing.
    pub fn all(
        root: &Path,
        policy: &ProjectPolicy,
        extensions: &Extensions,
    ) -> Option<ApprovalRequest> {
        let settings = match policy {
            ProjectPolicy::Harmless => None,
            ProjectPolicy::Approved(found) => {
                Some((found.clone(), Some(SettingsDecision::Approved)))
            }
            ProjectPolicy::Ignored(found) => Some((found.clone(), Some(SettingsDecision::Ignored))),
            ProjectPolicy::Waiting(found) => Some((found.clone(), None)),
        };
        let items = extensions.trust.items().filter(|item| item.digest.is_ok());
        ApprovalRequest {
            root: root.to_owned(),
            settings,
            items: items.cloned().collect(),
        }
        .unless_empty()
    }

    /// Reduces the request to what the user has not decided about yet; `None` if the user has decided about everything.
    pub fn retain_undecided(self) -> Option<ApprovalRequest> {
        ApprovalRequest {
            root: self.root,
            settings: self.settings.filter(|(_, decision)| decision.is_none()),
            items: self
                .items
                .into_iter()
                .filter(TrustItem::is_waiting)
                .collect(),
        }
        .unless_empty()
    }

    /// Returns the request for the MCP server `name` alone, also if the user has already decided about it.
    ///
    /// # Errors
    /// Fails if there is no such server, or if it cannot be approved or needs no approval.
    pub fn of_server(root: &Path, extensions: &Extensions, name: &str) -> Result<ApprovalRequest> {
        let request = ApprovalRequest::all(root, &ProjectPolicy::Harmless, extensions);
        let mut items = request.map(|request| request.items).unwrap_or_default();
        items.retain(|item| item.kind == ItemKind::Server && item.name == name);
        if !items.is_empty() {
            return Ok(ApprovalRequest {
                root: root.to_owned(),
                settings: None,
                items,
            });
        }
        let listed = extensions.listing.iter().find(|server| server.name == name);
        match listed.map(|server| &server.state) {
            Some(ListedState::Problem(why)) => bail!("server {name} cannot be approved: {why}"),
            Some(_) => bail!("server {name} needs no approval"),
            None => bail!("server {name} is not declared any more"),
        }
    }

    fn unless_empty(self) -> Option<ApprovalRequest> {
        (self.settings.is_some() || !self.items.is_empty()).then_some(self)
    }

    /// Returns a pair for each setting, server and hook: a line that describes it, and a text on what it can do once
    /// approved.
    pub fn lines(&self) -> Vec<(String, &'static str)> {
        let settings = self.settings.iter().flat_map(|(found, _)| &found.settings);
        let settings = settings.map(|line| (line.text.clone(), line.effect));
        let items = self
            .items
            .iter()
            .map(|item| (format!("{}: {}", item.title(), item.runs), item.effect));
        settings.chain(items).collect()
    }

    /// Returns a text with the number of settings, servers and hooks, such as `2 settings, 1 MCP server and 3 hooks`.
    pub fn summary(&self) -> String {
        let count = |kind| self.items.iter().filter(|item| item.kind == kind).count();
        let settings = self
            .settings
            .iter()
            .map(|(found, _)| found.settings.len())
            .sum();
        let parts: Vec<String> = [
            (settings, "setting"),
            (count(ItemKind::Server), "MCP server"),
            (count(ItemKind::Hook), "hook"),
        ]
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}{}", if *n == 1 { "" } else { "s" }))
        .collect();
        match &parts[..] {
            [] => String::new(),
            [one] => one.clone(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }

    /// Returns a list of the settings, the servers and the files that declare hooks, separated by commas, such as
    /// `base_url of .crewdeck/config.toml, server git of .mcp.json, hooks of .claude/settings.json`.
    pub fn names(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        if let Some((found, _)) = &self.settings {
            names.push(format!("{} of {PROJECT_FILE}", found.names()));
        }
        for item in &self.items {
            let name = match item.kind {
                ItemKind::Server => format!("server {} of {}", item.name, item.file),
                ItemKind::Hook => format!("hooks of {}", item.file),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Returns the hashes of the settings, servers and hooks, under which the user's decision is stored.
    pub fn digests(&self) -> Vec<&str> {
        let settings = self.settings.iter().map(|(found, _)| found.digest.as_str());
        let items = self
            .items
            .iter()
            .filter_map(|item| item.digest.as_deref().ok());
        settings.chain(items).collect()
    }

    /// Returns the changes of the stored decisions if the user makes `decision` about exactly this content. With
    /// `None`, the changes delete earlier decisions.
    ///
    /// For each hook, a further entry identifies the hook by its declaration. An approval stores this entry. Any other
    /// decision deletes it. For a hook that its file no longer declares, an approval deletes it too.
    pub fn changes(&self, decision: Option<SettingsDecision>) -> Vec<DecisionChange> {
        let settings = self.settings.iter();
        let settings = settings.map(|(found, _)| DecisionChange::new(&found.digest, decision));
        let mut changes: Vec<DecisionChange> = settings.collect();
        for item in &self.items {
            let is_missing = item.change == Some(HookChange::Missing);
            if let (Ok(digest), false) = (&item.digest, is_missing) {
                changes.push(DecisionChange::new(digest, decision));
            }
            let is_approved = decision == Some(SettingsDecision::Approved) && !is_missing;
            changes.extend(item.hook.as_ref().map(|hook| DecisionChange {
                digest: hook.identity_in(&self.root),
                decision: decision.filter(|_| is_approved),
                hook: Some(hook.clone()),
            }));
        }
        changes
    }

    /// Stores the user's decision about exactly this content. With `None`, deletes an earlier decision. Returns a
    /// notice if the file with earlier decisions was unusable, else `None`.
    ///
    /// # Errors
    /// Fails if there is no home directory or the decisions file cannot be written.
    pub fn decide(&self, decision: Option<SettingsDecision>) -> Result<Option<String>> {
        approvals::record(&self.root, self.changes(decision))
    }
}
