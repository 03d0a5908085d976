//! A simulated editor.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::common::project::Project;
use crate::common::wait::{TIMEOUT, wait_for};

/// A simulated editor with `crewdeck acp` as its agent.
pub struct Editor {
    pub process: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// The messages that were received and not yet taken, in order.
    waiting: Vec<Value>,
    /// All messages that were received.
    pub received: Vec<Value>,
    last_id: u64,
    /// The id of the session that was opened last; empty before.
    pub session: String,
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for message in &self.received {
                eprintln!("{message}");
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Editor {
    /// Starts the agent in `project`, with the script `rules` as the model, and initializes it.
    pub fn start(project: &Project, rules: &str, more: &[&str]) -> Editor {
        let script = project.write("script.yaml", &format!("rules:\n{rules}"));
        let provider = format!("script:{}", script.display());
        let mut args = vec!["acp", "--provider", &provider];
        args.extend(more);
        let log = std::fs::File::create(project.file("acp.log")).unwrap();
        let mut command = project.command(&args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut process = command.env("TMPDIR", project.path()).spawn().unwrap();
        let (sender, messages) = channel();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line);
                let message =
                    message.unwrap_or_else(|e| json!({ "broken": line, "why": e.to_string() }));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut editor = Editor {
            stdin: process.stdin.take(),
            process,
            messages,
            waiting: Vec::new(),
            received: Vec::new(),
            last_id: 0,
            session: String::new(),
        };
        let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
        let info = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        let answer = editor.call("initialize", &info);
        assert_eq!(answer["protocolVersion"], 1);
        editor
    }

    /// Starts the agent and opens a session in the project.
    pub fn open(project: &Project, rules: &str, more: &[&str]) -> Editor {
        let mut editor = Editor::start(project, rules, more);
        editor.new_session(project);
        editor
    }

    pub fn new_session(&mut self, project: &Project) {
        let answer = self.call(
            "session/new",
            &json!({ "cwd": project.path(), "mcpServers": [] }),
        );
        self.session = answer["sessionId"].as_str().unwrap().to_string();
    }

    /// Writes a line as it is.
    pub fn write(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.flush().unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns its result. Panics if it fails.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request and returns its error. Panics if it succeeds.
    pub fn refused(&mut self, method: &str, params: &Value) -> String {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_some(), "{method}: {answer}");
        answer["error"].to_string()
    }

    /// Waits for the answer to the request `id`.
    pub fn answer(&mut self, id: u64) -> Value {
        self.wait("an answer", |m| m["id"] == id && m.get("method").is_none())
    }

    /// Starts a prompt with this text and returns the id of the request.
    pub fn prompt(&mut self, text: &str) -> u64 {
        let blocks = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": self.session, "prompt": blocks });
        self.request("session/prompt", &params)
    }

    /// Waits until the prompt `id` has ended, and returns its stop reason.
    pub fn stop_reason(&mut self, id: u64) -> String {
        let answer = self.answer(id);
        let reason = answer["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("{answer}")).to_string()
    }

    /// Sends a prompt with this text and waits for its end.
    pub fn ask(&mut self, text: &str) -> String {
        let id = self.prompt(text);
        self.stop_reason(id)
    }

    pub fn cancel(&mut self) {
        let params = json!({ "sessionId": self.session });
        self.notify("session/cancel", &params);
    }

    /// Waits until the agent asks the user, and returns its request.
    pub fn question(&mut self) -> Value {
        self.wait("a question", |m| {
            m["method"] == "session/request_permission"
        })
    }

    /// Answers the request `question` with the option `option`.
    pub fn choose(&mut self, question: &Value, option: &str) {
        let ids: Vec<&Value> = question["params"]["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| &o["optionId"])
            .collect();
        assert!(ids.contains(&&json!(option)), "{option}: {ids:?}");
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }));
    }

    /// Waits for an update of this kind that contains `text`, and returns it.
    pub fn update(&mut self, kind: &str, text: &str) -> Value {
        let what = format!("{kind} with {text}");
        let message = self.wait(&what, |m| {
            let update = &m["params"]["update"];
            update["sessionUpdate"] == kind && update.to_string().contains(text)
        });
        message["params"]["update"].clone()
    }

    /// Returns the text of all messages of the lead that were received.
    pub fn said(&self) -> String {
        let updates = self.received.iter().map(|m| &m["params"]["update"]);
        let chunks = updates.filter(|u| u["sessionUpdate"] == "agent_message_chunk");
        chunks
            .map(|u| u["content"]["text"].as_str().unwrap())
            .collect()
    }

    /// Waits for a message for which `is_it` returns true, and takes it. Skipped messages can be taken later.
    pub fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.waiting.iter().position(&is_it) {
                return self.waiting.remove(at);
            }
            let message = self.messages.recv_timeout(TIMEOUT);
            let message = message.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(message.get("broken").is_none(), "{message}");
            self.received.push(message.clone());
            self.waiting.push(message);
        }
    }

    /// Closes the connection, and waits until the agent has ended.
    pub fn close(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.wait_for_exit()
    }

    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let process = &mut self.process;
        wait_for("the agent does not end", || process.try_wait().unwrap())
    }
}
