//! Which checks apply to a task, and whether a task asks for a change of files.

use super::spec::CheckSpec;

/// First words of a subject that ask for a look or a text, not for a change of files.
const LOOKING: &[&str] = &[
    "analyse",
    "analyze",
    "answer",
    "ask",
    "assess",
    "audit",
    "check",
    "compare",
    "confirm",
    "decide",
    "discuss",
    "estimate",
    "evaluate",
    "explain",
    "explore",
    "find",
    "investigate",
    "list",
    "look",
    "measure",
    "plan",
    "read",
    "report",
    "research",
    "review",
    "search",
    "study",
    "summarise",
    "summarize",
    "test",
    "verify",
    "watch",
];

/// Returns the checks that apply to a task with the tags `tags` whose branch changes the files `changed`. A check
/// without tags and paths applies to every task. Any other check applies if one of its tags is a tag of the task, or if
/// one of its paths matches a changed file. If it is not known which files have changed (`changed` is `None`), every
/// check with paths applies.
pub fn applicable<'a>(
    specs: &'a [CheckSpec],
    tags: &[String],
    changed: Option<&[String]>,
) -> Vec<&'a CheckSpec> {
    let applies = |spec: &&CheckSpec| {
        if spec.tags.is_empty() && spec.paths.is_empty() {
            return true;
        }
        let has_tag = |wanted: &String| tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted));
        let has_path = match changed {
            Some(changed) => changed.iter().any(|path| spec.matches_path(path)),
            None => !spec.paths.is_empty(),
        };
        spec.tags.iter().any(has_tag) || has_path
    };
    specs.iter().filter(applies).collect()
}

/// Returns whether a task with this subject asks for a change of files. It does unless the subject begins with a word
/// such as "review", "explain" or "investigate".
pub fn asks_for_change(subject: &str) -> bool {
    let mut words = subject.split(|c: char| !c.is_alphanumeric());
    let first = words.find(|word| !word.is_empty()).unwrap_or_default();
    !LOOKING.iter().any(|word| word.eq_ignore_ascii_case(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, tags: &[&str], paths: &[&str]) -> CheckSpec {
        CheckSpec {
            name: name.into(),
            tags: tags.iter().map(ToString::to_string).collect(),
            paths: paths.iter().map(ToString::to_string).collect(),
            ..CheckSpec::acceptance("true")
        }
    }

    #[test]
    fn checks_apply_by_tag_or_path() {
        let specs = [
            spec("all", &[], &[]),
            spec("rust", &["rust"], &["src/**"]),
            spec("docs", &[], &["docs/", "*.md"]),
            spec("web", &["web"], &[]),
        ];
        let names = |tags: &[&str], changed: Option<&[&str]>| {
            let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
            let changed: Option<Vec<String>> =
                changed.map(|paths| paths.iter().map(ToString::to_string).collect());
            let found = applicable(&specs, &tags, changed.as_deref());
            let names: Vec<&str> = found.iter().map(|spec| spec.name.as_str()).collect();
            names.join(" ")
        };
        for (tags, changed, expected) in [
            (&[][..], Some(&[][..]), "all"),
            (&["Rust"][..], Some(&[][..]), "all rust"),
            (&[][..], Some(&["src/a/b.rs"][..]), "all rust"),
            (&[][..], Some(&["README.md"][..]), "all docs"),
            (&["web"][..], Some(&["docs/x"][..]), "all docs web"),
            // It is not known what has changed: nothing that could apply is left out.
            (&[][..], None, "all rust docs"),
        ] {
            assert_eq!(names(tags, changed), expected, "{tags:?} {changed:?}");
        }
    }

    #[test]
    fn tasks_that_only_look_ask_for_no_change() {
        for (subject, expected) in [
            ("Write the parser", true),
            ("Fix review comments", true),
            ("Review the parser", false),
            ("  [docs] Explain it", true),
            ("investigate: why is it slow?", false),
            ("", true),
        ] {
            assert_eq!(asks_for_change(subject), expected, "{subject}");
        }
    }
}
