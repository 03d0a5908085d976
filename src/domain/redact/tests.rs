//! Tests of redaction: what is redacted, what is kept, and that splitting the input leaks nothing.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const VALUE: &str = "hunter2-and-more";
const KEY: &str = "sk-ant-api03-Ab1_cdEFghIJklMNopQRstUV-wx";

fn redactor() -> Redactor {
    let variables = [
        ("SHORT_TOKEN", "1234567"),
        ("DB_PASSWORD", VALUE),
        ("LONGER_SECRET", "hunter2-and-more-of-it"),
        ("ANTHROPIC_API_KEY", "sk-ant-mine-000000000000000001"),
    ];
    let owned = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
    Redactor::new(variables.map(owned))
}

fn pem() -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(4);
    format!("-----BEGIN RSA PRIVATE KEY-----\n{line}-----END RSA PRIVATE KEY-----")
}

#[test]
fn added_secret_is_redacted_by_all_clones_and_open_streams() {
    let redactor = redactor();
    let (clone, mut stream) = (redactor.clone(), redactor.stream());
    let other = redactor.with([]);
    assert_eq!(stream.push_text("a "), "a ");
    redactor.add("MCP_LOGIN", " renewed-token ");
    redactor.add("MCP_LOGIN", "short");
    let text = "renewed-token and hunter2-and-more, short";
    let clean = "[redacted: MCP_LOGIN] and [redacted: DB_PASSWORD], short";
    assert_eq!(clone.text(text), clean);
    assert_eq!(stream.push_text(text) + &stream.end_text(), clean);
    assert!(!other.has_secret("renewed-token"));
    assert!(clone.with([]).has_secret("renewed-token"));
}

#[test]
fn number_of_added_secrets_is_bounded() {
    let redactor = redactor();
    for number in 0..=ADDED_MAX {
        redactor.add("MCP_LOGIN", &format!("token number {number}."));
        redactor.add("MCP_LOGIN", &format!("token number {number}."));
    }
    assert!(!redactor.has_secret("token number 0."));
    assert!(redactor.has_secret("token number 1.") && redactor.has_secret(VALUE));
}

#[test]
fn secrets_are_replaced_by_placeholders() {
    let escaped = pem().replace('\n', "\\n");
    for (text, clean) in [
        (format!("DB={VALUE}\n"), "DB=[redacted: DB_PASSWORD]\n"),
        (format!("{VALUE}-of-it!"), "[redacted: LONGER_SECRET]!"),
        (
            format!("{VALUE}{VALUE}"),
            "[redacted: DB_PASSWORD][redacted: DB_PASSWORD]",
        ),
        (format!("key: {KEY}."), "key: [redacted: Anthropic key]."),
        (
            "sk-ant-mine-000000000000000001".into(),
            "[redacted: ANTHROPIC_API_KEY]",
        ),
        (
            "OPENAI_API_KEY=sk-proj-abcDEF0123456789abcdefXYZ".into(),
            "OPENAI_API_KEY=[redacted: API key]",
        ),
        (
            "'sk-0123456789abcdef0123456789abcdef'".into(),
            "'[redacted: API key]'",
        ),
        (
            format!("ghp_{}", "a1B2".repeat(9)),
            "[redacted: GitHub token]",
        ),
        (
            format!("github_pat_{}_x", "a1B2".repeat(6)),
            "[redacted: GitHub token]",
        ),
        ("id AKIAIOSFODNN7EXAMPLE,".into(), "id [redacted: AWS key],"),
        (
            "xoxb-123456789012-abcdefABCDEF".into(),
            "[redacted: Slack token]",
        ),
        (format!("a\n{}\nb", pem()), "a\n[redacted: private key]\nb"),
        (
            format!("KEY=\"{escaped}\""),
            "KEY=\"[redacted: private key]\"",
        ),
        (
            "Authorization: Bearer abcdefghijklmnop.qrst1234\r\n".into(),
            "Authorization: Bearer [redacted: bearer token]\r\n",
        ),
        (
            "authorization: basic dXNlcjpwYXNz0".into(),
            "authorization: basic [redacted: password]",
        ),
        (format!("Bearer {VALUE}"), "Bearer [redacted: DB_PASSWORD]"),
        (
            "X-Api-Key: 0123456789abcdef".into(),
            "X-Api-Key: [redacted: API key]",
        ),
        (
            "postgres://ada:s3cr3t!x@db:5432/x".into(),
            "postgres://ada:[redacted: password]@db:5432/x",
        ),
        (
            "redis://:s3cr3t@h".into(),
            "redis://:[redacted: password]@h",
        ),
    ] {
        let found = redactor().text(&text).into_owned();
        assert_eq!(found, clean, "{text}");
        assert_eq!(redactor().text(&found), found, "twice");
    }
}

#[test]
fn code_and_prose_are_not_redacted() {
    for text in [
        "1234567",
        "let prefix = \"sk-\"; // keys begin with sk- or sk-ant-",
        "risk-0123456789abcdef0123456789abcdef",
        ".sk-fading-circle-container-inner-2 .sk-cube-grid-item-wrapper-9 {}",
        "sk-ant-...",
        "export ANTHROPIC_API_KEY=sk-ant-your-key-goes-here-please",
        "ghp_ and github_pat_ begin tokens; ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "AKIA followed by 16: AKIA[0-9A-Z]{16} MAKIA0123456789ABCDEF AKIA0123456789ABCDEFG",
        "headers.insert(\"Authorization\", format!(\"Bearer {token}\"))",
        "Authorization: Bearer $TOKEN",
        "a bearer of bad news and 1234567890",
        "\"-----BEGIN PRIVATE KEY-----\\n\" + body + \"-----END PRIVATE KEY-----\"",
        "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n",
        "http://localhost:8080/a@b https://user@host/x postgres://user:password@localhost/db",
        "https://$USER:$TOKEN@host ftp://a:<password>@host http://[::1]:80/",
        "[redacted: DB_PASSWORD]",
        "",
    ] {
        assert!(
            matches!(redactor().text(text), Cow::Borrowed(_)),
            "{text} became {}",
            redactor().text(text)
        );
    }
}

#[test]
fn json_keeps_its_structure() {
    let mut value = json!({"a": [1, null, format!("x {VALUE}")], VALUE: {"b": "plain"}});
    assert_eq!(redactor().json(&mut value), 1);
    assert_eq!(
        value,
        json!({"a": [1, null, "x [redacted: DB_PASSWORD]"], VALUE: {"b": "plain"}})
    );
    assert!(!format!("{:?}", redactor()).contains("hunter2"));
}

#[test]
fn invalid_utf8_is_unchanged() {
    let bytes = [0xff, 0xfe, b's', b'k', b'-', 0x80, b':', b'/', b'/', 0];
    assert_eq!(redactor().bytes(&bytes).as_ref(), bytes);
}

#[test]
fn stream_holds_back_only_possible_secrets() {
    let mut stream = redactor().stream();
    assert_eq!(stream.push(b"progress 10% "), b"progress 10% ");
    assert_eq!(stream.push(b"hunt"), b"");
    assert_eq!(stream.push(b"ing "), b"hunting ");
    assert_eq!(stream.push(b"sk-"), b"");
    assert_eq!(stream.end(), b"sk-");
}

#[test]
fn unbounded_secret_is_dropped_up_to_its_end() {
    let mut stream = redactor().stream();
    let mut out = stream.push(b"sk-ant-0");
    for _ in 0..100 {
        out.extend(stream.push(&[b'a'; 1000]));
    }
    out.extend(stream.push(b" then"));
    out.extend(stream.end());
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "[redacted: Anthropic key] then"
    );
    let long = format!(
        "{}{}-----END",
        "-----BEGIN PRIVATE KEY-----\n",
        "MIIEvQIBAD\n".repeat(4000)
    );
    let mut stream = redactor().stream();
    let mut out = Vec::new();
    for piece in long.as_bytes().chunks(4096) {
        out.extend(stream.push(piece));
    }
    out.extend(stream.end());
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "[redacted: private key]-----END"
    );
    for signature in ["c2lnbmF0dXJl", "c2ln"] {
        let claims = "eyJzdWIiOiIx".repeat(if signature.len() > 4 { 4000 } else { 1707 });
        let token = format!("eyJhbGciOiJIUzI1NiJ9.{claims}.{signature}");
        let mut stream = redactor().stream();
        let mut out = String::new();
        for piece in format!("{token}{} then", "A".repeat(5000))
            .as_bytes()
            .chunks(100)
        {
            out.push_str(&stream.push_text(str::from_utf8(piece).unwrap()));
        }
        assert_eq!(out + &stream.end_text(), "[redacted: JSON web token] then");
    }
}

/// Redacts `text` as a stream of pieces. `cuts` are the lengths of the pieces in bytes, used again from the start when
/// all are used.
fn cut(text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut stream = redactor().stream();
    let (mut out, mut rest) = (Vec::new(), text);
    for length in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        out.extend(stream.push(piece));
        rest = after;
    }
    out.extend(stream.end());
    out
}

fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        VALUE.to_string(),
        "hunter2-and-more-of-it".into(),
        "sk-ant-mine-000000000000000001".into(),
        KEY.into(),
        pem(),
        "AKIAIOSFODNN7EXAMPLE".into(),
        "postgres://ada:s3cr3t!x@db".into(),
        "Bearer abcdefghijklmnop.qrst1234".into(),
        "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2".into(),
        "-----BEGIN PRIVATE KEY-----".into(),
        "sk-".into(),
        "hunter2-".into(),
        " ".into(),
        "\n".into(),
        "-".into(),
    ];
    prop_oneof![
        prop::sample::select(fixed.to_vec()),
        "[a-zäö漢 :/@.-]{0,12}"
    ]
}

proptest! {
    /// However the text is split, the output is that of the whole text and contains no secret.
    #[test]
    fn no_split_leaks_a_secret(
        pieces in prop::collection::vec(piece(), 0..8),
        cuts in prop::collection::vec(1usize..40, 1..20),
    ) {
        let text = pieces.concat();
        let clean = cut(text.as_bytes(), &cuts);
        let clean = String::from_utf8(clean).unwrap();
        let whole = redactor().text(&text).into_owned();
        prop_assert_eq!(&clean, &whole);
        for secret in [VALUE, "sk-ant-mine-000000000000000001", "Ab1_cdEFghIJ"] {
            prop_assert!(!clean.contains(secret), "{clean}");
        }
    }

    #[test]
    fn secret_split_at_any_byte_is_redacted(at in 0usize..400, before in "[ a-z=\n]{0,8}") {
        let text = format!("{before} {VALUE} {KEY} {}", pem());
        let at = at.min(text.len());
        let mut stream = redactor().stream();
        let mut clean = stream.push(&text.as_bytes()[..at]);
        clean.extend(stream.push(&text.as_bytes()[at..]));
        clean.extend(stream.end());
        prop_assert_eq!(String::from_utf8(clean).unwrap(), format!("{before} [redacted: DB_PASSWORD] [redacted: Anthropic key] [redacted: private key]"));
    }

    /// Nearly all rules require a digit or `://`, which the generated text cannot contain. A match of the others, a private
    /// key or an AWS key without digits, is practically impossible.
    #[test]
    fn text_without_secrets_is_unchanged(text in "[a-zA-Z äö漢\n\"'(){}<>;,.=_*#|&!?-]{0,200}") {
        prop_assume!(!text.contains("hunter"));
        let found = redactor().text(&text).into_owned();
        prop_assert_eq!(found, text);
    }
}
