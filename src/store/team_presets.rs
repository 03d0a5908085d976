//! Reads the team presets of a project, `.crewdeck/teams/NAME.toml`.

use std::path::Path;

use super::markdown_files;
use crate::domain::team_preset::TeamPreset;
use crate::domain::text::{clip, one_line};

/// The folder of the presets, below the root.
const FOLDER: &str = ".crewdeck/teams";
/// Maximum number of presets that the error for an unknown name lists.
const NAMED_MAX: usize = 40;

/// Reads the preset `name` of the project in `root`. The name of a preset contains only the characters `A-Z`, `a-z`,
/// `0-9`, `-` and `_`; any other name counts as unknown.
///
/// # Errors
/// Returns, on one line, why the preset cannot be used. If there is no such preset, the error lists the existing
/// presets.
pub fn team_preset(root: &Path, name: &str) -> Result<TeamPreset, String> {
    let shown = one_line(&clip(name, 80));
    let dir = markdown_files::open(Some(root), Path::new(FOLDER))
        .map_err(|why| format!("{FOLDER}: {why}"))?;
    let file = format!("{name}.toml");
    // For a link out of the folder, reading it returns the reason.
    let found = dir.filter(|dir| is_name(name) && dir.symlink_metadata(&file).is_ok());
    let Some(dir) = found else {
        let names = names(root);
        let there = if names.is_empty() {
            format!("create {FOLDER}/NAME.toml")
        } else {
            format!("the presets are {}", names.join(", "))
        };
        return Err(format!("there is no team preset '{shown}': {there}"));
    };
    let text = markdown_files::read(&dir, Path::new(&file));
    let preset = text.and_then(|text| TeamPreset::parse(&text));
    preset.map_err(|why| format!("{FOLDER}/{file}: {why}"))
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().all(is_allowed)
}

/// Returns the names of the presets, sorted, at most the first [`NAMED_MAX`]. Returns none if the folder cannot be read.
fn names(root: &Path) -> Vec<String> {
    let dir = markdown_files::open(Some(root), Path::new(FOLDER))
        .ok()
        .flatten();
    let entries = dir.and_then(|dir| dir.entries().ok());
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| {
            let file = e.file_name();
            let name = file.to_str()?.strip_suffix(".toml")?;
            is_name(name).then(|| name.to_string())
        })
        .collect();
    names.sort();
    names.truncate(NAMED_MAX);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_broken_presets_are_explained() {
        let dir = tempfile::tempdir().unwrap();
        let why = |name: &str| team_preset(dir.path(), name).unwrap_err();
        assert_eq!(
            why("web"),
            "there is no team preset 'web': create .crewdeck/teams/NAME.toml"
        );
        let folder = dir.path().join(FOLDER);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("web.toml"), "[[members]]\nrole = \"tester\"\n").unwrap();
        std::fs::write(folder.join("bad.toml"), "\nx = 1").unwrap();
        std::fs::write(dir.path().join("secret.toml"), "x").unwrap();
        std::fs::write(folder.join("no name.toml"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.join("out.toml")).unwrap();
        assert_eq!(team_preset(dir.path(), "web").unwrap().members.len(), 1);
        assert!(why("bad").starts_with(".crewdeck/teams/bad.toml: line 2: unknown field"));
        assert_eq!(
            why("../secret"),
            "there is no team preset '../secret': the presets are bad, out, web"
        );
        assert!(
            why("out").starts_with(".crewdeck/teams/out.toml: ") && !why("out").contains("line"),
            "a link out of the project is not read: {}",
            why("out")
        );
    }
}
