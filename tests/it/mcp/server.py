#!/usr/bin/env python3
"""An MCP server for tests: JSON-RPC over standard input and output, protocol versions with `initialize`.

With --stateless, it speaks protocol version 2026-07-28 without `initialize` instead: `server/discover`, and
subscriptions to changes of its lists. --add-before-listen NAME adds a tool just before it accepts a subscription,
without a report.

Other options: --silent, --noise, --pids FILE (appends its process id), --fork COMMAND (a detached helper), --log TEXT
(standard error), --stubborn (ignores the end of its input and SIGTERM), --empty-unknown (answers unknown methods with
an empty result), --exit-on-unknown, --crash-after N (calls), --delay SECONDS (before the handshake), --begin-with
FILE (waits for it before the handshake), --listed FILE (exists while the client has the current list of tools),
--tools N (additional tools with long definitions), --templates (of resources), --instructions TEXT, --hostile (tools
with strange names), --leak VARIABLE (writes its value to standard error).
"""

import argparse
import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time

options = argparse.ArgumentParser()
for flag in ["silent", "noise", "stubborn", "empty-unknown", "exit-on-unknown", "hostile", "stateless"]:
    options.add_argument("--" + flag, action="store_true")
for value in ["pids", "fork", "log", "instructions", "add-before-listen"]:
    options.add_argument("--" + value)
options.add_argument("--leak")
options.add_argument("--crash-after", type=int, default=-1)
options.add_argument("--delay", type=float, default=0)
options.add_argument("--begin-with")
options.add_argument("--listed")
options.add_argument("--tools", type=int, default=0)
options.add_argument("--templates", action="store_true")
options = options.parse_args()

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
# An object with free keys, bounds, and an argument that must be given but may be null.
FREE_FORM = {
    "type": "object",
    "properties": {
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "note": {"type": ["string", "null"], "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "default": 10},
    },
    "required": ["headers", "note"],
}
lock = threading.Lock()
calls = 0
cancelled = set()
prompts = [
    {"name": "greet", "arguments": [{"name": "who", "required": True}]},
    {"name": "Weather Report", "description": "the weather", "arguments": [
        {"name": "city", "required": True}, {"name": "unit"}]},
]
answers = {}
# The ids of the requests that subscribe to changes.
subscriptions = []
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
tools = [
    {"name": "echo", "description": "Repeats.", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
     "annotations": {"readOnlyHint": True}},
] + [
    {"name": name, "inputSchema": {"type": "object"}}
    for name in ["fail", "crash", "wait", "big", "image", "structured", "env", "roots", "elicit", "sample", "add", "long", "change", "garbage", "pictures", "flood", "add_prompt", "end_subscriptions"]
] + [
    {"name": "choice", "inputSchema": {"type": "string"}},
    {"name": "incomplete"},
] + [
    {"name": "extra_%03d" % number, "description": "Number %d. " % number + "x" * 500, "inputSchema": FREE_FORM,
     "annotations": {"readOnlyHint": True}}
    for number in range(options.tools)
]
if options.hostile:
    tools += [
        {"name": "bad\x1b]0;owned\x07\n\u202ename", "description": "\x1b[2J\x1b[Hcleared", "title": "\x1b[31mred\u200b",
         "inputSchema": {"type": "object"}},
        {"name": "n" * 5000, "inputSchema": {"type": "object"}},
    ]


def send(message):
    text = json.dumps({"jsonrpc": "2.0", **message})
    with lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def ask(method, params):
    """Sends a request to the client and waits for its answer."""
    name = "ask-%d" % time.monotonic_ns()
    answers[name] = threading.Event()
    send({"id": name, "method": method, "params": params})
    answers[name].wait()
    return answers[name].message


def changed(what):
    """Reports that a list changed: to each subscription, or without one in protocol versions with `initialize`."""
    method = "notifications/%s/list_changed" % what
    if not options.stateless:
        send({"method": method})
    for listening in subscriptions:
        send({"method": method, "params": {"_meta": {SUBSCRIPTION: listening}}})


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def call(request, params):
    name, given = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        return text(given.get("text", ""))
    if name.startswith("extra_"):
        return text(json.dumps(given, sort_keys=True))
    if name == "fail":
        return text("it did not work", isError=True)
    if name == "crash":
        sys.stderr.write("the disk is full\n")
        sys.stderr.flush()
        os._exit(7)
    if name == "wait":
        # Reports progress until the file exists or the call is cancelled.
        step = 0
        while not os.path.exists(given["file"]):
            if request in cancelled:
                open(given["file"] + ".cancelled", "w").close()
                return text("cancelled")
            step += 1
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "message": "step"}})
            time.sleep(0.02)
        return text("waited")
    if name == "long":
        if "file" in given:
            open(given["file"], "w").close()
        time.sleep(1000)
    if name == "big":
        return text("a" * given["bytes"])
    if name == "image":
        return {"content": [{"type": "text", "text": "see"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
    if name == "structured":
        return {"content": [], "structuredContent": {"answer": 42}}
    if name == "env":
        return text(json.dumps({key: os.environ.get(key) for key in given["names"]}))
    if name == "roots":
        return text(json.dumps(ask("roots/list", {})["result"]))
    if name == "elicit":
        schema = {"type": "object", "properties": {"age": {"type": "integer", "default": 7}, "who": {"type": "string"}}}
        return text(json.dumps(ask("elicitation/create", {"message": "Who are you?", "requestedSchema": schema})["result"]))
    if name == "sample":
        asked = ask("sampling/createMessage", {"messages": [], "maxTokens": 5})
        return text(json.dumps(asked.get("error", asked)))
    if name == "change":
        # Changes fields of the definition of a tool.
        tool = next(tool for tool in tools if tool["name"] == given["name"])
        tool.update(given["to"])
        if options.listed:
            os.remove(options.listed)
        changed("tools")
        return text("changed")
    if name == "garbage":
        with lock:
            sys.stdout.write('{"jsonrpc": "2.0", "id": %s, "result": {"content": [\n' % json.dumps(request))
            sys.stdout.flush()
        open(given["file"], "w").close()
        return "none"
    if name == "pictures":
        image = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * given["bytes"]).decode()
        return {"content": [{"type": "image", "data": image, "mimeType": "image/png"}] * given.get("count", 1)}
    if name == "flood":
        # Adds a tool and asks a different question each time.
        for number in range(given["times"]):
            tools.append({"name": "flood%d" % number, "inputSchema": {"type": "object"}})
            changed("tools")
            ask("elicitation/create", {"message": "Question %d" % number, "requestedSchema": {"type": "object", "properties": {}}})
        return text("flooded")
    if name == "add_prompt":
        prompts.append({"name": given["name"]})
        changed("prompts")
        return text("added")
    if name == "end_subscriptions":
        while subscriptions:
            listening = subscriptions.pop()
            send({"id": listening, "result": {"resultType": "complete", "_meta": {SUBSCRIPTION: listening}}})
        return text("ended")
    if name == "add":
        tools.append({"name": given["name"], "inputSchema": {"type": "object"}})
        changed("tools")
        return text("added")
    return None


def notes(uri):
    """The contents of the resources notes://..., of all kinds."""
    if uri == "notes://text":
        return [{"uri": uri, "text": "first line\nsecond line"}]
    if uri == "notes://long":
        return [{"uri": uri, "text": "a line\n" * 5000}]
    if uri == "notes://image":
        return [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]
    if uri == "notes://zip":
        return [{"uri": uri, "mimeType": "application/zip", "blob": "AAEC"}]
    if uri == "notes://huge":
        return [{"uri": uri, "text": "a" * 40_000_000}]
    return []


def answer(message):
    global calls
    method, params, request = message["method"], message.get("params") or {}, message["id"]
    capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
    if options.stateless and method == "server/discover":
        result = {
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": {**capabilities, "prompts": {"listChanged": True}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1"}},
        }
        if options.instructions:
            result["instructions"] = options.instructions
    elif options.stateless and method == "subscriptions/listen":
        if options.add_before_listen:
            tools.append({"name": options.add_before_listen, "inputSchema": {"type": "object"}})
        subscriptions.append(request)
        accepted = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: request}}
        send({"method": "notifications/subscriptions/acknowledged", "params": accepted})
        return
    elif method == "initialize" and not options.stateless:
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": {"name": "test", "version": "1"},
        }
        if options.instructions:
            result["instructions"] = options.instructions
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "resources/list":
        at = int(params.get("cursor", "0"))
        result = {"resources": [{"uri": "test://%d" % at, "name": "r%d" % at, "mimeType": "text/plain"}]}
        if at < 2:
            result["nextCursor"] = str(at + 1)
    elif method == "resources/read":
        if params["uri"] in ["test://none", "notes://none"]:
            send({"id": request, "error": {"code": -32002, "message": "no such\x1b[31m resource"}})
            return
        if params["uri"] == "notes://slow":
            time.sleep(1000)
        if params["uri"].startswith("notes://"):
            send({"id": request, "result": {"contents": notes(params["uri"])}})
            return
        result = {"contents": [
            {"uri": params["uri"], "text": "content of " + params["uri"]},
            {"uri": params["uri"] + "/image", "mimeType": "image/png", "blob": PIXEL},
        ]}
    elif method == "resources/templates/list" and options.templates:
        result = {"resourceTemplates": [{"uriTemplate": "notes://{name}", "name": "Notes", "description": "a note"}]}
    elif method == "prompts/list":
        result = {"prompts": prompts}
    elif method == "prompts/get" and params["name"] == "Weather Report":
        given = params.get("arguments", {})
        words = "Weather in %s, %s" % (given["city"], given.get("unit", "no unit"))
        result = {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    elif method == "prompts/get":
        result = {"messages": [
            {"role": "user", "content": {"type": "text", "text": "Greet " + params["arguments"]["who"]}},
            {"role": "assistant", "content": {"type": "text", "text": "Hello"}},
        ]}
    elif method == "tools/call":
        calls += 1
        if 0 <= options.crash_after < calls:
            os._exit(9)
        result = call(request, params)
        if result is None:
            send({"id": request, "error": {"code": -32602, "message": "unknown tool"}})
            return
        if result == "none":
            return
    elif options.empty_unknown:
        result = {}
    elif options.exit_on_unknown:
        os._exit(5)
    else:
        send({"id": request, "error": {"code": -32601, "message": "Method not found"}})
        return
    if options.stateless:
        result.setdefault("resultType", "complete")
    send({"id": request, "result": result})
    if method == "tools/list" and options.listed:
        open(options.listed, "w").close()


if options.pids:
    with open(options.pids, "a") as pids:
        pids.write("%d\n" % os.getpid())
if options.log:
    sys.stderr.write(options.log + "\n")
    sys.stderr.flush()
if options.leak:
    value = os.environ.get(options.leak, "no value")
    sys.stderr.write("the key is %s \x1b[31m and more\n" % value)
    sys.stderr.flush()
time.sleep(options.delay)
while options.begin_with and not os.path.exists(options.begin_with):
    time.sleep(0.02)
if options.stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if options.fork:
    # The parent of the helper ends at once, and the helper has a session of its own.
    helper = "setsid sh -c '(%s &)' >/dev/null 2>&1 </dev/null" % options.fork
    subprocess.run(["sh", "-c", helper], check=True)
if options.noise:
    sys.stdout.write("Welcome to the server!\n\n{\"foreign\": 1}\n{\"broken\": \n")
    sys.stdout.flush()
for line in sys.stdin:
    if options.silent:
        continue
    message = json.loads(line)
    if "method" not in message:
        waiting = answers.get(message.get("id"))
        if waiting:
            waiting.message = message
            waiting.set()
    elif "id" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
    elif message["method"] == "notifications/cancelled":
        request = message["params"]["requestId"]
        cancelled.add(request)
        if request in subscriptions:
            subscriptions.remove(request)
while options.stubborn:
    time.sleep(1)
