//! Answers one call, correctly or with a fault.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::encoder::{ResponseEncoder, error_body};
use super::fault::Fault;
use super::scripted_model::Reply;
use super::server::{KeepAlive, ServerState, http_response, unix_now};

/// A model call that the server answers, with or without a fault.
pub struct Call<'a> {
    pub server: &'a ServerState,
    pub number: u64,
    pub stream: &'a mut TcpStream,
    pub agent: &'a str,
    pub received_at: f64,
    pub nth: u64,
    pub encoder: ResponseEncoder,
}

impl Call<'_> {
    pub async fn respond(mut self, reply: Reply, fault: Option<Fault>) -> KeepAlive {
        match fault {
            None => {
                self.server.record(self.agent, self.received_at, None, None);
                self.send_stream(&self.encoder.encode(&reply)).await
            }
            Some(fault) if fault.fails() => self.fail(&reply, fault).await,
            Some(fault) => self.respond_oddly(&reply, fault).await,
        }
    }

    /// Answers with a fault after which the client must retry the call.
    async fn fail(&mut self, reply: &Reply, fault: Fault) -> KeepAlive {
        match fault {
            Fault::LimitSeconds
            | Fault::LimitMs
            | Fault::LimitDate
            | Fault::LimitZero
            | Fault::LimitBare
            | Fault::Broken500
            | Fault::Overloaded529 => self.refuse(fault).await,
            Fault::Html => {
                self.record_and_end(fault);
                let page = "<html><body>Please sign in</body></html>";
                let response = http_response(200, "text/html; charset=utf-8", &[], page);
                self.write(&response).await
            }
            Fault::Silent => self.wait_for_client(fault, "").await,
            Fault::Stalled => {
                let some = self.encoder.first_events();
                self.wait_for_client(fault, &some).await
            }
            Fault::Reset => {
                self.record_and_end(fault);
                let _ = self.stream.set_zero_linger();
                KeepAlive::No
            }
            Fault::Away => {
                self.record_and_end(fault);
                let _ = self.server.away.try_send(());
                let _ = self.stream.set_zero_linger();
                KeepAlive::No
            }
            Fault::Cut | Fault::Unfinished => {
                let all = self.encoder.encode(reply);
                let some = match fault {
                    Fault::Cut => all[..all.len() / 2].to_vec(),
                    _ => vec![
                        self.encoder.first_events(),
                        self.encoder.begin_tool_call(),
                        self.encoder.tool_input_delta("{\"path\": \"out"),
                    ],
                };
                self.open_stream().await;
                for event in &some {
                    self.send_chunk(event).await;
                }
                self.record_and_end(fault);
                // Half of them end the stream properly, half close the connection inside it.
                if self.nth.is_multiple_of(2) {
                    self.write("0\r\n\r\n").await;
                }
                KeepAlive::No
            }
            Fault::OverloadedInside => {
                let some = [self.encoder.first_events(), self.encoder.error_event()];
                self.record_and_end(fault);
                self.send_stream(&some).await
            }
            Fault::Garbage => {
                let some = [
                    self.encoder.first_events(),
                    "data: {\"type\": \"conte\u{fffd}\n\n".into(),
                ];
                self.record_and_end(fault);
                self.send_stream(&some).await;
                KeepAlive::No
            }
            Fault::HugeLine => {
                self.send_endlessly(fault, "data: ", &"x".repeat(64 * 1024))
                    .await
            }
            Fault::Endless => {
                let begin = self.encoder.first_events() + &self.encoder.begin_tool_call();
                let more = self.encoder.tool_input_delta(&"a ".repeat(8 * 1024));
                self.send_endlessly(fault, &begin, &more).await
            }
            Fault::Doubled
            | Fault::Slow
            | Fault::WrongUsage
            | Fault::Empty
            | Fault::Unknown
            | Fault::LeftOpen => unreachable!("{fault:?} does not fail"),
        }
    }

    /// Answers in an unusual way that the client must accept.
    async fn respond_oddly(&mut self, reply: &Reply, fault: Fault) -> KeepAlive {
        match fault {
            Fault::Doubled => {
                let all = self.encoder.encode(reply);
                let twice: Vec<String> = all.iter().flat_map(|e| [e.clone(), e.clone()]).collect();
                self.server
                    .record(self.agent, self.received_at, Some(fault), None);
                self.send_stream(&twice).await
            }
            Fault::Slow => {
                self.open_stream().await;
                let all = self.encoder.encode(reply);
                let (last, first) = all.split_last().unwrap();
                for event in first {
                    // Two pieces, possibly split inside a character.
                    let (one, two) = event.as_bytes().split_at(event.len() / 2);
                    for piece in [one, two] {
                        let _ = self.write_chunk(piece).await;
                        tokio::time::sleep(Duration::from_millis(15)).await;
                    }
                }
                self.server
                    .record(self.agent, self.received_at, Some(fault), None);
                self.send_last(last).await
            }
            Fault::WrongUsage => {
                self.encoder.set_invalid_usage(self.nth);
                self.server
                    .record(self.agent, self.received_at, Some(fault), None);
                self.send_stream(&self.encoder.encode(reply)).await
            }
            Fault::Empty => {
                self.server
                    .record(self.agent, self.received_at, Some(fault), None);
                self.send_stream(&self.encoder.encode(&Reply::default()))
                    .await
            }
            Fault::Unknown => {
                let all = self.encoder.encode(reply);
                let mut more = vec![": a comment\n\nretry: 3000\nid: 7\n\n".to_string()];
                for event in all {
                    more.push(self.encoder.unknown_event());
                    more.push(event);
                }
                self.server
                    .record(self.agent, self.received_at, Some(fault), None);
                self.send_stream(&more).await
            }
            Fault::LeftOpen => {
                self.open_stream().await;
                let all = self.encoder.encode(reply);
                self.server
                    .record(self.agent, self.received_at, Some(fault), None);
                let (last, first) = all.split_last().unwrap();
                for event in first {
                    self.send_chunk(event).await;
                }
                self.server.end_call(self.number);
                self.send_chunk(last).await;
                self.wait_until_closed().await;
                KeepAlive::No
            }
            other => unreachable!("{other:?} fails"),
        }
    }

    fn record_and_end(&self, fault: Fault) {
        self.server
            .record(self.agent, self.received_at, Some(fault), None);
        self.server.end_call(self.number);
    }

    async fn refuse(&mut self, fault: Fault) -> KeepAlive {
        let wait = self.server.faults.retry_after(self.agent, self.nth);
        let (code, kind, headers, wait) = match fault {
            Fault::LimitSeconds => {
                let seconds = Duration::from_secs(1);
                (
                    429,
                    "rate_limit_error",
                    vec![("retry-after", "1".to_string())],
                    Some(seconds),
                )
            }
            Fault::LimitMs => {
                let ms = wait.as_millis().to_string();
                let headers = vec![("retry-after-ms", ms), ("retry-after", "1".into())];
                (429, "rate_limit_error", headers, Some(wait))
            }
            Fault::LimitDate => {
                // A date has whole seconds: the wait is the time that remains until then.
                let at =
                    jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() + 2).unwrap();
                let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                let left = Duration::try_from_secs_f64(at.as_duration().as_secs_f64() - unix_now());
                (
                    429,
                    "rate_limit_error",
                    vec![("retry-after", date)],
                    left.ok(),
                )
            }
            Fault::LimitZero => (
                429,
                "rate_limit_error",
                vec![("retry-after", "0".into())],
                None,
            ),
            Fault::Broken500 => (500, "api_error", vec![], None),
            Fault::Overloaded529 => (529, "overloaded_error", vec![], None),
            _ => (429, "rate_limit_error", vec![], None),
        };
        let body = error_body(self.server.wire, kind, "Slow down");
        self.server
            .record(self.agent, self.received_at, Some(fault), wait);
        self.server.end_call(self.number);
        self.write(&http_response(code, "application/json", &headers, &body))
            .await
    }

    /// Sends `some`, then waits until the client closes the connection.
    async fn wait_for_client(&mut self, fault: Fault, some: &str) -> KeepAlive {
        self.server.mark_hanging(self.number);
        if !some.is_empty() {
            self.open_stream().await;
            self.send_chunk(some).await;
        }
        self.wait_until_closed().await;
        self.record_and_end(fault);
        KeepAlive::No
    }

    async fn wait_until_closed(&mut self) {
        let mut buffer = [0; 1024];
        while self.stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {}
    }

    /// Sends `begin` and then `more`, over and over, until the client closes the connection. Records a violation and
    /// stops after 512 MiB.
    async fn send_endlessly(&mut self, fault: Fault, begin: &str, more: &str) -> KeepAlive {
        self.server.mark_hanging(self.number);
        self.open_stream().await;
        let mut open = self.write_chunk(begin.as_bytes()).await;
        let mut sent = 0;
        while open.is_ok() {
            open = self.write_chunk(more.as_bytes()).await;
            sent += more.len();
            if sent > 512 * 1024 * 1024 {
                self.server
                    .report_violation(format!("{fault:?}: the client accepted {sent} bytes"));
                break;
            }
        }
        self.record_and_end(fault);
        KeepAlive::No
    }

    async fn send_stream(&mut self, events: &[String]) -> KeepAlive {
        self.open_stream().await;
        let Some((last, first)) = events.split_last() else {
            return KeepAlive::No;
        };
        for event in first {
            self.send_chunk(event).await;
        }
        self.send_last(last).await
    }

    async fn send_last(&mut self, event: &str) -> KeepAlive {
        self.server.end_call(self.number);
        self.send_chunk(event).await;
        self.write("0\r\n\r\n").await
    }

    async fn open_stream(&mut self) {
        self.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
    }

    async fn send_chunk(&mut self, text: &str) {
        if !text.is_empty() {
            // A closed connection is noticed by the next read.
            let _ = self.write_chunk(text.as_bytes()).await;
        }
    }

    async fn write_chunk(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
        self.stream.write_all(&out).await
    }

    async fn write(&mut self, text: &str) -> KeepAlive {
        match self.stream.write_all(text.as_bytes()).await {
            Ok(()) => KeepAlive::Yes,
            Err(_) => KeepAlive::No,
        }
    }
}
