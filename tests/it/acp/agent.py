#!/usr/bin/env python3
"""An agent for tests that speaks the Agent Client Protocol on its standard input and output. A prompt is a script: each
line is a command for one step of the turn (see the functions do_…). Options set how the program starts and ends."""

import argparse
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--version", default="1", help="the answer to initialize, as JSON")
parser.add_argument("--hang", default="", help="a method that is never answered")
parser.add_argument("--exit", default="", help="a method at which the program exits with code 7")
parser.add_argument("--login", action="store_true", help="session/new demands a login")
parser.add_argument("--no-load", action="store_true", help="session/load fails")
parser.add_argument("--ignore-eof", action="store_true", help="runs on when its input is closed")
parser.add_argument("--noise", type=int, default=0, help="number of lines before the first message")
parser.add_argument("--log", default="", help="a file that gets a line for each start, with the process id")
parser.add_argument("--record", default="", help="a file that gets a line for each session and prompt")
parser.add_argument("--fork", default="", help="a command that is started and runs on")
args = parser.parse_args()

lock = threading.Lock()
sessions = {}
waiting = {}
next_id = [0]


def write(text):
    with lock:
        sys.stdout.write(text)
        sys.stdout.flush()


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def request(method, params):
    """Sends a request and waits for the answer: the whole message."""
    with lock:
        next_id[0] += 1
        number = next_id[0]
        waiting[number] = queue.Queue()
    send(id=number, method=method, params=params)
    return waiting[number].get()


def record(line):
    if args.record:
        with lock, open(args.record, "a") as file:
            file.write(line.replace("\n", " | ") + "\n")


class Turn:
    def __init__(self, session, number, text):
        self.session, self.number, self.text = session, number, text
        self.cancelled = threading.Event()
        self.reason = "end_turn"
        self.result = {}

    def update(self, report, **fields):
        update = {"sessionUpdate": report, **fields}
        send(method="session/update", params={"sessionId": self.session, "update": update})

    def run(self):
        try:
            # The summary with which a session begins is no script.
            script = re.sub("<earlier>.*?</earlier>\n?", "", self.text, flags=re.S)
            for line in script.splitlines():
                word, _, rest = line.partition(" ")
                getattr(self, "do_" + word.replace("-", "_"))(rest)
                if self.reason != "end_turn":
                    break
        except Exception as error:
            self.answer({"code": -32603, "message": "Internal error", "data": {"details": repr(error)}})
            return
        self.answer(None)
        if self.text.startswith("late-ask"):
            self.do_say("late: " + self.ask("late", "late"))
            # The client may hold back the end of a text until something else follows.
            self.do_think(".")

    def answer(self, error):
        sessions[self.session]["turn"] = None
        if error:
            send(id=self.number, error=error)
        else:
            send(id=self.number, result={"stopReason": self.reason, **self.result})

    def ask(self, call, title):
        option = lambda name, kind: {"optionId": name, "name": name, "kind": kind}
        options = [option("p-always", "allow_always"), option("p-once", "allow_once"), option("p-no", "reject_once")]
        answer = request("session/request_permission", {
            "sessionId": self.session,
            "toolCall": {"toolCallId": call, "title": title, "kind": "execute"},
            "options": options,
        })
        outcome = answer.get("result", {}).get("outcome", {})
        return outcome.get("optionId") or outcome.get("outcome") or json.dumps(answer)

    def do_say(self, text):
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def do_think(self, text):
        self.update("agent_thought_chunk", content={"type": "text", "text": text})

    def do_call(self, text):
        """call ID TITLE: announces a call in parts."""
        call, _, title = text.partition(" ")
        self.update("tool_call", toolCallId=call, title="Terminal", kind="execute", status="pending", rawInput={})
        self.update("tool_call_update", toolCallId=call, title=title, rawInput={"command": title})

    def do_ask(self, text):
        """ask ID TITLE: asks for a permission. If it is refused, the call fails; if it is cancelled, the turn ends."""
        call, _, title = text.partition(" ")
        answer = self.ask(call, title)
        if answer == "cancelled":
            self.reason = "cancelled"
        status = "completed" if answer in ("p-once", "p-always") else "failed"
        content = [{"type": "content", "content": {"type": "text", "text": answer}}]
        self.update("tool_call_update", toolCallId=call, status=status, content=content)

    def do_diff(self, text):
        call, _, path = text.partition(" ")
        diff = {"type": "diff", "path": path, "oldText": "old\n", "newText": "new\n"}
        self.update("tool_call_update", toolCallId=call, kind="edit", content=[diff], locations=[{"path": path}])

    def do_usage(self, _):
        self.update("usage_update", used=120, size=1000, cost={"amount": 0.25, "currency": "USD"})
        self.result["usage"] = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}

    def do_report(self, _):
        self.update("plan", entries=[{"content": "first", "status": "completed", "priority": "high"}])
        self.update("session_info_update", title="A title")
        self.update("available_commands_update", availableCommands=[{"name": "init", "description": ""}])
        self.update("no_such_update", value=1)

    def do_foreign(self, text):
        self.session, own = "foreign", self.session
        self.do_say("foreign")
        self.session = own

    def do_foreign_ask(self, _):
        self.session, own = "foreign", self.session
        answer = self.ask("f", "foreign")
        self.session = own
        self.do_say(answer)

    def do_request(self, method):
        self.do_say(str(request(method, {"sessionId": self.session}).get("error", {}).get("code")))

    def do_notify(self, method):
        send(method=method, params={"x": 1})

    def do_env(self, name):
        self.do_say(os.environ.get(name, "not set"))

    def do_settings(self, _):
        self.do_say(json.dumps(sessions[self.session]["settings"]))

    def do_wait(self, _):
        """Waits for a cancel."""
        self.cancelled.wait()
        self.reason = "cancelled"

    def do_ask_when_cancelled(self, _):
        self.cancelled.wait()
        self.do_say("after cancel: " + self.ask("c", "after cancel"))
        self.reason = "cancelled"

    def do_fail_when_cancelled(self, _):
        self.cancelled.wait()
        raise RuntimeError("cancelled")

    def do_stuck(self, _):
        time.sleep(3600)

    def do_slow_cancel(self, path):
        """Ends the turn when it is cancelled and the file exists."""
        self.cancelled.wait()
        self.do_await(path)
        self.reason = "cancelled"

    def do_await(self, path):
        while not os.path.exists(path):
            time.sleep(0.01)

    def do_deaf(self, _):
        """Answers no request for a mode from now on."""
        sessions[self.session]["deaf"] = True

    def do_late_ask(self, _):
        pass

    def do_fail(self, text):
        raise RuntimeError(text)

    def do_crash(self, text):
        sys.stderr.write("first line\n" + text + "\n")
        sys.stderr.flush()
        os._exit(3)

    def do_nap(self, _):
        """Gives the client time to read what was sent."""
        time.sleep(0.5)

    def do_half(self, _):
        write('{"jsonrpc":"2.0","method":"session/up')
        os._exit(0)

    def do_garbage(self, count):
        for n in range(int(count)):
            write(f"line {n} that is no message\n")

    def do_long(self, megabytes):
        with lock:
            sys.stdout.write('{"jsonrpc":"2.0","method":"x","params":"')
            for _ in range(int(megabytes)):
                sys.stdout.write("x" * 1024 * 1024)
            sys.stdout.write('"}\n')
            sys.stdout.flush()

    def do_flood(self, count):
        for n in range(int(count)):
            self.do_say(f"{n} ")

    def do_flood_requests(self, count):
        for n in range(int(count)):
            send(id=f"flood-{n}", method="x/y", params={})


def open_session(session, params):
    sessions[session] = {
        "turn": None,
        "settings": {"cwd": params["cwd"], "servers": params["mcpServers"], "mode": "auto", "model": "small"},
    }


def offer(session):
    settings = sessions[session]["settings"]
    return {
        "modes": {
            "currentModeId": settings["mode"],
            "availableModes": [{"id": name, "name": name.title()} for name in ("auto", "default", "plan")],
        },
        "configOptions": [{
            "id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": settings["model"],
            "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large model"}],
        }],
    }


def handle(message):
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        answered = waiting.get(number)
        if answered:
            answered.put(message)
        return
    if method in ("session/new", "session/load", "session/close"):
        record(method)
    if method == args.exit:
        sys.stderr.write("exit at a request\n")
        sys.stderr.flush()
        os._exit(7)
    if method == args.hang:
        return
    session = params.get("sessionId")
    if method == "initialize":
        send(id=number, result={
            "protocolVersion": json.loads(args.version),
            "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"close": {}}},
            "authMethods": [],
        })
    elif method == "session/new":
        if args.login:
            send(id=number, error={"code": -32000, "message": "Authentication required"})
            return
        session = f"session-{os.getpid()}-{len(sessions)}"
        open_session(session, params)
        send(method="session/update", params={
            "sessionId": session,
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "early"}},
        })
        send(id=number, result={"sessionId": session, **offer(session)})
    elif method == "session/load":
        if args.no_load:
            send(id=number, error={"code": -32602, "message": "Invalid session identifier"})
            return
        open_session(session, params)
        send(method="session/update", params={
            "sessionId": session,
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old"}},
        })
        send(id=number, result=offer(session))
    elif method == "session/set_mode" and sessions[session].get("deaf"):
        pass
    elif method == "session/set_mode":
        sessions[session]["settings"]["mode"] = params["modeId"]
        send(id=number, result={})
    elif method == "session/set_config_option":
        if params["value"] in ("small", "large"):
            sessions[session]["settings"]["model"] = params["value"]
        send(id=number, result=offer(session))
    elif method == "session/close":
        sessions.pop(session, None)
        send(id=number, result={})
    elif method == "session/prompt":
        text = "\n".join(part["text"] for part in params["prompt"] if part["type"] == "text")
        record("prompt " + text)
        turn = sessions[session]["turn"] = Turn(session, number, text)
        threading.Thread(target=turn.run, daemon=True).start()
    elif method == "session/cancel":
        turn = sessions.get(session, {}).get("turn")
        if turn:
            turn.cancelled.set()
    elif number is not None:
        send(id=number, error={"code": -32601, "message": "Method not found"})


record(f"start {os.getpid()}")
if args.log:
    with open(args.log, "a") as log:
        log.write(f"{os.getpid()}\n")
if args.fork:
    subprocess.Popen(args.fork.split())
for n in range(args.noise):
    write(f"noise {n}\n")
for line in sys.stdin:
    handle(json.loads(line))
while args.ignore_eof:
    time.sleep(60)
