//! The built-in roles. To add a role, create a file in `roles/` and add it to `BUILT_IN`.

/// The file name without `.md` and the text of each built-in role.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("implementer", include_str!("../../../roles/implementer.md")),
    ("reviewer", include_str!("../../../roles/reviewer.md")),
    ("tester", include_str!("../../../roles/tester.md")),
];
