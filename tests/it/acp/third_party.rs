//! Real agents of other vendors. `tests/third_party/acp` installs them and runs this test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crewdeck::acp::{
    AcpAgent, AcpError, AcpOptions, AcpSession, PermissionAnswer, PromptEndReason, SessionHandler,
    SessionSpec,
};
use crewdeck::domain::external_agent::{
    AgentCommand, AgentPreset, ExternalAgent, ExternalAgentSettings, RefusalEffect,
};
use crewdeck::domain::redact::Redactor;

use super::{Recorder, prompt, wait_until};
use crate::common::supervised::program;

/// The folder with the installed agents.
const AGENTS: &str = "CREWDECK_ACP_AGENTS";
/// The names of the agents to test; all if it is empty.
const NAMES: &str = "CREWDECK_ACP_NAMES";
const ALL: &str = "claude codex opencode gemini qwen goose";

/// The model server; it ends with the test.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start() -> Model {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/third_party/acp_model.py");
        let mut child = Command::new("python3")
            .arg(script)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut url).unwrap();
        let url = url.trim().to_string();
        Model { child, url }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the environment that makes an agent use the model server without a login, and writes its settings to `home`.
fn environment(name: &str, url: &str, home: &Path) -> Vec<(&'static str, String)> {
    let put = |path: &str, text: String| {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let google = |login: &str, model: &str| {
        format!(
            r#"{{"security": {{"auth": {{"selectedType": "{login}"}}, "folderTrust": {{"enabled": false}}}},
            "general": {{"enableAutoUpdate": false, "disableAutoUpdate": true}},
            "privacy": {{"usageStatisticsEnabled": false}}, "telemetry": {{"enabled": false}},
            "model": {{"name": "{model}"}}}}"#
        )
    };
    let key = || "local".to_string();
    match name {
        "claude" => vec![
            ("ANTHROPIC_BASE_URL", url.into()),
            ("ANTHROPIC_API_KEY", key()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
        ],
        "codex" => {
            put(
                ".codex/config.toml",
                format!(
                    "model = \"gpt-5.5\"\nmodel_provider = \"local\"\ncheck_for_update_on_startup = false\n\
                     [model_providers.local]\nname = \"local\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
                     env_key = \"LOCAL_KEY\"\n[analytics]\nenabled = false\n[features]\napps = false\n\
                     plugins = false\nremote_plugin = false\n"
                ),
            );
            vec![("LOCAL_KEY", key())]
        }
        "opencode" => {
            put(
                ".config/opencode/opencode.json",
                format!(
                    r#"{{"autoupdate": false, "share": "disabled", "model": "local/test", "small_model": "local/test",
                    "enabled_providers": ["local"], "provider": {{"local": {{"npm": "@ai-sdk/openai-compatible",
                    "name": "local", "options": {{"baseURL": "{url}/v1", "apiKey": "local"}}, "models": {{"test":
                    {{"name": "test", "tool_call": true, "limit": {{"context": 200000, "output": 8000}}}}}}}}}}}}"#
                ),
            );
            vec![
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".into()),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".into()),
            ]
        }
        "gemini" => {
            put(
                ".gemini/settings.json",
                google("gemini-api-key", "gemini-2.5-pro"),
            );
            vec![
                ("GEMINI_API_KEY", key()),
                ("GOOGLE_GEMINI_BASE_URL", url.into()),
            ]
        }
        "qwen" => {
            put(".qwen/settings.json", google("openai", "test"));
            vec![
                ("OPENAI_API_KEY", key()),
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_MODEL", "test".into()),
            ]
        }
        "goose" => vec![
            ("GOOSE_PROVIDER", "openai".into()),
            ("GOOSE_MODEL", "gpt-4o".into()),
            ("GOOSE_DISABLE_KEYRING", "1".into()),
            ("GOOSE_TELEMETRY_ENABLED", "false".into()),
            ("OPENAI_HOST", url.into()),
            ("OPENAI_API_KEY", key()),
        ],
        other => panic!("there is no agent {other}"),
    }
}

/// Like [`prompt`], but gives up after a minute.
async fn timed_prompt(
    session: &AcpSession,
    text: &str,
) -> Result<crewdeck::acp::PromptEnd, String> {
    let end = tokio::time::timeout(Duration::from_secs(60), prompt(session, text)).await;
    end.map_err(|_| "no answer".to_string())?
        .map_err(|error| error.to_string())
}

/// One agent under test.
struct RealAgent {
    agent: AcpAgent,
    config: ExternalAgent,
    preset: &'static AgentPreset,
    home: PathBuf,
    dir: PathBuf,
}

impl RealAgent {
    fn new(name: &str, base: &Path, url: &str, temp: &Path) -> RealAgent {
        let (home, dir) = (
            temp.join(format!("home-{name}")),
            temp.join(format!("work-{name}")),
        );
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&dir).unwrap();
        let preset = AgentPreset::find(name).unwrap();
        let bin = base.join("npm/node_modules/.bin");
        let mut env: BTreeMap<String, String> = environment(name, url, &home)
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        env.insert("PATH".into(), path);
        env.insert("HOME".into(), home.to_str().unwrap().into());
        let command = bin.join(preset.program);
        let settings = ExternalAgentSettings {
            command: Some(AgentCommand::Program(command.to_str().unwrap().into())),
            env,
            ..ExternalAgentSettings::default()
        };
        let config = ExternalAgent::resolve(name, &settings, &|text| Ok(text.into())).unwrap();
        let options = AcpOptions::new(dir.clone(), Some(program()), Redactor::default());
        RealAgent {
            agent: AcpAgent::new(config.clone(), options),
            config,
            preset,
            home,
            dir,
        }
    }

    async fn open(
        &self,
        recorder: &Arc<Recorder>,
        load: Option<&str>,
    ) -> Result<AcpSession, AcpError> {
        let spec = SessionSpec {
            cwd: self.dir.clone(),
            mode: self.config.ask_mode.clone(),
            load: load.map(str::to_string),
            ..SessionSpec::default()
        };
        let handler = Arc::clone(recorder) as Arc<dyn SessionHandler>;
        self.agent.open(&spec, handler).await
    }

    /// Returns the processes of the agent: those with its home directory.
    fn processes(&self) -> Vec<i32> {
        let wanted = format!("HOME={}", self.home.display());
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let env = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            env.split(|b| *b == 0).any(|line| line == wanted.as_bytes())
        })
        .collect()
    }

    /// Tests the agent and returns a row of the table, and the problems.
    #[allow(clippy::too_many_lines)] // one list of checks
    async fn test(&self) -> (String, Vec<String>) {
        let mut problems = Vec::new();
        let mut check = |what: &str, is_so: bool| {
            if !is_so {
                problems.push(what.to_string());
            }
        };
        let mut row = Vec::new();
        let recorder = Recorder::answering(PermissionAnswer::AllowOnce);
        let began = Instant::now();
        let session = match self.open(&recorder, None).await {
            Ok(session) => session,
            Err(error) => return (String::new(), vec![format!("open: {error}")]),
        };
        row.push(format!("open {:.1} s", began.elapsed().as_secs_f32()));
        check(
            &format!("set: {:?}", session.unset()),
            session.unset().is_empty(),
        );

        let end = timed_prompt(&session, "CREWDECK-TEST say").await;
        let usage = end
            .as_ref()
            .ok()
            .and_then(|end| end.usage)
            .map(|usage| usage.total());
        check(
            &format!("say: {end:?}"),
            recorder.text().contains("finished"),
        );
        row.push(format!("usage {usage:?}"));

        let (yes, no) = (self.dir.join("yes"), self.dir.join("no"));
        let run = |file: &Path| format!("CREWDECK-TEST run touch {}", file.display());
        let end = timed_prompt(&session, &run(&yes)).await;
        let asked = std::mem::take(&mut *recorder.asked.lock().unwrap());
        check(&format!("allowed: {end:?}"), end.is_ok() && yes.exists());
        check(&format!("asked once: {asked:?}"), asked.len() == 1);
        row.push(format!("allowed {}", yes.exists()));
        let is_whole = asked.iter().all(|asked| !asked.call.title.is_empty());
        check("the call has a title", is_whole);

        *recorder.answer.lock().unwrap() = Some(PermissionAnswer::Reject);
        let end = timed_prompt(&session, &run(&no)).await;
        check(&format!("refused: {end:?}"), end.is_ok() && !no.exists());
        if let Ok(end) = &end {
            let is_silent = self.preset.refusal == RefusalEffect::TurnEnds;
            check("one refusal", end.refused.len() == 1);
            check(
                "the refusal is as in the preset",
                end.is_refusal_unreported == is_silent,
            );
            let notice = end.refusal_notice().unwrap_or_default();
            row.push(format!("refused {:?}, silent {is_silent}", end.reason));
            let next = timed_prompt(&session, &format!("{notice}\nCREWDECK-TEST say")).await;
            check(&format!("after the refusal: {next:?}"), next.is_ok());
        }

        recorder.updates.lock().unwrap().clear();
        let mut cancelled = Instant::now();
        let cancel = async {
            wait_until("slow text", || recorder.text().contains("slow")).await;
            cancelled = Instant::now();
            session.cancel();
        };
        let (end, ()) = tokio::join!(timed_prompt(&session, "CREWDECK-TEST slow"), cancel);
        row.push(format!("cancel {:.2} s", cancelled.elapsed().as_secs_f32()));
        let reason = end.as_ref().map(|end| end.reason).ok();
        check(
            &format!("cancel: {end:?}"),
            reason == Some(PromptEndReason::Cancelled),
        );

        let other = self.open(&recorder, None).await;
        match &other {
            Ok(other) => {
                let both = tokio::join!(
                    timed_prompt(&session, "CREWDECK-TEST say"),
                    timed_prompt(other, "CREWDECK-TEST say")
                );
                check(
                    &format!("two sessions: {both:?}"),
                    both.0.is_ok() && both.1.is_ok(),
                );
            }
            Err(error) => check(&format!("second session: {error}"), false),
        }
        let plan = session.set_mode(self.preset.plan_mode).await;
        check(&format!("plan mode: {plan:?}"), plan.is_ok());
        let end = timed_prompt(&session, "CREWDECK-TEST say").await;
        check(&format!("prompt in plan mode: {end:?}"), end.is_ok());

        let id = session.id().to_string();
        for pid in self.processes() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        let error = session.ended().await;
        check(
            &format!("killed: {error}"),
            matches!(&error, AcpError::Ended { .. }),
        );
        drop((session, other));
        let loaded = self.open(&recorder, Some(&id)).await;
        row.push(format!("load after kill {}", loaded.is_ok()));
        let is_expected = match &loaded {
            Ok(_) => self.preset.loads_after_kill,
            Err(AcpError::LoadFailed { .. }) => !self.preset.loads_after_kill,
            Err(_) => false,
        };
        check(&format!("load: {:?}", loaded.as_ref().err()), is_expected);
        if let Ok(loaded) = &loaded {
            let end = timed_prompt(loaded, "CREWDECK-TEST say").await;
            check(&format!("after the load: {end:?}"), end.is_ok());
        }
        let began = Instant::now();
        self.agent.shut_down().await;
        row.push(format!("end {:.1} s", began.elapsed().as_secs_f32()));
        tokio::time::sleep(Duration::from_millis(200)).await;
        let left = self.processes().len();
        row.push(format!("left {left}"));
        check("no process is left", left == 0);
        (row.join(" | "), problems)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs agents of other vendors: tests/third_party/acp"]
async fn real_agents_work() {
    let base = std::env::var_os(AGENTS).expect("run tests/third_party/acp");
    let names = std::env::var(NAMES).unwrap_or_default();
    let names = if names.is_empty() { ALL } else { &names };
    let model = Model::start();
    let temp = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for name in names.split_whitespace() {
        let agent = RealAgent::new(name, Path::new(&base), &model.url, temp.path());
        let (row, problems) = agent.test().await;
        println!("{name} | {row}");
        all.extend(
            problems
                .into_iter()
                .map(|problem| format!("{name}: {problem}")),
        );
    }
    assert!(all.is_empty(), "\n{}\n", all.join("\n"));
}
