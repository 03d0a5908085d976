//! Loads the hooks that the project declares. Also loads the hooks that the user has approved but the project no longer
//! declares.

use super::command_words::CommandWords;
use super::hook_files;
use super::servers;
use super::trust::NewItem;
use super::trust_item::ItemKind;
use super::{Decisions, Loader};
use crate::domain::hook::{HookHandler, HookSpec};
use crate::domain::text::{escape_control_chars, one_line};

// The texts that tell the user what a hook can do once it is approved.
const RUNS_HOOK: &str = "runs with your rights, outside of the sandbox, and sees what agents do";
const SENDS_HOOK: &str = "receives what agents do, and the environment variables that it names";

impl<F: FnOnce() -> Decisions> Loader<'_, F> {
    pub(super) fn project_hooks(&mut self, file: &'static str) {
        let read = self.read(&self.root.join(file), file);
        let parsed = read
            .as_ref()
            .map(|bytes| hook_files::parse(bytes, file, true));
        let (bytes, parsed) = (read.unwrap_or_default(), parsed.unwrap_or_default());
        for text in parsed.problems {
            self.problem(file, text);
        }
        for (hook, declaration) in parsed.hooks.iter().zip(&parsed.declarations) {
            let new = NewItem {
                declaration: guards(hook).then(|| declaration.clone()),
                ..self.item(hook)
            };
            if let Err(why) = self.out.trust.add(new, &bytes, &self.decisions) {
                self.problem(file, why);
            }
        }
        self.out.hooks.extend(parsed.hooks);
        self.missing_hooks(file, &parsed.declarations);
    }

    /// Adds the approved hooks that `file` no longer declares. Until the user confirms their removal, they block the
    /// actions that they could prevent. `declared` contains the declarations that are in `file` now.
    fn missing_hooks(&mut self, file: &str, declared: &[String]) {
        let approved = self.decisions.hooks_of(self.root, file);
        for (at, (identity, stored)) in approved.into_iter().enumerate() {
            if declared.contains(&stored.declaration) {
                continue;
            }
            let parsed = hook_files::parse(stored.declaration.as_bytes(), file, true);
            let Some(mut hook) = parsed.hooks.into_iter().next() else {
                continue;
            };
            // No declared hook has this position.
            hook.source.index = usize::MAX - at;
            let new = self.item(&hook);
            self.out.trust.add_missing(new, identity, stored);
            self.out.hooks.push(hook);
        }
    }

    fn item(&self, hook: &HookSpec) -> NewItem {
        let (words, effect) = match &hook.handler {
            HookHandler::Command { command, args } => {
                let mut words = vec![command.clone()];
                words.extend(args.iter().flatten().cloned());
                (words, RUNS_HOOK)
            }
            HookHandler::Http { .. } => (Vec::new(), SENDS_HOOK),
        };
        NewItem {
            kind: ItemKind::Hook,
            name: one_line(&escape_control_chars(&hook.label())),
            file: hook.source.file.clone(),
            index: hook.source.index,
            runs: one_line(&escape_control_chars(&details(hook))),
            effect,
            is_own: false,
            command: self.add_search_folders(CommandWords {
                texts: words,
                ..CommandWords::default()
            }),
            dir: self.root.to_owned(),
            declaration: None,
        }
    }
}

/// Returns whether a hook can prevent an action. If so, a change of its files must not switch off the hook.
fn guards(hook: &HookSpec) -> bool {
    hook.event.block_effect().prevents() && !hook.is_async
}

/// Returns a text for the user's review of a hook: its command, or its URL with the headers.
fn details(hook: &HookSpec) -> String {
    match &hook.handler {
        HookHandler::Command {
            command,
            args: Some(args),
        } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<String> = words.map(|word| servers::quote(word)).collect();
            words.join(" ")
        }
        HookHandler::Command {
            command,
            args: None,
        } => command.clone(),
        HookHandler::Http { headers, .. } => {
            let headers = headers
                .iter()
                .map(|(name, value)| format!(", with {name}={value}"));
            format!("{}{}", hook.runs(), headers.collect::<String>())
        }
    }
}
