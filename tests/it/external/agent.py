#!/usr/bin/env python3
"""An agent for tests of whole crews. It speaks the Agent Client Protocol, works on each task that a prompt brings, and
completes it through the crew's MCP server. The description of a task can ask for more: `ask COMMAND` runs a command with
permission, `look COMMAND` does so and reports it as reading, `write PATH` writes a file, `edit PATHS` writes files with one
permission, `mode MODE` changes the mode, `work COUNT` says so many words, `crash` ends the program, `wait` waits for a cancel, `refuse` ends the turn after a refused permission,
`beg` writes to the lead and waits for a cancel, `lie` does not complete the task, `plan` submits a plan first, `tools` says which tools the crew's MCP server offers, `call TOOL
JSON` calls one of them with permission, `await TOOL` waits until the crew's server reports a change after which it offers
the tool, `tell JSON` sends a message. A message without a task can ask for some of it: `please edit a.txt; please ask
ls`, or for a text: `stream COUNT MILLISECONDS [WORD]`."""

import argparse
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--log", default="", help="a file that gets a line for each start, session and prompt")
parser.add_argument("--no-load", action="store_true", help="session/load fails")
parser.add_argument("--stubborn", action="store_true", help="does not end with its input or SIGTERM")
parser.add_argument("--fork", default="", help="a command that runs beside it, in a session of its own")
args = parser.parse_args()

lock = threading.Lock()
waiting = {}
sessions = {}
begun = set()
next_id = [0]


def log(line):
    if args.log:
        with lock, open(args.log, "a") as file:
            file.write(line.replace("\n", " ") + "\n")


def send(**message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def request(method, params):
    with lock:
        next_id[0] += 1
        number = next_id[0]
        waiting[number] = queue.Queue()
    send(id=number, method=method, params=params)
    return waiting[number].get()


class CrewTools:
    """The crew's MCP server, which this agent starts like any other server."""

    def __init__(self, server):
        env = dict(os.environ)
        env.update({entry["name"]: entry["value"] for entry in server["env"]})
        command = [server["command"], *server["args"]]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.last = 0
        self.changes = 0
        self.ask("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        })
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("the server of the crew has ended")
            answer = json.loads(line)
            self.note(answer)
            if answer.get("id") == self.last:
                return answer

    def note(self, message):
        if message.get("method") == "notifications/tools/list_changed":
            self.changes += 1

    def names(self):
        return [tool["name"] for tool in self.ask("tools/list", {})["result"]["tools"]]

    def wait_for(self, tool):
        while tool not in self.names():
            before = self.changes
            while self.changes == before:
                self.note(json.loads(self.process.stdout.readline()))

    def call(self, name, arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments}).get("result", {})
        return "\n".join(part.get("text", "") for part in result.get("content", []))


class Turn:
    def __init__(self, session, number, text):
        self.session, self.number, self.text = session, number, text
        self.cancelled = threading.Event()
        self.reason = "end_turn"

    def update(self, report, **fields):
        update = {"sessionUpdate": report, **fields}
        send(method="session/update", params={"sessionId": self.session, "update": update})

    def say(self, text):
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def run(self):
        try:
            self.work()
        except Exception as error:
            send(id=self.number, error={"code": -32603, "message": repr(error)})
            return
        usage = {"inputTokens": 70, "outputTokens": 30, "totalTokens": 100}
        send(id=self.number, result={"stopReason": self.reason, "usage": usage})

    def work(self):
        settings = sessions[self.session]
        tools = settings.get("tools")
        if settings["servers"] and (tools is None or tools.process.poll() is not None):
            settings["tools"] = CrewTools(settings["servers"][0])
        # A new session begins with a summary of the earlier tasks, which is not meant.
        _, _, text = self.text.rpartition("</earlier>")
        tasks = list(re.finditer(r"<(auto-claimed|reminder)>Task #(\d+)", text))
        if not tasks:
            stream = re.search(r"^stream (\d+) (\d+) ?(\w*)$", text, re.M)
            if stream:
                self.stream(int(stream[1]), int(stream[2]) / 1000, stream[3])
            for word, rest in re.findall(r"please (ask|look|edit|call)\b ?([^\n<;\"]*)", text):
                getattr(self, "do_" + word)(rest.strip())
            self.say("ready")
            return
        marker, task = tasks[-1].groups()
        newest = text[tasks[-1].start(2):]
        if marker == "reminder" and task not in begun:
            # An earlier program has begun it.
            whole = json.loads(settings["tools"].call("task_get", {"task_id": int(task)}))["description"]
            newest = "\n".join(re.findall(r"^(?:work|write)\b.*$", whole, re.M))
        begun.add(task)
        log(f"task {task}")
        self.say(f"I start with task {task}.")
        for call, word, rest in re.findall(r"^((ask|look|mode|write|work|crash|wait|lie|plan|edit|tools|call|await|tell|beg)\b ?(.*))$", newest, re.M):
            getattr(self, "do_" + word)(rest.split("<")[0].strip())
            if self.reason != "end_turn":
                return
        if not re.search(r"^lie\b", newest, re.M):
            self.say(settings["tools"].call("task_update", {"task_id": int(task), "status": "completed"}))

    def stream(self, count, pause, word):
        """Says `count` numbers. With a word before them, the log gets the time of each in nanoseconds since 1970."""
        for number in range(count):
            if self.cancelled.wait(pause):
                return
            if word:
                log(f"said {number} {time.time_ns()}")
            self.say(f"{word}{number:04} ")

    def do_work(self, count):
        for number in range(int(count)):
            self.say(f"step {number} ")
            time.sleep(0.03)

    def do_write(self, path):
        self.update("tool_call", toolCallId="w", title=f"Write {path}", kind="edit", status="in_progress")
        full = os.path.join(sessions[self.session]["cwd"], path)
        with open(full, "w") as file:
            file.write("written\n")
        diff = {"type": "diff", "path": full, "oldText": None, "newText": "written\n"}
        self.update("tool_call_update", toolCallId="w", status="completed", content=[diff])

    def do_edit(self, paths):
        full = [os.path.join(sessions[self.session]["cwd"], path) for path in paths.split()]
        diffs = [{"type": "diff", "path": path, "oldText": None, "newText": "edited\n"} for path in full]
        self.update("tool_call", toolCallId="e", title=f"Edit {paths}", kind="edit", status="pending", content=diffs)
        outcome = self.permission("e")
        for path in full if outcome == "y" else []:
            with open(path, "w") as file:
                file.write("edited\n")
        self.update("tool_call_update", toolCallId="e", status="completed" if outcome == "y" else "failed")
        self.say(f"edit: {outcome}")

    def do_mode(self, mode):
        """Changes the mode without being asked to, and waits until it is set back."""
        log(f"left to mode {mode}")
        sessions[self.session]["mode"] = mode
        self.update("current_mode_update", currentModeId=mode)
        for _ in range(500):
            if sessions[self.session]["mode"] != mode:
                return
            time.sleep(0.01)

    def do_tools(self, _):
        self.say("tools: " + " ".join(sessions[self.session]["tools"].names()))

    def do_await(self, tool):
        tools = sessions[self.session]["tools"]
        tools.wait_for(tool)
        self.say(f"awaited {tool} after {'a change' if tools.changes else 'no change'}")

    def do_call(self, rest):
        tool, _, arguments = rest.partition(" ")
        values = json.loads(arguments or "{}")
        title = f"mcp__crew__{tool}"
        self.update("tool_call", toolCallId="c", title=title, kind="other", status="pending", rawInput=values)
        outcome = self.permission("c")
        result = sessions[self.session]["tools"].call(tool, values) if outcome == "y" else "not permitted"
        content = [{"type": "content", "content": {"type": "text", "text": result}}]
        self.update("tool_call_update", toolCallId="c", status="completed", content=content)
        self.say(f"called {tool}: {result}")

    def do_tell(self, arguments):
        sessions[self.session]["tools"].call("send_message", json.loads(arguments))

    def permission(self, call):
        options = [
            {"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"},
        ]
        answer = request("session/request_permission", {
            "sessionId": self.session, "toolCall": {"toolCallId": call}, "options": options,
        })
        return answer.get("result", {}).get("outcome", {}).get("optionId", "cancelled")

    def do_look(self, command):
        self.do_ask(command, kind="read")

    def do_ask(self, command, kind="execute"):
        self.update("tool_call", toolCallId="a", title="Terminal", kind=kind, status="pending", rawInput={})
        self.update("tool_call_update", toolCallId="a", title=command, rawInput={"command": command})
        outcome = self.permission("a")
        output = "refused"
        if outcome == "y":
            run = subprocess.run(["sh", "-c", command], cwd=sessions[self.session]["cwd"], capture_output=True)
            output = run.stdout.decode() or "no output"
        content = [{"type": "content", "content": {"type": "text", "text": output}}]
        status = "completed" if outcome == "y" else "failed"
        self.update("tool_call_update", toolCallId="a", status=status, content=content)
        self.say(f"permission: {outcome}")

    def do_plan(self, text):
        answer = sessions[self.session]["tools"].call("plan_approval", {"plan": text or "1. Write it."})
        self.say("plan: " + answer.splitlines()[0] + " in mode " + sessions[self.session]["mode"])

    def do_crash(self, _):
        marker = os.path.join(os.path.dirname(args.log), "crashed")
        if not os.path.exists(marker):
            open(marker, "w").close()
            sys.stderr.write("the test agent crashes\n")
            sys.stderr.flush()
            os._exit(3)

    def do_wait(self, _):
        """Waits for a cancel, except after a restart of the crew."""
        if "was started again" in self.text:
            return
        self.cancelled.wait()
        self.reason = "cancelled"

    def do_beg(self, _):
        """Writes to the lead and waits for a cancel."""
        sessions[self.session]["tools"].call("send_message", {"to": "lead", "content": "I am stuck"})
        self.cancelled.wait()
        self.reason = "cancelled"

    def do_lie(self, _):
        self.say("done, believe me")


def open_session(session, params):
    sessions[session] = {
        "cwd": params["cwd"], "servers": params["mcpServers"], "mode": "auto", "turn": None,
    }
    log(f"session {session} {params['cwd']}")
    log("servers " + " ".join(server["name"] for server in params["mcpServers"]))


def offer(session):
    modes = [{"id": name, "name": name} for name in ("auto", "default", "plan")]
    return {"modes": {"currentModeId": sessions[session]["mode"], "availableModes": modes}}


def handle(message):
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        if number in waiting:
            waiting[number].put(message)
        return
    session = params.get("sessionId")
    if method == "initialize":
        capabilities = {"loadSession": True, "sessionCapabilities": {"close": {}}}
        send(id=number, result={"protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": []})
    elif method == "session/new":
        session = f"session-{os.getpid()}-{len(sessions)}"
        open_session(session, params)
        send(id=number, result={"sessionId": session, **offer(session)})
    elif method == "session/load":
        if args.no_load:
            send(id=number, error={"code": -32602, "message": "Invalid session identifier"})
            return
        open_session(session, params)
        log(f"load {session}")
        send(id=number, result=offer(session))
    elif method == "session/set_mode":
        sessions[session]["mode"] = params["modeId"]
        log(f"mode {params['modeId']}")
        send(id=number, result={})
    elif method == "session/close":
        send(id=number, result={})
    elif method == "session/prompt":
        text = "\n".join(part["text"] for part in params["prompt"] if part["type"] == "text")
        log(f"prompt {text} [{session} in {sessions[session]['cwd']}]")
        turn = sessions[session]["turn"] = Turn(session, number, text)
        threading.Thread(target=turn.run, daemon=True).start()
    elif method == "session/cancel":
        turn = sessions.get(session, {}).get("turn")
        if turn:
            turn.cancelled.set()
    elif number is not None:
        send(id=number, error={"code": -32601, "message": "Method not found"})


if args.stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if args.fork:
    subprocess.Popen(["sh", "-c", args.fork], start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
log(f"start {os.getpid()}")
for line in sys.stdin:
    handle(json.loads(line))
while args.stubborn:
    time.sleep(1)
