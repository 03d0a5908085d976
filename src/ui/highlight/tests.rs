//! Tests of syntax highlighting: the common languages, tokens over several lines, and robustness.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use ratatui::text::Span;

use crate::domain::text::escape_control_chars;
use crate::ui::highlight::{LINE_MAX, Language, NAMES, OpenToken};
use crate::ui::theme::Theme;

/// Highlights code and marks the tokens: `[keyword]`, `«string»`, `<number>`, `{comment}`, `(function)`, `|type|`.
fn mark_tokens(fence: &str, code: &str) -> String {
    let theme = crate::ui::theme::test_theme::theme();
    let language = Language::of_fence(fence).unwrap();
    let mark = |span: &Span| match span.style {
        style if style == theme.keyword => format!("[{}]", span.content),
        style if style == theme.string => format!("«{}»", span.content),
        style if style == theme.number => format!("<{}>", span.content),
        style if style == theme.comment => format!("{{{}}}", span.content),
        style if style == theme.function => format!("({})", span.content),
        style if style == theme.type_name => format!("|{}|", span.content),
        _ => span.content.to_string(),
    };
    let mut open = OpenToken::default();
    let line = |line: &str| -> String {
        let spans = language.spans(line, &mut open, &theme);
        let text: String = spans.iter().map(|s| s.content.as_ref()).collect();
        assert_eq!(text, line);
        spans.iter().map(mark).collect()
    };
    let lines: Vec<String> = code.split('\n').map(line).collect();
    lines.join("\n")
}

#[test]
fn common_languages_are_highlighted() {
    let cases = [
        (
            "rust",
            "let x = \"a \\\" b\"; // why",
            "[let] x = «\"a \\\" b\"»; {// why}",
        ),
        (
            "rs,ignore",
            "fn add(n: usize) {",
            "[fn] (add)(n: [usize]) {",
        ),
        ("python", "def f(): # c", "[def] (f)(): {# c}"),
        ("go {.x}", "return 1", "[return] <1>"),
        ("sh", "echo 'it' # all", "[echo] «'it'» {# all}"),
        ("json", "{\"a\": [1, true]}", "{«\"a\"»: [<1>, <true>]}"),
        ("toml", "a = \"x\" # y", "a = «\"x\"» {# y}"),
        ("ts", "const s = 'a'", "[const] s = «'a'»"),
        ("C", "int a; // x", "[int] a; {// x}"),
        ("java", "return \"half", "[return] «\"half»"),
        ("rust", "\"中文 👍 open", "«\"中文 👍 open»"),
        ("rust", "lettuce returns", "lettuce returns"),
    ];
    for (fence, code, expected) in cases {
        assert_eq!(mark_tokens(fence, code), expected, "{fence}");
    }
    let unknown = ["brainfuck", "", "a/b", "."];
    assert_eq!(unknown.map(Language::of_fence), [None; 4]);
    assert_eq!(
        Language::of_path("src/ui.d/a.RS"),
        Language::of_fence("rust")
    );
    assert_eq!(["Makefile", "a.b/x", ""].map(Language::of_path), [None; 3]);
}

#[test]
fn hash_in_a_word_of_a_shell_script_is_no_comment() {
    let marked = mark_tokens("sh", "if [ $# -gt 1 ]; then x=a#b # why # not");
    assert!(marked.ends_with("{# why # not}"), "{marked}");
    assert_eq!(marked.matches('{').count(), 1, "{marked}");
    let marked = mark_tokens("sh", "#!/bin/sh\nx;# list\n(# in a group");
    assert_eq!(marked, "{#!/bin/sh}\nx;{# list}\n({# in a group}");
}

#[test]
fn tokens_continue_on_the_next_line() {
    let cases = [
        ("rust", "/* a\n\n\" b */ 1", "{/* a}\n\n{\" b */} <1>"),
        (
            "rust",
            "x \"a\nb\" 1 /* c\nd */ 2",
            "x «\"a»\n«b\"» <1> {/* c}\n{d */} <2>",
        ),
        (
            "python",
            "\"\"\"a\n# b\n\"\"\" # c",
            "«\"\"\"a»\n«# b»\n«\"\"\"» {# c}",
        ),
        ("sh", "echo 'a\nb' # c", "[echo] «'a»\n«b'» {# c}"),
        // An apostrophe.
        ("python", "don't\n1", "don«'t»\n<1>"),
    ];
    for (fence, code, expected) in cases {
        assert_eq!(mark_tokens(fence, code), expected, "{fence}");
    }
}

#[test]
fn long_lines_are_plain_and_change_no_state() {
    let (theme, language) = (Theme::default(), Language::of_fence("rs").unwrap());
    let mut open = OpenToken::default();
    language.spans("/* a", &mut open, &theme);
    let before = open.clone();
    let long = "let ".repeat(LINE_MAX / 4 + 1);
    let spans = language.spans(&long, &mut open, &theme);
    assert_eq!((spans.len(), &open), (1, &before));
    assert_ne!(open, OpenToken::default());
}

#[test]
fn every_listed_language_has_rules() {
    for (ending, names) in NAMES {
        let rules = synoptic::from_extension(ending, 1).unwrap();
        assert!(!rules.atom_def.is_empty(), "{ending}");
        assert!(names.contains(ending), "{ending}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the code, highlighting keeps its text and does not panic.
    #[test]
    fn highlighting_changes_no_text(
        at in 0..NAMES.len(),
        code in "([a-z\"'`/*#{}()$<>=:\\\\\\- 0-9é中👍\u{200d}\t]|EOF|\"\"\"|/\\*|\\*/|<!--|-->|fn |\\$\\(|\\$\\{|\n){0,60}",
    ) {
        let language = Language::of_fence(NAMES[at].0).unwrap();
        let mut open = OpenToken::default();
        for line in escape_control_chars(&code).split('\n') {
            let spans = language.spans(line, &mut open, &Theme::default());
            let text: String = spans.iter().map(|s| s.content.as_ref()).collect();
            prop_assert_eq!(text, line);
        }
    }
}
