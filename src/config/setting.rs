//! What the declaration of a setting consists of. The settings are declared in [`super::settings`].

use toml::Value;

/// Whether a value in a project's settings file takes effect.
#[derive(Debug, Clone, Copy)]
pub enum InProject {
    /// Takes effect without approval.
    Applies,
    /// Takes effect without approval if `is_harmless` returns true for the value; other values need approval.
    AppliesIf {
        is_harmless: fn(&Value) -> bool,
        effect: &'static str,
    },
    /// Takes effect once the user has approved exactly this content of the file. `effect` says what the setting can do.
    NeedsApproval { effect: &'static str },
    /// Rejected with an error. `why` completes the sentence "a project cannot …".
    Refused { why: &'static str },
}

/// The declaration of a setting, except its type.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub name: &'static str,
    /// A former name of the setting that settings files may still use; `None` if it was never renamed.
    pub alias: Option<&'static str>,
    /// The lines of the documentation. `{providers}` stands for the list of wire formats, `{vendors}` for that of vendors.
    pub doc: &'static [&'static str],
    /// The default, as text for the documentation: the value, or what happens if the setting is not set.
    pub default: &'static str,
    /// Returns the accepted range of a number, such as `1 to 64`; `None` for a setting without a range.
    pub range: Option<fn() -> String>,
    /// An example value in TOML syntax.
    pub example: &'static str,
    pub in_project: InProject,
    /// The accepted keys of a setting that is a table with fixed keys; empty for all other settings.
    pub keys: &'static [&'static str],
}

/// A group of settings, which is a section of `docs/settings.md`.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub title: &'static str,
    pub settings: &'static [Setting],
}

/// The type of a setting's value, without the `Option` for a setting that is not set.
pub trait Optional {
    type Value;
}

impl<T> Optional for Option<T> {
    type Value = T;
}

/// Returns the name of a setting from the name of its field. The field is a raw identifier, which begins with `r#`, if
/// the name is a keyword of Rust, such as `use`.
pub const fn strip_raw(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}
