//! Walks the files of a project as its user sees them.

use std::path::Path;

use ignore::WalkBuilder;

use crate::domain::folders::is_reserved;

/// Returns a walk over the files below `root`, sorted by name: hidden ones too, but none that git ignores, none in the
/// folders of crewdeck and git, and no target of a symbolic link.
pub fn project_files(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .follow_links(false)
        .require_git(false)
        .filter_entry(|entry| !is_reserved(&entry.file_name().to_string_lossy()))
        .sort_by_file_name(std::cmp::Ord::cmp);
    walk
}
