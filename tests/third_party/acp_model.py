#!/usr/bin/env python3
"""A model server on loopback for tests with external agents. It plays what the newest user message asks for:

  CREWDECK-TEST say          answers with a text
  CREWDECK-TEST run COMMAND  calls the shell tool of the agent, then answers with a text
  CREWDECK-TEST slow         answers with a text that takes a minute
  CREWDECK-TEST steps JSON   makes one tool call after the other, then answers with a text. JSON is an array of
                             ["run", COMMAND], ["write", FILE, TEXT], ["crew", TOOL, ARGUMENTS] for a tool of
                             crewdeck's MCP server, and ["wait", FILE], which waits until the file exists

It speaks the wire formats of Anthropic, OpenAI (Responses and Chat) and Gemini, as streams. Prints its address. A path
may begin with the name of an agent, such as /claude/v1/messages.

  acp_model.py [LOG]         appends the path and the user messages of each request to LOG, one JSON object a line"""

import json
import os
import re
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELL_TOOLS = ("Bash", "bash", "exec_command", "shell", "shell_command", "local_shell", "run_shell_command")
WRITE_TOOLS = ("Write", "write", "write_file", "apply_patch")
SEARCH_TOOL = "tool_search"
# Calls a tool that is found by a search but not offered.
CALL_TOOL = "tool_call"
# What agents put before the name of a tool of crewdeck's MCP server.
CREW_PREFIXES = ("mcp__crew__", "mcp_crew_", "crew_", "crew__")
MARK = re.compile(r"CREWDECK-TEST (say|run|slow|steps)(?: ([^\n]*))?")
WAIT_MAX = 300


def text_of(content):
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or [] if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def messages(wire, body):
    """The conversation as triples of role, text and names of the called tools. The results of tools have the role
    `tool`."""
    if wire == "gemini":
        for message in body.get("contents", []):
            parts = message.get("parts", [])
            is_result = any("functionResponse" in part for part in parts)
            calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
            yield ("tool" if is_result else message.get("role", "user"), text_of(parts), calls)
    elif wire == "responses":
        items = body.get("input", [])
        for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
            kind = item.get("type", "message")
            role = "tool" if kind.endswith("_output") else item.get("role", "assistant")
            calls = [item.get("name") or SEARCH_TOOL] if kind.endswith("_call") else []
            yield (role, text_of(item.get("content")), calls)
    else:
        for message in body.get("messages", []):
            content = message.get("content")
            parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
            is_result = any(part.get("type") == "tool_result" for part in parts)
            calls = [part["name"] for part in parts if part.get("type") == "tool_use"]
            calls += [call["function"]["name"] for call in message.get("tool_calls") or []]
            yield ("tool" if is_result else message["role"], text_of(content), calls)


def offered(body):
    """The tools that the agent offers: name, namespace and definition."""
    groups = [body.get("tools")]
    if isinstance(body.get("input"), list):
        groups += [item.get("tools") for item in body["input"] if item.get("type") != "message"]
    tools = []

    def add(group, namespace):
        for tool in group or []:
            if "functionDeclarations" in tool:
                add(tool["functionDeclarations"], namespace)
            elif tool.get("type") == "namespace":
                add(tool.get("tools"), tool.get("name"))
            else:
                definition = tool.get("function") or tool
                tools.append((definition.get("name") or tool.get("type"), namespace, definition))

    for group in groups:
        add(group, None)
    return tools


def find_tool(tools, names):
    return next((tool for tool in tools if tool[0] in names), None)


def schema_of(tool):
    return tool.get("input_schema") or tool.get("parameters") or tool.get("parametersJsonSchema") or {}


def is_type(field, name):
    return str(field.get("type", "")).lower() == name


def shell_arguments(schema, command):
    fields = schema.get("properties", {})
    values = {}
    for name, field in fields.items():
        if name in ("command", "cmd"):
            values[name] = ["bash", "-c", command] if is_type(field, "array") else command
        elif name == "sandbox_permissions":
            values[name] = "require_escalated"
        elif name == "justification" or name in schema.get("required", []):
            values[name] = False if is_type(field, "boolean") else "test"
    return values


def shell_call(tools, command):
    tool = find_tool(tools, SHELL_TOOLS)
    return tool and (tool[0], None, shell_arguments(schema_of(tool[2]), command))


def write_call(tools, file, text):
    tool = find_tool(tools, WRITE_TOOLS)
    if not tool:
        return None
    if tool[0] == "apply_patch":
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {file}\n{lines}*** End Patch\n"
        return (tool[0], None, patch if tool[2].get("type") == "custom" else {"input": patch})
    schema = schema_of(tool[2])
    values = {}
    for name, field in schema.get("properties", {}).items():
        if name in ("file_path", "filePath", "path"):
            values[name] = file
        elif name == "content":
            values[name] = text
        elif name in schema.get("required", []):
            values[name] = False if is_type(field, "boolean") else "test"
    return (tool[0], None, values)


def crew_call(tools, name, values, has_searched):
    """The call of a tool of crewdeck's MCP server. Agents name it in different ways, and some reveal it only after a
    search."""
    for offered_name, namespace, _ in tools:
        is_in_namespace = namespace in ("mcp__crew", "crew") and offered_name == name
        if is_in_namespace or offered_name in [prefix + name for prefix in CREW_PREFIXES]:
            return (offered_name, namespace, values)
    if not find_tool(tools, [SEARCH_TOOL]):
        return None
    if find_tool(tools, [CALL_TOOL]):
        full = f"mcp__crew__{name}"
        if has_searched:
            return (CALL_TOOL, None, {"name": full, "arguments": values})
        return (SEARCH_TOOL, None, {"query": f"select:{full}"})
    return None if has_searched else (SEARCH_TOOL, None, {"query": f"crew {name}"})


def wait_for(file):
    until = time.monotonic() + WAIT_MAX
    while not os.path.exists(file) and time.monotonic() < until:
        time.sleep(0.05)


def next_step(steps, tools, calls):
    """The text and the tool call after `calls`, the names of the tools that were called so far."""
    done = sum(name != SEARCH_TOOL for name in calls)
    acts = 0
    for step in steps:
        if step[0] == "wait":
            if acts == done:
                wait_for(step[1])
            continue
        acts += 1
        if acts <= done:
            continue
        if step[0] == "run":
            call = shell_call(tools, step[1])
        elif step[0] == "write":
            call = write_call(tools, step[1], step[2])
        else:
            call = crew_call(tools, step[1], step[2], bool(calls) and calls[-1] == SEARCH_TOOL)
        word = "Search for step" if call and call[0] == SEARCH_TOOL else "Step"
        return (f"{word} {acts}.", call) if call else (f"There is no tool for step {acts}: {step[0]} {step[1]}.", None)
    return "finished", None


def plan(wire, body):
    """Returns the text, the time that it takes, and the tool call of the answer: name, namespace and arguments."""
    rows = list(messages(wire, body))
    marked = [at for at, (role, text, _) in enumerate(rows) if role == "user" and MARK.search(text)]
    if not marked:
        return "hello", 0, None
    step, rest = MARK.findall(rows[marked[-1]][1])[-1]
    # A new session begins with a summary of the last one. Steps that are finished there stay finished.
    if "<earlier>" in rows[marked[-1]][1] and "finished" in rows[marked[-1]][1].split("CREWDECK-TEST")[-1]:
        return "hello", 0, None
    tools = offered(body)
    # Agents also make requests without tools, for example for the title of a session.
    if not find_tool(tools, SHELL_TOOLS):
        return "finished", 0, None
    calls = [name for _, _, names in rows[marked[-1]:] for name in names]
    if step == "run" and not calls:
        return "", 0, shell_call(tools, rest)
    if step == "slow":
        return "slow " * 120, 60, None
    if step == "steps":
        text, call = next_step(json.JSONDecoder().raw_decode(rest)[0], tools, calls)
        return text, 0, call
    return "finished", 0, None


def record(path, wire, body):
    if len(sys.argv) > 1:
        user = [text for role, text, _ in messages(wire, body) if role == "user"]
        with open(sys.argv[1], "a", encoding="utf-8") as log:
            log.write(json.dumps({"path": path, "user": user}) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self):
        self.answer({})

    def do_GET(self):
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "local"} for name in ("test", "gpt-5.5")]
        self.answer({"object": "list", "data": models, "models": []})

    def stream(self, events, pause, has_names):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            name = f"event: {event['type']}\n" if has_names else ""
            chunk = f"{name}data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
            time.sleep(pause / len(events))
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("count_tokens"):
            return self.answer({"input_tokens": 1000})
        if path.endswith(":countTokens"):
            return self.answer({"totalTokens": 1000})
        ends = {"/messages": "anthropic", "/responses": "responses", "/chat/completions": "chat"}
        wire = next((wire for end, wire in ends.items() if path.endswith(end)), None)
        wire = "gemini" if "enerateContent" in path else wire
        if not wire:
            return self.answer({"error": {"message": f"no such path: {path}"}}, 404)
        record(path, wire, body)
        text, pause, call = plan(wire, body)
        whole, events = getattr(self, "answer_" + wire)(body, text, call)
        if body.get("stream") or "streamGenerate" in path:
            self.stream(events, pause, wire in ("anthropic", "responses"))
        else:
            self.answer(whole)

    def answer_anthropic(self, body, text, call):
        usage = {"input_tokens": 800, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 0, "output_tokens": 50}
        blocks = [{"type": "text", "text": text}] if text else []
        if call:
            blocks.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": call[0], "input": call[2]})
        message = {
            "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": body.get("model"),
            "content": blocks, "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage,
        }
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for at, block in enumerate(blocks):
            if block["type"] == "text":
                start = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": word} for word in re.findall(r"\S+\s*", text)]
            else:
                start = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            events.append({"type": "content_block_start", "index": at, "content_block": start})
            events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": at})
        delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
        return message, events

    def answer_responses(self, body, text, call):
        usage = {
            "input_tokens": 1000, "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 0},
            "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1050,
        }
        base = {
            "id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": int(time.time()),
            "model": body.get("model"), "status": "in_progress", "output": [], "error": None,
            "incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }
        events = []
        output = []

        def add(kind, **fields):
            events.append({"type": kind, "sequence_number": len(events), **fields})

        def begin(item):
            add("response.output_item.added", output_index=len(output), item=item)

        def end(item):
            add("response.output_item.done", output_index=len(output), item=item)
            output.append(item)

        add("response.created", response=base)
        if text or not call:
            item = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "status": "in_progress", "role": "assistant", "content": []}
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            part = {"type": "output_text", "text": text, "annotations": []}
            begin(item)
            add("response.content_part.added", **place, part={**part, "text": ""})
            for word in re.findall(r"\S+\s*", text):
                add("response.output_text.delta", **place, delta=word, logprobs=[])
            add("response.output_text.done", **place, text=text, logprobs=[])
            add("response.content_part.done", **place, part=part)
            end({**item, "status": "completed", "content": [part]})
        if call:
            name, namespace, given = call
            item = {"call_id": f"call_{uuid.uuid4().hex[:20]}", "status": "completed"}
            if name == SEARCH_TOOL:
                item |= {"type": "tool_search_call", "id": f"tsc_{uuid.uuid4().hex}", "execution": "client", "arguments": given}
                begin(item)
            elif isinstance(given, str):
                item |= {"type": "custom_tool_call", "id": f"ctc_{uuid.uuid4().hex}", "name": name, "input": given}
                place = {"item_id": item["id"], "output_index": len(output)}
                begin({**item, "input": "", "status": "in_progress"})
                add("response.custom_tool_call_input.delta", **place, delta=given)
                add("response.custom_tool_call_input.done", **place, input=given)
            else:
                given = json.dumps(given)
                item |= {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "name": name, "arguments": given}
                item |= {"namespace": namespace} if namespace else {}
                place = {"item_id": item["id"], "output_index": len(output)}
                begin({**item, "arguments": "", "status": "in_progress"})
                add("response.function_call_arguments.delta", **place, delta=given)
                add("response.function_call_arguments.done", **place, arguments=given, name=name)
            end(item)
        whole = {**base, "status": "completed", "output": output, "usage": usage}
        add("response.completed", response=whole)
        return whole, events

    def answer_chat(self, body, text, call):
        usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.get("model")}
        reason = "tool_calls" if call else "stop"
        message = {"role": "assistant", "content": text}
        deltas = [{"role": "assistant", "content": word} for word in re.findall(r"\S+\s*", text)]
        if call:
            given = {"name": call[0], "arguments": json.dumps(call[2])}
            message["tool_calls"] = [{"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": given}]
            deltas.append({"role": "assistant", "content": "", "tool_calls": [{"index": 0, **message["tool_calls"][0]}]})
        chunk = {**head, "object": "chat.completion.chunk"}
        events = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        events.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        events += [{**chunk, "choices": [], "usage": usage}, "[DONE]"]
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, events

    def answer_gemini(self, _, text, call):
        usage = {"promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050}
        parts = [{"text": word} for word in re.findall(r"\S+\s*", text)]
        if call:
            given = {"id": f"call_{uuid.uuid4().hex[:12]}", "name": call[0], "args": call[2]}
            parts.append({"functionCall": given, "thoughtSignature": "dGVzdA=="})
        def event(some, **fields):
            content = {"role": "model", "parts": some}
            return {"candidates": [{"content": content, "index": 0, **fields}], "modelVersion": "test"}
        whole = {**event(parts, finishReason="STOP"), "usageMetadata": usage}
        events = [event([part]) for part in parts]
        return whole, events + [{**event([{"text": ""}], finishReason="STOP"), "usageMetadata": usage}]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args):
        """An agent that closes its connection is no error."""


server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
