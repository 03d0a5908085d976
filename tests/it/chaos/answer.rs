//! One call being answered, well or with its fault.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::crew::Reply;
use super::fault::Fault;
use super::server::{Kept, Shop, plain, unix};
use super::speech::{Speech, error_body};

/// One call that is being answered.
pub struct Call<'a> {
    pub shop: &'a Shop,
    pub number: u64,
    pub stream: &'a mut TcpStream,
    pub agent: &'a str,
    pub came: f64,
    pub nth: u64,
    pub speech: Speech,
}

impl Call<'_> {
    pub async fn go(mut self, reply: Reply, fault: Option<Fault>) -> Kept {
        match fault {
            None => {
                self.shop.note(self.agent, self.came, None, None);
                self.stream_out(&self.speech.whole(&reply)).await
            }
            Some(fault) if fault.fails() => self.fail(&reply, fault).await,
            Some(fault) => self.odd(&reply, fault).await,
        }
    }

    /// A call that must fail.
    async fn fail(&mut self, reply: &Reply, fault: Fault) -> Kept {
        match fault {
            Fault::LimitSeconds
            | Fault::LimitMs
            | Fault::LimitDate
            | Fault::LimitZero
            | Fault::LimitBare
            | Fault::Broken500
            | Fault::Overloaded529 => self.refuse(fault).await,
            Fault::Html => {
                self.done(fault);
                let page = "<html><body>Please sign in</body></html>";
                let page = plain(200, "text/html; charset=utf-8", &[], page);
                self.write(&page).await
            }
            Fault::Silent => self.wait_for_client(fault, "").await,
            Fault::Stalled => {
                let some = self.speech.begin();
                self.wait_for_client(fault, &some).await
            }
            Fault::Reset => {
                self.done(fault);
                let _ = self.stream.set_zero_linger();
                Kept::No
            }
            Fault::Away => {
                self.done(fault);
                let _ = self.shop.away.try_send(());
                let _ = self.stream.set_zero_linger();
                Kept::No
            }
            Fault::Cut | Fault::Unfinished => {
                let all = self.speech.whole(reply);
                let some = match fault {
                    Fault::Cut => all[..all.len() / 2].to_vec(),
                    _ => vec![
                        self.speech.begin(),
                        self.speech.begin_input(),
                        self.speech.more_input("{\"path\": \"out"),
                    ],
                };
                self.open_stream().await;
                for event in &some {
                    self.chunk(event).await;
                }
                self.done(fault);
                // Half of them end as if that was all, half in the middle of a chunk.
                if self.nth.is_multiple_of(2) {
                    self.write("0\r\n\r\n").await;
                }
                Kept::No
            }
            Fault::OverloadedInside => {
                let some = [self.speech.begin(), self.speech.failed()];
                self.done(fault);
                self.stream_out(&some).await
            }
            Fault::Garbage => {
                let some = [
                    self.speech.begin(),
                    "data: {\"type\": \"conte\u{fffd}\n\n".into(),
                ];
                self.done(fault);
                self.stream_out(&some).await;
                Kept::No
            }
            Fault::HugeLine => self.pour(fault, "data: ", &"x".repeat(64 * 1024)).await,
            Fault::Endless => {
                let begin = self.speech.begin() + &self.speech.begin_input();
                let more = self.speech.more_input(&"a ".repeat(8 * 1024));
                self.pour(fault, &begin, &more).await
            }
            Fault::Doubled
            | Fault::Slow
            | Fault::WrongUsage
            | Fault::Empty
            | Fault::Unknown
            | Fault::LeftOpen => unreachable!("{fault:?} does not fail"),
        }
    }

    /// A call that succeeds in an odd way.
    async fn odd(&mut self, reply: &Reply, fault: Fault) -> Kept {
        match fault {
            Fault::Doubled => {
                let all = self.speech.whole(reply);
                let twice: Vec<String> = all.iter().flat_map(|e| [e.clone(), e.clone()]).collect();
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&twice).await
            }
            Fault::Slow => {
                self.open_stream().await;
                let all = self.speech.whole(reply);
                let (last, first) = all.split_last().unwrap();
                for event in first {
                    // In two pieces, which need not end where a character does.
                    let (one, two) = event.as_bytes().split_at(event.len() / 2);
                    for piece in [one, two] {
                        let _ = self.raw_chunk(piece).await;
                        tokio::time::sleep(Duration::from_millis(15)).await;
                    }
                }
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.last(last).await
            }
            Fault::WrongUsage => {
                self.speech.lie(self.nth);
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&self.speech.whole(reply)).await
            }
            Fault::Empty => {
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&self.speech.whole(&Reply::default())).await
            }
            Fault::Unknown => {
                let all = self.speech.whole(reply);
                let mut more = vec![": a comment\n\nretry: 3000\nid: 7\n\n".to_string()];
                for event in all {
                    more.push(self.speech.unknown());
                    more.push(event);
                }
                self.shop.note(self.agent, self.came, Some(fault), None);
                self.stream_out(&more).await
            }
            Fault::LeftOpen => {
                self.open_stream().await;
                let all = self.speech.whole(reply);
                self.shop.note(self.agent, self.came, Some(fault), None);
                let (last, first) = all.split_last().unwrap();
                for event in first {
                    self.chunk(event).await;
                }
                self.shop.leave(self.number);
                self.chunk(last).await;
                self.until_closed().await;
                Kept::No
            }
            other => unreachable!("{other:?} fails"),
        }
    }

    fn done(&self, fault: Fault) {
        self.shop.note(self.agent, self.came, Some(fault), None);
        self.shop.leave(self.number);
    }

    async fn refuse(&mut self, fault: Fault) -> Kept {
        let wait = self.shop.weather.wait(self.agent, self.nth);
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
                // A date has whole seconds: what is left until then is announced.
                let at =
                    jiff::Timestamp::from_second(jiff::Timestamp::now().as_second() + 2).unwrap();
                let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                let left = Duration::try_from_secs_f64(at.as_duration().as_secs_f64() - unix());
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
        let body = error_body(self.shop.wire, kind, "Slow down");
        self.shop.note(self.agent, self.came, Some(fault), wait);
        self.shop.leave(self.number);
        self.write(&plain(code, "application/json", &headers, &body))
            .await
    }

    /// Says `some` and nothing more until the client has had enough.
    async fn wait_for_client(&mut self, fault: Fault, some: &str) -> Kept {
        self.shop.hang(self.number);
        if !some.is_empty() {
            self.open_stream().await;
            self.chunk(some).await;
        }
        self.until_closed().await;
        self.done(fault);
        Kept::No
    }

    async fn until_closed(&mut self) {
        let mut bin = [0; 1024];
        while self.stream.read(&mut bin).await.is_ok_and(|n| n > 0) {}
    }

    /// Sends `begin` and then `more` for ever.
    async fn pour(&mut self, fault: Fault, begin: &str, more: &str) -> Kept {
        self.shop.hang(self.number);
        self.open_stream().await;
        let mut open = self.raw_chunk(begin.as_bytes()).await;
        let mut sent = 0;
        while open.is_ok() {
            open = self.raw_chunk(more.as_bytes()).await;
            sent += more.len();
            if sent > 512 * 1024 * 1024 {
                self.shop
                    .wrong(format!("{fault:?}: {sent} bytes were taken"));
                break;
            }
        }
        self.done(fault);
        Kept::No
    }

    async fn stream_out(&mut self, events: &[String]) -> Kept {
        self.open_stream().await;
        let Some((last, first)) = events.split_last() else {
            return Kept::No;
        };
        for event in first {
            self.chunk(event).await;
        }
        self.last(last).await
    }

    async fn last(&mut self, event: &str) -> Kept {
        self.shop.leave(self.number);
        self.chunk(event).await;
        self.write("0\r\n\r\n").await
    }

    async fn open_stream(&mut self) {
        self.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
    }

    async fn chunk(&mut self, text: &str) {
        if !text.is_empty() {
            // A client that went away is noticed elsewhere.
            let _ = self.raw_chunk(text.as_bytes()).await;
        }
    }

    async fn raw_chunk(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
        self.stream.write_all(&out).await
    }

    async fn write(&mut self, text: &str) -> Kept {
        match self.stream.write_all(text.as_bytes()).await {
            Ok(()) => Kept::Yes,
            Err(_) => Kept::No,
        }
    }
}
