//! Hostile input for every parser of external bytes: the fuzz corpus, crafted payloads, deep nesting, expansion bombs, and random
//! input.

use std::path::{Path, PathBuf};

use crewdeck::fuzzing::{CheckResult, FuzzTarget, TARGETS, bytes_of_bound_keys};
use proptest::prelude::*;

/// Hostile texts: terminal control sequences, invisible characters, bidirectional overrides, stacked combining
/// characters, entities.
const PAYLOADS: &[&str] = &[
    "\u{202e}x\u{200b}",
    "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{1b}]52;c;cHduZWQ=\u{7}\u{1b}]8;;http://bad\u{1b}\\x\u{1b}]8;;\u{1b}\\",
    "\u{1b}P1$r0m\u{1b}\\\u{1b}_Gf=100\u{1b}\\\u{1b}^x\u{1b}\\\u{1b}Xx\u{1b}\\\u{1b}c\u{1b}#8\u{1b}[?1049l\u{1b}[6n",
    "\u{9b}2J\u{9d}0;pwned\u{9c}\u{90}q\u{9c}\u{84}\u{85}\u{8d}\u{7f}\u{0}\u{8}\u{b}\u{c}\u{e}\u{5}",
    "\u{202e}evil\u{202c} \u{2066}a\u{2069}\u{2067}b\u{2069}\u{2068}\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202d}",
    "a\u{200b}b\u{200c}c\u{200d}d\u{2060}e\u{feff}f\u{ad}g\u{34f}h\u{180e}i\u{2028}j\u{2029}k\u{3164}l\u{115f}m\u{ffa0}",
    "\u{e0001}\u{e0069}\u{e0067}\u{e006e}\u{e007f}\u{fe00}\u{fe01}\u{e0100}\u{e01ef}\u{fff9}\u{fffa}\u{fffb}\u{1d173}",
    "&#27;[2J &#x1b;]0;x&#7; &#155;2J &#x202e;evil &zwnj;&zwj;&lrm;&rlm;&shy;&NoBreak;&ZeroWidthSpace;&Tab;&NewLine;x",
    "[&#27;[2J](http://a&#27;[2Jb&#x202e;c) ![&#7;](&#27;) <http://a\u{1b}b>\n\n```a&#27;b&#x202e;\n&#27;\n```\n# &#27; `&#27;`\n\n|&#27;|b|\n|-|-|\n|&#x202e;|d|\n",
    "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}\u{30b}\u{30c}\u{30d}\u{30e}\u{30f}\u{310}\u{311}\u{312}\u{313}\u{314}\u{315}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{31e}\u{31f}\u{320}\u{321}\u{322}\u{323}\u{324}\u{325}\u{326}\u{327}\u{328}\u{329}",
    "\u{300}\u{20dd}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{1f3fd}\u{fe0f}\u{1f1e9}\u{1f1ea}\u{1f3f4}\u{e0067}\u{e0062}\u{e007f} 中\u{fe0f}\u{302}",
    "line\r\nbreak\rcarriage\n\n\n\ttab\u{b}\u{c}\u{85}next",
    "../../etc/passwd\u{0}\n/../\u{1b}[31m'\"`$(reboot);|&<>{}[]*?~!#%\\",
    "{\"a\":1e999,\"b\":-0,\"c\":1e-999,\"d\":18446744073709551616,\"e\":\"\\u001b[2J\\ud800\\u202e\"}",
    "",
    " ",
    "\u{feff}",
];

fn corpus(target: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let Ok(entries) = std::fs::read_dir(&dir) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn target(name: &str) -> FuzzTarget {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no target {name}")).1
}

/// Calls `run` on a thread with a stack of 2 MiB, like that of the threads on which agents run.
fn on_agent_stack(run: impl FnOnce() -> CheckResult + Send + 'static) -> CheckResult {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    thread.spawn(run).unwrap().join().unwrap()
}

fn assert_no_problems(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn fuzz_corpus_passes_and_covers_every_target() {
    let mut problems = Vec::new();
    for (name, run) in TARGETS {
        let files = corpus(name);
        if files.is_empty() {
            problems.push(format!("fuzz/corpus/{name} is empty"));
        }
        for file in files {
            if let Err(why) = run(&std::fs::read(&file).unwrap()) {
                problems.push(format!("{}: {why}", file.display()));
            }
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn fuzz_targets_and_files_match() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut files: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| {
            e.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    files.sort();
    let mut names: Vec<String> = TARGETS
        .iter()
        .map(|(name, _)| (*name).to_string())
        .collect();
    names.sort();
    assert_eq!(files, names);
}

/// Returns inputs for the fuzz target `name`, with the payload in every field of its format.
#[allow(clippy::too_many_lines)] // one case for each target
fn embed_payload(name: &str, payload: &str) -> Vec<Vec<u8>> {
    let json = serde_json::to_string(payload).unwrap();
    let forms: Vec<String> = match name {
        "sse" => vec![
            format!("\u{3}event: {payload}\ndata: {payload}\n\n"),
            format!(
                "\u{7}event: content_block_start\ndata: {{\"index\":0,\"content_block\":{{\"type\":\"tool_use\",\"id\":{json},\"name\":{json}}}}}\n\nevent: content_block_delta\ndata: {{\"delta\":{{\"partial_json\":{json}}}}}\n\nevent: message_stop\ndata: {{}}\n\n"
            ),
            format!(
                "\u{2}data: {{\"choices\":[{{\"delta\":{{\"content\":{json},\"tool_calls\":[{{\"id\":{json},\"function\":{{\"name\":{json},\"arguments\":{json}}}}}]}},\"finish_reason\":{json}}}]}}\n\ndata: [DONE]\n\n"
            ),
            format!(
                "\u{1}event: error\ndata: {{\"type\":\"error\",\"error\":{{\"message\":{json}}}}}\n\n"
            ),
        ],
        "tool" => {
            let keys = [
                "command", "path", "pattern", "glob", "name", "to", "content", "subject", "id",
                "task", "plan", "reason", "question", "choices", "role", "tags", "items", "focus",
                "prompt", "comment", "status", "text",
            ];
            let fields = keys.map(|k| format!("\"{k}\":{json}")).join(",");
            let lists = keys
                .map(|k| format!("\"{k}\":[{json},{{{json}:{json}}}]"))
                .join(",");
            vec![
                format!("{{{fields}}}"),
                format!("{{{lists}}}"),
                payload.into(),
            ]
        }
        "mcp" => vec![
            format!(
                "{{\"content\":[{{\"type\":\"text\",\"text\":{json}}},{{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":{json}}},{{\"type\":\"resource_link\",\"uri\":{json},\"name\":{json},\"description\":{json}}}],\"structuredContent\":{{{json}:{json}}}}}"
            ),
            format!(
                "[{{\"name\":{json},\"title\":{json},\"description\":{json},\"inputSchema\":{{\"properties\":{{\"a\":{{\"description\":{json}}}}}}}}},{{\"name\":\"x\",\"inputSchema\":{{\"properties\":{{{json}:{{}}}}}}}}]"
            ),
        ],
        "acp" => vec![
            format!(
                "{{\"sessionUpdate\":\"tool_call\",\"toolCallId\":{json},\"title\":{json},\"kind\":{json},\"rawInput\":{{{json}:{json}}},\"locations\":[{{\"path\":{json}}}],\"content\":[{{\"type\":\"diff\",\"path\":{json},\"oldText\":{json},\"newText\":{json}}},{{\"type\":\"content\",\"content\":{{\"type\":\"text\",\"text\":{json}}}}}]}}"
            ),
            format!(
                "{{\"sessionUpdate\":\"plan\",\"entries\":[{{\"content\":{json},\"status\":{json}}}]}}"
            ),
            format!("{{\"sessionUpdate\":\"session_info_update\",\"title\":{json}}}"),
        ],
        "script" => vec![
            format!(
                "rules:\n  - when: '(.*)'\n    say: {json}\n    calls: [{{tool: {json}, input: {{x: {json}}}}}]\n"
            ),
            format!("model: {json}\nrules: [{{agent: {json}, when: {json}}}]\n{payload}"),
        ],
        "task" => vec![format!(
            "{{\"id\":1,\"subject\":{json},\"description\":{json},\"owner\":{json},\"worktree\":{json},\"tags\":[{json}],{json}:{json}}}"
        )],
        "import" => vec![
            format!("\u{0}# {payload}\n- [ ] {payload}\n  {payload}\n- [ ] #{payload}\n"),
            format!(
                "\u{2}{{\"id\":1,\"subject\":{json},\"tags\":[{json}],\"imported_from\":{json},{json}:{json}}}"
            ),
            format!("\u{1}[{{\"subject\":{json}}},{json}]"),
            format!(
                "\u{3}[{{\"number\":1,\"title\":{json},\"body\":{json},\"labels\":[{{\"name\":{json}}}],\"url\":\"https://a/1\"}},{{\"number\":2,\"title\":\"x\",\"url\":{json}}}]"
            ),
            format!(
                "\u{4}[{{\"iid\":1,\"title\":{json},\"description\":{json},\"labels\":[{json}],\"web_url\":\"https://a/1\"}}]"
            ),
        ],
        "messages" => vec![format!(
            "{{\"type\":{json},\"from\":{json},\"to\":{json},\"content\":{json},{json}:1}}\n{payload}\n{{\"from\":\"a\"}}\n"
        )],
        "roster" => vec![format!(
            "{{\"team_name\":{json},\"members\":[{{\"name\":\"bob\",\"role\":{json},\"tags\":[{json}],\"model\":{json}}}],{json}:[]}}"
        )],
        "worktrees" => vec![format!(
            "{{\"worktrees\":[{{\"name\":\"task-1\",\"path\":{json},\"branch\":{json},\"task_id\":1,\"status\":\"active\"}},{{\"name\":{json},\"status\":{json}}},{json}],{json}:{json}}}"
        )],
        "skill" => vec![
            format!("---\nname: a\ndescription: {json}\ntags: [{json}, 1, true]\n---\n{payload}\n"),
            format!("---\nname: {json}\n---\nx\n"),
            format!("---\ndescription: {payload}\n---\nx\n"),
        ],
        "settings" => vec![
            format!(
                "model = {json}\nallow = [{json}]\n[prices.{json}]\ninput = nan\noutput = inf\n"
            ),
            format!("{json} = 1\n"),
            format!("plan = {json}\n"),
            format!("model = {payload}\n"),
        ],
        "journal" => crewdeck::fuzzing::session_events(payload, 1e9)
            .unwrap()
            .chunks(16)
            .map(|events| {
                events
                    .iter()
                    .map(|e| serde_json::to_string(e).unwrap() + "\n")
                    .collect()
            })
            .collect(),
        "keys" => return key_inputs(payload).collect(),
        "markdown" => vec![
            format!("\u{14}{payload}"),
            format!(
                "\u{7}> - 1. {payload}\n\n```{payload}\n{payload}\n```\n[{payload}]({payload}) `{payload}` **{payload}**\n# {payload}\n\n|{payload}|\n|-|\n|{payload}|\n"
            ),
        ],
        _ => Vec::new(),
    };
    forms
        .into_iter()
        .map(String::into_bytes)
        .chain([payload.into()])
        .collect()
}

/// Returns inputs for the fuzz target `keys`: bytes that stand for keys, then the payload as the text that the crew
/// shows.
fn key_inputs(payload: &str) -> impl Iterator<Item = Vec<u8>> {
    (0u8..4).map(move |n| {
        let keys =
            (0u8..40 + n).map(move |k| k.wrapping_mul(37).wrapping_add(n.wrapping_mul(29)).max(1));
        keys.chain([0]).chain(payload.bytes()).collect()
    })
}

#[test]
fn hostile_payloads_are_shown_but_not_interpreted() {
    let mut problems = Vec::new();
    for (name, run) in TARGETS {
        for payload in PAYLOADS {
            for input in embed_payload(name, payload) {
                if let Err(why) = run(&input) {
                    problems.push(format!("{name}: {why}"));
                }
            }
        }
    }
    problems.dedup();
    assert_no_problems(&problems);
}

/// Presses each key in the panes and within a popup, so that every popup and page opens.
#[test]
fn every_popup_escapes_hostile_text() {
    const ESC: u8 = 19;
    const ENTER: u8 = 20;
    // Short enough for every row, with characters that the cell buffer does not drop by itself.
    let words = "\u{202e}x\u{200b}";
    let mut problems = Vec::new();
    for key in bytes_of_bound_keys() {
        for run in [&[ESC, ESC, key][..], &[ESC, key, ENTER, key]] {
            let bytes = [run, &[0], words.as_bytes()].concat();
            if let Err(why) = target("keys")(&bytes) {
                problems.push(format!("{key}: {why}"));
            }
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn deep_nesting_overflows_no_stack() {
    const DEPTH: usize = 50_000;
    const JSON: &[&str] = &["task", "messages", "roster", "worktrees", "journal", "tool"];
    const MARKDOWN: &[&str] = &["markdown"];
    const YAML: &[&str] = &["skill", "script"];
    const TOML: &[&str] = &["settings"];
    const SHELL: &[&str] = &["tool"];
    let nests: &[(&[&str], &str, &str, &str)] = &[
        (JSON, "{\"id\":1,\"subject\":\"x\",\"y\":", "[", "]"),
        (JSON, "", "{\"a\":", "}"),
        (&["sse"], "xdata: ", "[", "]\n\n"),
        (&["sse"], "xdata: {\"choices\":", "{\"a\":", "}\n\n"),
        (MARKDOWN, "P", "> ", ""),
        (MARKDOWN, "P", "- ", ""),
        (MARKDOWN, "P", "> - ", ""),
        (MARKDOWN, "P", "*", ""),
        (MARKDOWN, "P", "_a ", "_"),
        (MARKDOWN, "P", "[a", "](b)"),
        (MARKDOWN, "P", "![", "]"),
        (MARKDOWN, "P", "<b>", "</b>"),
        (MARKDOWN, "P", "`", "x"),
        (MARKDOWN, "P|", "a|", "\n"),
        (YAML, "---\na: ", "[", "]\n---\nbody"),
        (YAML, "---\na: ", "{b: ", "}\n---\nbody"),
        (YAML, "---\n", "- ", "\n---\nbody"),
        (
            YAML,
            "rules:\n  - calls:\n    - tool: x\n      input: ",
            "[",
            "]",
        ),
        (YAML, "rules:\n  - when: '", "(", ")'"),
        (TOML, "a = ", "[", "]"),
        (TOML, "a = ", "{a=", "}"),
        (TOML, "", "a.", "b=1"),
        (TOML, "[", "a.", ""),
        (SHELL, "", "$(", ")"),
        (SHELL, "", "(", ")"),
        (SHELL, "", "{", "}"),
        (SHELL, "", "\"$(", ")\""),
        (SHELL, "", "bash -c '", "'"),
    ];
    let mut problems = Vec::new();
    for (names, before, open, close) in nests {
        let text = format!("{before}{}{}", open.repeat(DEPTH), close.repeat(DEPTH));
        for name in *names {
            let (run, bytes) = (target(name), text.clone().into_bytes());
            if let Err(why) = on_agent_stack(move || run(&bytes)) {
                problems.push(format!("{name}: {open:?}: {why}"));
            }
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn expansion_bombs_are_refused() {
    let level = |n: u32| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(9));
    let levels = (1..30).map(level).collect::<Vec<_>>().concat();
    let bomb = format!("a0: &a0 lol\n{levels}");
    for text in [
        format!("---\n{bomb}name: x\n---\nbody\n"),
        "---\ntags: &t [a, *t]\n---\nbody\n".into(),
    ] {
        target("skill")(text.as_bytes()).unwrap();
    }
    let input = bomb.replace('\n', "\n        ");
    let script =
        format!("rules:\n  - say: x\n    calls:\n      - tool: x\n        input:\n        {input}");
    target("script")(script.as_bytes()).unwrap();
    // Each placeholder expands to text with placeholders.
    let groups = format!("{}say.*{}", "(".repeat(20), ")".repeat(20));
    let places: Vec<String> = (1..=20).map(|n| format!("{{{{{n}}}}}")).collect();
    let places = places.concat();
    let script = format!("rules:\n  - when: \"{groups}\"\n    say: '{places}'\n");
    target("script")(script.as_bytes()).unwrap();
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(PAYLOADS).prop_map(str::to_string),
        2 => any::<char>().prop_map(String::from),
        2 => "[a-z0-9 .,:{}\\[\\]()<>#*_`|&;\"'\\\\\n-]{0,12}",
        1 => "\\PC{0,8}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn targets_accept_any_input(text in hostile_text(), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        for (name, run) in TARGETS.iter().filter(|(name, _)| !["keys", "journal"].contains(name)) {
            for bytes in embed_payload(name, &text).into_iter().chain([noise.clone()]) {
                let result = run(&bytes);
                prop_assert!(result.is_ok(), "{name}: {result:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_keys_and_text_are_drawn(keys in prop::collection::vec(1u8.., 0..48), text in hostile_text()) {
        let bytes: Vec<u8> = keys.into_iter().chain([0]).chain(text.bytes()).collect();
        let result = target("keys")(&bytes);
        prop_assert!(result.is_ok(), "{result:?}");
    }
}
