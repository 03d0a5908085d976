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

/// Checks the tables in `docs/PAGE.md`, or writes them if `UPDATE_DOCS` is set. `filter` selects the test of the page.
#[cfg(test)]
pub(crate) fn check_page(page: &str, filter: &str, tables: &str) {
    let update = format!("UPDATE_DOCS=1 cargo test --lib {filter}");
    let begin = format!("<!-- The tables below are written by `{update}`. -->\n\n");
    let end = "<!-- End of the tables. -->";
    let path = format!("{}/docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let wanted = format!("{before}{begin}{tables}{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    } else {
        assert!(text == wanted, "{path} is out of date: run {update}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_page_lists_every_binding() {
        check_page("keys", "keymap", &markdown());
    }
}
