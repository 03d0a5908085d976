//! The built-in roles. To add one, create a file in `roles/` and add an entry here.

/// The file name without `.md` and the text of each built-in role.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("implementer", include_str!("../../../roles/implementer.md")),
    ("reviewer", include_str!("../../../roles/reviewer.md")),
    ("tester", include_str!("../../../roles/tester.md")),
];
