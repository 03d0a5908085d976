//! The tables of `docs/keys.md`, from the default keymap.

use crate::ui::keymap::{Binding, Context, TABLE};
use crate::ui::keys;

/// Returns the default keys as Markdown: a table for each context.
pub fn markdown() -> String {
    let mut out = String::new();
    let mut done: Vec<Context> = Vec::new();
    for Binding { context, .. } in TABLE {
        if done.contains(context) {
            continue;
        }
        done.push(*context);
        out.push_str(&format!(
            "### {}\n\n| keys | action | name in `[keys]` |\n|---|---|---|\n",
            context.heading()
        ));
        let bindings = TABLE.iter().filter(|b| b.context == *context);
        out.extend(bindings.map(row));
        out.push('\n');
    }
    out
}

fn row(binding: &Binding) -> String {
    let keys: Vec<String> = binding
        .keys
        .iter()
        .map(|key| format!("`{}`", keys::format_key(key)))
        .collect();
    format!(
        "| {} | {} | `{}.{}` |\n",
        if keys.is_empty() {
            "–".into()
        } else {
            keys.join(" ")
        },
        binding.words,
        binding.context.word(),
        binding.action.word()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const BEGIN: &str =
        "<!-- The tables below are written by `UPDATE_DOCS=1 cargo test --lib keymap`. -->\n\n";
    const END: &str = "<!-- End of the tables. -->";

    #[test]
    fn keys_page_lists_every_binding() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/keys.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let wanted = format!("{before}{BEGIN}{}{END}{after}", markdown());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(
            page == wanted || std::env::var_os("UPDATE_DOCS").is_some(),
            "docs/keys.md is out of date: run UPDATE_DOCS=1 cargo test --lib keymap"
        );
    }
}
