//! Writes the theme setting to the user's settings file and leaves the rest of the file unchanged.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use toml_edit::{DocumentMut, value};

use super::user_file;
use crate::domain::theme::ThemeName;

/// Sets the theme in the user's settings file; creates the file if necessary.
///
/// # Errors
/// Fails if there is no home directory, if `name` is a custom theme that the file does not define, or if the file
/// cannot be read, is not valid TOML or cannot be written. The file is then unchanged.
pub fn save_theme(name: &str) -> Result<()> {
    let path = user_file().context("no home directory found for the settings file: set HOME")?;
    save_theme_in(&path, name)
}

fn save_theme_in(path: &Path, name: &str) -> Result<()> {
    // If the file is a symbolic link, for example into a dotfiles repository, write to its target, so that the link is
    // kept.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let shown = path.display();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        Err(e) => return Err(e).with_context(|| format!("{shown} cannot be read")),
    };
    let text = with_theme(&text, name).map_err(|why| anyhow!("{shown} {why}"))?;
    write_atomic(path, &text).with_context(|| format!("{shown} cannot be written"))
}

/// Returns `text`, the content of a settings file, with `theme` set to `name`. Fails if `text` is not TOML, or if
/// `name` is a custom theme that `text` does not define.
fn with_theme(text: &str, name: &str) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|e| format!("is not valid TOML: {e}"))?;
    // Reject a theme that only the project's file defines: in other projects, the setting would name an unknown theme,
    // which is an error.
    let own = document.get("themes").and_then(|themes| themes.get(name));
    if own.is_none() && ThemeName::parse(name).is_err() {
        return Err(format!(
            "does not define the theme {name}: copy [themes.{name}] from the project's settings into this file"
        ));
    }
    match document
        .get_mut("theme")
        .and_then(|item| item.as_value_mut())
    {
        Some(old) => {
            // Keep the decoration: it contains the comment after the value.
            let decor = old.decor().clone();
            *old = name.into();
            *old.decor_mut() = decor;
        }
        None => {
            document.insert("theme", value(name));
        }
    }
    Ok(document.to_string())
}

/// Replaces the content of the file atomically, and keeps its permissions. Creates the file, with mode 600, and its folder
/// if they are missing.
pub(super) fn write_atomic(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(old) = fs::metadata(path) {
        fs::set_permissions(new.path(), old.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn rest_of_the_file_is_unchanged() {
        let cases = [
            ("", "theme = \"dark\"\n"),
            (
                "# mine\nmodel = 'a' # small\n\n[budget]\nteam_cost = 20.0\n",
                "# mine\nmodel = 'a' # small\ntheme = \"dark\"\n\n[budget]\nteam_cost = 20.0\n",
            ),
            (
                "theme = 'light'   # for the day\nwindow=5 # as written\n",
                "theme = \"dark\"   # for the day\nwindow=5 # as written\n",
            ),
            (
                "# only a table\n[anthropic]\nversion = \"1\"\n",
                "theme = \"dark\"\n# only a table\n[anthropic]\nversion = \"1\"\n",
            ),
        ];
        for (before, after) in cases {
            assert_eq!(with_theme(before, "dark"), Ok(after.to_string()));
        }
        let own = "[themes.dusk]\nok = 2\n";
        assert_eq!(
            with_theme(own, "dusk"),
            Ok(format!("theme = \"dusk\"\n{own}"))
        );
        assert_eq!(
            with_theme(own, "dawn").unwrap_err(),
            "does not define the theme dawn: copy [themes.dawn] from the project's settings into this file"
        );
        let error = with_theme("model = ", "dark").unwrap_err();
        assert!(error.starts_with("is not valid TOML"), "{error}");
    }

    #[test]
    fn missing_file_is_created_and_symlink_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/config.toml");
        save_theme_in(&path, "light").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "theme = \"light\"\n");

        let link = dir.path().join("link.toml");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        save_theme_in(&link, "dark").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theme = \"dark\"\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
