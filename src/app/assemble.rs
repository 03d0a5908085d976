//! Gathers the parts of a crew: directory, settings, model, rules. The same for every front end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use secrecy::SecretString;

use super::journal::Journal;
use super::lock::{self, CrewLock};
use super::{demo, jitter, local, new_id, now, resume, root, settings};
use crate::agent::compact::COMPACT_AT;
use crate::agent::driver::Engine;
use crate::cli::Global;
use crate::config::{self, Choice, Found, Merging, Settings, Source};
use crate::crew::{Crew, Deciders, MergeRule, Parts, Start};
use crate::domain::request::Decider;
use crate::model::anthropic::{AnthropicConfig, KeyHeader};
use crate::model::governor::{self, Governor};
use crate::model::openai::{MaxTokensField, OpenAiConfig};
use crate::model::provider::{self, ProviderConfig};
use crate::model::{Fault, Model, ModelError};
use crate::protocol::Publisher;
use crate::protocol::event::{EventKind, Level, Setup};
use crate::store::{self, Skills};
use crate::tools::policy::Rules;
use crate::tools::table;

/// Files with the repository's own instructions; the first that is there counts.
const MEMORY_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md"];
/// Most bytes of such a file that are read.
const MEMORY_READ_MAX: u64 = 256 * 1024;

/// Everything that is known before anything is started or asked over the network.
pub struct Blueprint {
    /// The crew's directory.
    pub root: PathBuf,
    /// The settings, options included.
    pub settings: Settings,
    /// Which provider; `None`: nothing pointed to one.
    pub choice: Option<Choice>,
    /// Who decides what.
    pub deciders: Deciders,
    /// The earlier session that is gone on with.
    pub resume: Option<String>,
    /// How many times faster a scripted model runs.
    pub speed: f64,
    /// Keeps the demo's temporary repository.
    demo: Option<demo::Repository>,
}

/// A crew that runs, and what lives as long as it does.
pub struct Assembly {
    /// The crew.
    pub crew: Crew,
    /// Where its events are written down.
    pub journal: Journal,
    /// Keeps a second crew out.
    pub lock: CrewLock,
}

impl Blueprint {
    /// Reads options, settings and surroundings. Makes the demo's repository where the demo is asked for.
    ///
    /// # Errors
    /// What does not fit, and what to do about it.
    pub fn read(global: &Global) -> Result<Blueprint> {
        let wants_demo = global.demo || global.provider.as_deref() == Some("demo");
        if global.speed.is_some() && !wants_demo {
            bail!("--speed is for the demo: use it with --demo");
        }
        let (root, demo) = if wants_demo {
            let repository = match (&global.dir, &global.resume) {
                (Some(dir), Some(_)) => demo::Repository::reopen(dir)?,
                (dir, _) => demo::Repository::make(dir.as_deref())?,
            };
            (repository.path().to_owned(), Some(repository))
        } else {
            (root(global)?, None)
        };
        let wish = global.resume.as_deref();
        let resume = wish.map(|id| resume::choose(&root, id)).transpose()?;
        let settings = settings(global, &root)?;
        if let Some(names) = &settings.tools {
            table::narrow(names).map_err(|why| anyhow!(why))?;
        }
        let there = |name: &str| match std::env::var(name) {
            Ok(key) if !key.trim().is_empty() => Source::There,
            Ok(_) | Err(_) => Source::Missing,
        };
        let found = Found {
            anthropic_key: there("ANTHROPIC_API_KEY"),
            openai_key: there("OPENAI_API_KEY"),
        };
        let choice = if wants_demo {
            Some(Choice::Demo)
        } else {
            config::choose(global.provider.as_deref(), &settings, found)
                .map_err(|why| anyhow!(why))?
        };
        let (plan, shutdown, tool) = settings.deciders();
        Ok(Blueprint {
            root,
            settings,
            choice,
            deciders: Deciders {
                plan,
                shutdown,
                tool,
                ceiling: Decider::Ask,
                question: Decider::Ask,
            },
            resume,
            speed: global.speed.unwrap_or(1.0),
            demo,
        })
    }

    /// The prompt that is built in: the demo has one.
    pub fn prompt(&self) -> Option<String> {
        let demo = self.demo.as_ref().filter(|_| self.resume.is_none());
        demo.map(|_| demo::PROMPT.to_string())
    }
}

/// No model can be had: what is missing and what to do, for the first page and for `run`.
#[derive(Debug, thiserror::Error)]
#[error("{reason} {}", steps.join(" "))]
pub struct NoModel {
    /// What is missing.
    pub reason: String,
    /// What can be done, one step a line.
    pub steps: Vec<String>,
}

/// Starts the crew.
///
/// # Errors
/// [`NoModel`] when no model can be had, else why the crew can not start here.
pub async fn build(blueprint: &Blueprint, publisher: Publisher) -> Result<Assembly> {
    let root = &blueprint.root;
    let notices = store::prepare(root)?;
    let lock = lock::take(root)?;
    let settings = &blueprint.settings;
    let wire = wire(blueprint).await?;
    let session = blueprint.resume.clone().unwrap_or_else(new_id);
    let journal = Journal::open(root, &session);
    let model = name_of_model(settings, &wire, &publisher).await?;
    let calls_max = settings.calls_max.unwrap_or(governor::CALLS_MAX);
    let engine = Engine {
        window: settings.window.or(wire.window),
        price: settings.prices.get(&model).copied(),
        max_tokens: settings.max_tokens.unwrap_or(config::MAX_TOKENS),
        name: model.clone(),
        model: Arc::new(Governor::new(wire.model, calls_max, jitter)),
    };
    let tools = match &settings.tools {
        Some(names) => table::narrow(names).map_err(|why| anyhow!(why))?,
        None => table::TABLE.iter().map(|t| t.name.to_string()).collect(),
    };
    let setup = Setup {
        session,
        root: shown(root),
        provider: wire.provider.into(),
        model,
        scripted: wire.scripted,
        git: root.join(".git").exists(),
        window: engine.window,
        tools,
    };
    let crew = Crew::start(Parts {
        root: root.clone(),
        setup,
        engine,
        prices: settings.prices.clone(),
        worktrees: match (settings.worktrees, settings.merge.unwrap_or_default()) {
            (Some(false), _) => None,
            (Some(true) | None, Merging::Asked) => Some(MergeRule::Asked),
            (Some(true) | None, Merging::Auto) => Some(MergeRule::Auto),
        },
        deciders: blueprint.deciders,
        ceilings: settings.ceilings,
        rules: Rules {
            allow: settings.allow.clone().unwrap_or_default(),
            ..Rules::default()
        },
        tools: settings.tools.clone(),
        tool_timeout: settings.tool_timeout(),
        compact_at: settings.compact_at.unwrap_or(COMPACT_AT),
        start: match blueprint.resume {
            Some(_) => Start::Resumed,
            None => Start::Fresh,
        },
        idle_timeout: settings.idle_timeout(),
        memory: memory(root),
        skills: Skills::open(root, config::user_folder().map(|f| f.join("skills"))),
        publisher: publisher.clone(),
        clock: now,
        new_id,
        jitter,
    })
    .await?;
    for text in notices {
        let notice = EventKind::notice(Level::Warn, text);
        publisher.publish(notice).await;
    }
    Ok(Assembly {
        crew,
        journal,
        lock,
    })
}

/// A model's wire, with what is known about it.
struct Wire {
    model: Arc<dyn Model>,
    provider: &'static str,
    scripted: bool,
    /// The model's name and window where the wire itself knows them.
    name: Option<String>,
    window: Option<u64>,
}

async fn wire(blueprint: &Blueprint) -> Result<Wire> {
    let settings = &blueprint.settings;
    let script = |text: &str, shown: &str, provider| -> Result<Wire> {
        let script =
            provider::script(text, blueprint.speed).map_err(|e| anyhow!("{shown}: {e}"))?;
        Ok(Wire {
            name: Some(script.name().to_string()),
            window: script.window(),
            model: Arc::new(script),
            provider,
            scripted: true,
        })
    };
    match &blueprint.choice {
        Some(Choice::Demo) => script(demo::SCRIPT, "the demo's script", "demo"),
        Some(Choice::Script(file)) => {
            let text = std::fs::read_to_string(file).map_err(|e| {
                anyhow!(
                    "the script {file} can not be read: {}",
                    store::words::why(&e)
                )
            })?;
            script(&text, file, "script")
        }
        Some(Choice::Anthropic) => connected(&anthropic(settings)?, "anthropic"),
        Some(Choice::OpenAi) => connected(&openai(settings, None)?, "openai"),
        None => {
            let found = tokio::task::spawn_blocking(local::find).await?;
            match found {
                Some((_, url)) => connected(&openai(settings, Some(url))?, "openai"),
                None => Err(no_model().into()),
            }
        }
    }
}

fn connected(config: &ProviderConfig, provider: &'static str) -> Result<Wire> {
    let model = provider::connect(config).map_err(|e| anyhow!("{e}. {}", e.hint))?;
    Ok(Wire {
        model,
        provider,
        scripted: false,
        name: None,
        window: None,
    })
}

fn no_model() -> NoModel {
    NoModel {
        reason: "No model is set up yet: there is no key and no local server.".into(),
        steps: vec![
            "Set ANTHROPIC_API_KEY or OPENAI_API_KEY and start crewdeck again.".into(),
            "Or start a local server (Ollama, llama.cpp, LM Studio): it is found by itself.".into(),
            "Or name any compatible server: --provider openai --base-url URL --model NAME.".into(),
            "Or watch the demo, which needs none of it: crewdeck --demo.".into(),
        ],
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|text| !text.trim().is_empty())
}

fn anthropic(settings: &Settings) -> Result<ProviderConfig> {
    let mut config = AnthropicConfig::default();
    if let Some(url) = settings
        .base_url
        .clone()
        .or_else(|| variable("ANTHROPIC_BASE_URL"))
    {
        config.base_url = url;
    }
    config.key = key("ANTHROPIC_API_KEY", &config.base_url)?;
    if let Some(header) = &settings.anthropic.key_header {
        config.key_header = match header.as_str() {
            "x-api-key" => KeyHeader::XApiKey,
            "bearer" => KeyHeader::Bearer,
            other => bail!("anthropic.key_header is '{other}': use x-api-key or bearer"),
        };
    }
    if let Some(version) = &settings.anthropic.version {
        config.version.clone_from(version);
    }
    Ok(ProviderConfig::Anthropic(config))
}

fn openai(settings: &Settings, local: Option<String>) -> Result<ProviderConfig> {
    let mut config = OpenAiConfig::default();
    if let Some(url) = settings
        .base_url
        .clone()
        .or_else(|| variable("OPENAI_BASE_URL"))
        .or(local)
    {
        config.base_url = url;
    }
    config.key = key("OPENAI_API_KEY", &config.base_url)?;
    if let Some(field) = &settings.openai.max_tokens_field {
        config.max_tokens_field = match field.as_str() {
            "max_tokens" => MaxTokensField::MaxTokens,
            "max_completion_tokens" => MaxTokensField::MaxCompletionTokens,
            other => bail!(
                "openai.max_tokens_field is '{other}': use max_tokens or max_completion_tokens"
            ),
        };
    }
    Ok(ProviderConfig::OpenAi(config))
}

/// The key for a server. One on this machine needs none.
fn key(name: &str, base_url: &str) -> Result<Option<SecretString>> {
    match variable(name) {
        Some(key) => Ok(Some(key.trim().to_string().into())),
        None if crate::model::is_local(base_url) => Ok(None),
        None => Err(NoModel {
            reason: format!("There is no key for {base_url}."),
            steps: vec![
                format!("Set {name} and start crewdeck again."),
                "Or watch the demo, which needs no key: crewdeck --demo.".into(),
            ],
        }
        .into()),
    }
}

/// The model's name: as set, else as the server offers. Model names age, so none is built in.
async fn name_of_model(settings: &Settings, wire: &Wire, publisher: &Publisher) -> Result<String> {
    if let Some(name) = settings.model.clone().or_else(|| wire.name.clone()) {
        return Ok(name);
    }
    let offered = wire.model.list().await.map_err(|error| no_list(&error))?;
    let Some(first) = offered.first().cloned() else {
        bail!("the server offers no model: load one there, or name one with --model");
    };
    if offered.len() > 1 {
        let text = format!(
            "No model was named, so this is '{first}', the first of {} that the server offers: /model takes another.",
            offered.len()
        );
        publisher
            .publish(EventKind::notice(Level::Info, text))
            .await;
    }
    Ok(first)
}

fn no_list(error: &ModelError) -> anyhow::Error {
    match error.fault {
        Fault::UnknownModel | Fault::BadRequest | Fault::Garbled => {
            anyhow!("the server does not list its models: name one with --model")
        }
        Fault::NoKey
        | Fault::Auth
        | Fault::Unreachable
        | Fault::RateLimited
        | Fault::Server
        | Fault::ContextTooLong
        | Fault::Cut
        | Fault::Timeout
        | Fault::Script => anyhow!("{error}. {}", error.hint),
    }
}

/// The repository's own instructions, bounded.
fn memory(root: &Path) -> Option<(String, String)> {
    use std::io::Read;
    MEMORY_FILES.iter().find_map(|name| {
        let mut bytes = Vec::new();
        let file = store::plain::open(&root.join(name)).ok()?;
        file.take(MEMORY_READ_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (!text.trim().is_empty()).then(|| ((*name).to_string(), text))
    })
}

/// A path as the person would write it: `~` for the home directory.
fn shown(path: &Path) -> String {
    match etcetera::home_dir()
        .ok()
        .and_then(|home| path.strip_prefix(home).ok().map(PathBuf::from))
    {
        Some(below) if below.as_os_str().is_empty() => "~".into(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
