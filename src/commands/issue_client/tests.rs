//! Tests of the calls of `gh` and `glab`, with shell scripts in their place.

use pretty_assertions::assert_eq;

use super::*;

/// Returns a client whose program is the shell script `script`.
fn fake(tracker: CodeHost, script: &str) -> (tempfile::TempDir, IssueLister) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("client");
    crate::store::fake_program::write(&program, script);
    let call = IssueLister {
        client: HostClient::at(tracker, program, dir.path()),
        timeout: Duration::from_secs(60),
    };
    (dir, call)
}

fn query(tracker: CodeHost, limit: usize) -> IssueQuery<'static> {
    IssueQuery {
        tracker,
        repo: None,
        labels: &[],
        limit,
    }
}

#[test]
fn failures_are_quoted_with_a_remedy() {
    for (script, expected) in [
        (
            "echo 'To get started with GitHub CLI, please run:  gh auth login' >&2; exit 4",
            "gh issue list failed (exit code 4): To get started with GitHub CLI, please run:  gh auth login: log in \
             with gh auth login, and try again",
        ),
        (
            "printf 'HTTP 401\\n\\nTry \\033[31mthis\\n' >&2; exit 1",
            "gh issue list failed (exit code 1): HTTP 401 Try ␛[31mthis: log in with gh auth login, and try again",
        ),
        (
            "echo 'no git remotes found' >&2; exit 1",
            "gh issue list failed (exit code 1): no git remotes found: name the repository with --repo OWNER/NAME",
        ),
        (
            "echo 'unknown flag: --json' >&2; exit 1",
            "gh issue list failed (exit code 1): unknown flag: --json: this gh is too old: update it",
        ),
        (
            "exit 3",
            "gh issue list failed (exit code 3): fix this until gh issue list works, and try again",
        ),
        (
            "kill -9 $$",
            "gh issue list failed (signal 9): fix this until gh issue list works, and try again",
        ),
    ] {
        let (_dir, call) = fake(CodeHost::GitHub, script);
        let error = call.list(&query(CodeHost::GitHub, 1)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let (_dir, call) = fake(
        CodeHost::GitHub,
        "i=0; while [ $i -lt 200 ]; do echo long text >&2; i=$((i+1)); done; exit 1",
    );
    let error = call.list(&query(CodeHost::GitHub, 1)).unwrap_err();
    assert!(error.to_string().chars().count() < 500, "{error}");
}

#[test]
fn slow_client_is_ended() {
    let (_dir, mut call) = fake(CodeHost::GitLab, "sleep 600 & sleep 600");
    call.timeout = Duration::from_millis(300);
    let error = call.list(&query(CodeHost::GitLab, 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "glab did not answer within 0.3 s: check the network and glab auth status, and try again"
    );
}

#[test]
fn output_is_bounded_and_must_be_issues() {
    let (_dir, call) = fake(CodeHost::GitHub, "head -c 17000000 /dev/zero");
    let error = call.list(&query(CodeHost::GitHub, 1)).unwrap_err();
    assert!(
        error.to_string().contains("too large for one import"),
        "{error}"
    );
    let (_dir, call) = fake(CodeHost::GitHub, "echo Welcome");
    let error = call.list(&query(CodeHost::GitHub, 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the output of gh issue list cannot be used"
    );
    let (_dir, call) = fake(CodeHost::GitHub, "exit 0");
    let listed = call.list(&query(CodeHost::GitHub, 1)).unwrap();
    assert!(listed.items.is_empty() && !listed.has_more);
}

#[test]
fn pages_are_read_up_to_the_limit() {
    // Each page repeats the last issue of the page before it. There are 250 issues, the newest first.
    let script = r#"
        for arg in "$@"; do
            case "$arg" in
                --per-page=*) size=${arg#--per-page=};;
                --page=*) page=${arg#--page=};;
            esac
        done
        echo "$page" >> pages
        number=$((251 - (page - 1) * (size - 1)))
        printf '['
        count=0
        while [ $count -lt $size ] && [ $number -gt 1 ]; do
            number=$((number - 1))
            [ $count -gt 0 ] && printf ','
            printf '{"iid":%s,"title":"t","web_url":"https://a/issues/%s"}' $number $number
            count=$((count + 1))
        done
        printf ']'
    "#;
    for (limit, count, has_more, pages) in [
        (3, 3, true, "1\n"),
        (120, 120, true, "1\n2\n"),
        (1000, 250, false, "1\n2\n3\n"),
    ] {
        let (dir, call) = fake(CodeHost::GitLab, script);
        let listed = call.list(&query(CodeHost::GitLab, limit)).unwrap();
        assert_eq!((listed.items.len(), listed.has_more), (count, has_more));
        let numbers: Vec<u64> = listed.items.iter().filter_map(|i| i.number).collect();
        assert!(
            numbers.is_sorted() && numbers.last() == Some(&250),
            "{numbers:?}"
        );
        let asked = std::fs::read_to_string(dir.path().join("pages")).unwrap();
        assert_eq!(asked, pages);
    }
}

#[test]
fn options_of_the_user_are_values_and_no_options() {
    let script = r#"printf '%s\n' "$@" > args; env > env; pwd > dir"#;
    let labels = ["--web".to_string(), "a, \"b\"".to_string()];
    let (dir, call) = fake(CodeHost::GitHub, script);
    let query = IssueQuery {
        repo: Some("-x/y z"),
        labels: &labels,
        ..query(CodeHost::GitHub, 50)
    };
    call.list(&query).unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(
        read("args"),
        "issue\nlist\n--state=open\n--limit=51\n--json=number,title,body,labels,url,state\n--label=--web\n\
         --label=\"a, \"\"b\"\"\"\n--repo=-x/y z\n"
    );
    let env = read("env");
    for line in ["GH_PROMPT_DISABLED=1", "NO_COLOR=1"] {
        assert!(env.lines().any(|l| l == line), "{env}");
    }
    assert_eq!(
        Path::new(read("dir").trim()),
        dir.path().canonicalize().unwrap()
    );
}
