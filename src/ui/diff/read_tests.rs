//! Tests of the diff parser: git's headers, hunks, and text that is not a diff.

use pretty_assertions::assert_eq;

use crate::ui::diff::read::DiffLine::{Added, Gap, Other, Removed, Same};
use crate::ui::diff::read::*;

fn edited_file(path: &str, added: usize, removed: usize) -> DiffLine<'_> {
    DiffLine::File(DiffFile {
        path: path.into(),
        added,
        removed,
        ..DiffFile::default()
    })
}

#[test]
fn lines_have_their_line_numbers() {
    let text = "diff --git a/x.rs b/x.rs\nindex 1..2\n--- a/x.rs\n+++ b/x.rs\n@@ -9,3 +9,3 @@\n same\n--- odd\n+++ odd\n\n\
                @@ -30 +30,2 @@ fn main()\n-a\n+b\r\n+c\n\\ No newline at end of file\n--- a/gone\t2026\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let gone = DiffLine::File(DiffFile {
        path: "gone".into(),
        change: FileChange::Deleted,
        removed: 1,
        ..DiffFile::default()
    });
    let expected = [
        edited_file("x.rs", 3, 2),
        Same(9, "same"),
        Removed(10, "-- odd"),
        Added(10, "++ odd"),
        Same(11, ""),
        Gap("fn main()"),
        Removed(30, "a"),
        Added(30, "b\r"),
        Added(31, "c"),
        Other("\\ No newline at end of file"),
        gone,
        Removed(1, "x"),
    ];
    assert_eq!(read(text), expected);
    assert_eq!(crate::ui::diff::digits(&expected), 2);
}

/// Returns the path and the description of each file.
fn heads(text: &str) -> Vec<(String, String)> {
    let lines = read(text).into_iter();
    lines
        .map(|line| match line {
            DiffLine::File(file) => (file.path.to_string(), file.words()),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn git_headers_are_in_the_file_heading() {
    let cases = [
        (
            "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29",
            ("n", "new"),
        ),
        (
            "diff --git a/run.sh b/run.sh\nnew file mode 100755\nindex 0..1",
            ("run.sh", "new, executable"),
        ),
        (
            "diff --git a/a file b/a file\ndeleted file mode 100644\nindex 1..0",
            ("a file", "deleted"),
        ),
        (
            "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new",
            ("new", "renamed from old"),
        ),
        (
            "diff --git a/one b/two\nsimilarity index 90%\ncopy from one\ncopy to two",
            ("two", "copied from one"),
        ),
        (
            "diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ",
            ("p.png", "binary"),
        ),
        (
            "diff --git a/p.png b/p.png\nnew file mode 100644\nindex 0..2\nBinary files /dev/null and b/p.png differ",
            ("p.png", "new, binary"),
        ),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755",
            ("x", "executable"),
        ),
        (
            "diff --git a/x b/x\nold mode 100755\nnew mode 100644",
            ("x", "no longer executable"),
        ),
        (
            "diff --git a/x b/x\nold mode 100600\nnew mode 100640",
            ("x", "mode 100600 → 100640"),
        ),
        (
            "diff --git a/l b/l\nnew file mode 120000",
            ("l", "new, symlink"),
        ),
        (
            "diff --git \"a/s\\303\\274\\tq\\\"\" \"b/s\\303\\274\\tq\\\"\"\nnew file mode 100644",
            ("sü\tq\"", "new"),
        ),
        (
            "diff --git \"a/\\377\" b/plain\nrename from \"\\377\"\nrename to plain",
            ("plain", "renamed from \u{fffd}"),
        ),
        ("--- /dev/null\n+++ b/x", ("x", "new")),
        ("--- a/x\n+++ /dev/null", ("x", "deleted")),
        ("--- x y\t\n+++ x y\t", ("x y", "")),
        (
            "diff --cc both\nindex 1,2..3\nmode 100644,100644..100755",
            ("both", ""),
        ),
    ];
    for (text, (path, words)) in cases {
        assert_eq!(heads(text), [(path.into(), words.into())], "{text}");
    }
}

#[test]
fn combined_diff_uses_line_numbers_of_the_new_file() {
    let text = "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,3 @@@ about\n  same\n- ours\n -theirs\n++both\n +one\n\
                diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b";
    let expected = [
        edited_file("x", 2, 2),
        Gap("about"),
        Same(1, "same"),
        Removed(2, "ours"),
        Removed(2, "theirs"),
        Added(2, "both"),
        Added(3, "one"),
        edited_file("y", 1, 1),
        Removed(1, "a"),
        Added(1, "b"),
    ];
    assert_eq!(read(text), expected);
}

#[test]
fn other_text_is_kept_unchanged() {
    let cases = [
        "+ plain",
        "@@ nonsense",
        "[… 5 bytes cut here …]",
        "",
        "@@ -1,x +2 @@",
        "@",
        "@ -1 +1 @",
        "@@@@@",
        "中@@ -1 +1 @@",
        "index of everything",
        "similarity index 3",
    ];
    let text = cases.join("\n");
    assert_eq!(read(&text), cases.map(Other));
    let huge = format!("@@ -{0} +{0},2 @@\n+a\n+b", usize::MAX);
    assert_eq!(
        read(&huge),
        [Added(usize::MAX, "a"), Added(usize::MAX, "b")]
    );
}

#[test]
fn lines_after_a_truncation_do_not_count_for_the_file() {
    let text = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n[… 5 bytes cut here …]\n+b\n-c";
    let expected = [
        edited_file("x", 0, 0),
        Same(1, "a"),
        Other("[… 5 bytes cut here …]"),
        Other("+b"),
        Other("-c"),
    ];
    assert_eq!(read(text), expected);
}

mod properties {
    use proptest::prelude::*;

    use crate::ui::diff::read::*;

    proptest! {
        /// Any sequence of diff fragments is parsed without a panic and yields at most one line per input line.
        #[test]
        fn any_sequence_of_fragments_is_parsed(pieces in proptest::collection::vec(prop_oneof![
            Just("diff --git a/x b/x"), Just("diff --cc x"), Just("--- a/x"), Just("+++ b/x"), Just("--- \"a"), Just("+++ /dev/null"),
            Just("@@ -1,2 +1,2 @@"), Just("@@@ -1 -1 +1,2 @@@"), Just("@@ -0,0 +1 @@ é"), Just("+a"), Just("-b"), Just(" c"), Just("++"), Just(""),
            Just("\\ No newline"), Just("rename from \"\\"), Just("old mode"), Just("diff --git \"a/\\7 b"), Just("é"), Just("[… 1 bytes cut here …]"),
        ], 0..40)) {
            let lines = read(&pieces.join("\n")).len();
            prop_assert!(lines <= pieces.len());
        }
    }
}
