//! Events of the operating system about changed files.

use std::path::Path;

use super::super::refs::GitFolders;
use super::super::{Skills, atomic};
use super::dirty::{Dirty, dirty_for_path};
use super::dirty_queue::{DirtyQueue, PendingChanges};

/// Adds to `queue` the parts of the state that have changed according to `event`, an event of the operating system. If
/// events were lost or `event` is an error, adds all parts.
pub(super) fn handle_event(
    queue: &DirtyQueue,
    root: &Path,
    skills: Option<&Skills>,
    refs: Option<&GitFolders>,
    event: notify::Result<notify::Event>,
) {
    match event {
        // Reads by crewdeck itself cause access events. Reacting to them would cause an endless loop.
        Ok(event) if event.kind.is_access() && !event.need_rescan() => {}
        Ok(event) if !event.need_rescan() => {
            let is_skill = |path| skills.is_some_and(|s| s.concerns(path));
            let is_ref = |path| refs.is_some_and(|r| r.concerns(path));
            let classify = |path| {
                let branch = || is_ref(path).then_some(Dirty::Branches);
                let skill = || is_skill(path).then_some(Dirty::Skills);
                dirty_for_path(root, path).or_else(branch).or_else(skill)
            };
            let named = event.paths.iter().filter(|p| !atomic::is_unnamed(p));
            let mut dirty = named.filter_map(|p| classify(p)).peekable();
            if dirty.peek().is_some() {
                queue.update(|pending| dirty.for_each(|d| pending.add(d)));
            }
        }
        // The system has dropped events or reports an error, so anything may have changed.
        Ok(_) | Err(_) => queue.update(PendingChanges::add_all),
    }
}
