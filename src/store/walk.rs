//! Walks the files of a project, except those that git ignores.

use std::path::Path;

use ignore::WalkBuilder;

use crate::domain::folders::is_reserved;

/// Returns a walk over the files and folders below `root`; the entries of each folder are sorted by name. Includes hidden
/// files. Leaves out files that git or a file `.ignore` ignores, and the folders of crewdeck and git. Does not follow
/// symbolic links.
pub fn project_files(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .follow_links(false)
        .require_git(false)
        .filter_entry(|entry| !is_reserved(&entry.file_name().to_string_lossy()))
        .sort_by_file_name(std::cmp::Ord::cmp);
    walk
}
