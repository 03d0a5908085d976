#!/usr/bin/env python3
"""A model server on loopback for tests with external agents. It plays what the newest user message asks for:

  CREWDECK-TEST say          answers with a text
  CREWDECK-TEST run COMMAND  calls the shell tool of the agent, then answers with a text
  CREWDECK-TEST slow         answers with a text that takes a minute

It speaks the wire formats of Anthropic, OpenAI (Responses and Chat) and Gemini, as streams. Prints its address."""

import json
import re
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELL_TOOLS = ("Bash", "bash", "exec_command", "shell", "shell_command", "local_shell", "run_shell_command")
MARK = re.compile(r"CREWDECK-TEST (say|run|slow)(?: ([^\n]*))?")


def text_of(content):
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or [] if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def messages(wire, body):
    """The conversation as pairs of role and text. The results of tools have the role `tool`."""
    if wire == "gemini":
        for message in body.get("contents", []):
            parts = message.get("parts", [])
            is_result = any("functionResponse" in part for part in parts)
            yield ("tool" if is_result else message.get("role", "user"), text_of(parts))
    elif wire == "responses":
        items = body.get("input", [])
        for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
            kind = item.get("type", "message")
            role = "tool" if kind.endswith("_output") else item.get("role", "assistant")
            yield (role, text_of(item.get("content")))
    else:
        for message in body.get("messages", []):
            content = message.get("content")
            is_result = isinstance(content, list) and any(part.get("type") == "tool_result" for part in content)
            yield ("tool" if is_result else message["role"], text_of(content))


def shell_tool(body):
    """The name and the parameters of the shell tool that the agent offers."""
    tools = []
    for tool in body.get("tools") or []:
        tools += tool.get("functionDeclarations") or [tool.get("function") or tool]
    for tool in tools:
        if tool.get("name") in SHELL_TOOLS:
            schema = tool.get("input_schema") or tool.get("parameters") or tool.get("parametersJsonSchema") or {}
            return tool["name"], schema
    return None, {}


def arguments(schema, command):
    fields = schema.get("properties", {})
    values = {}
    for name, field in fields.items():
        if name in ("command", "cmd"):
            is_list = str(field.get("type", "")).lower() == "array"
            values[name] = ["bash", "-c", command] if is_list else command
        elif name == "sandbox_permissions":
            values[name] = "require_escalated"
        elif name == "justification" or name in schema.get("required", []):
            is_flag = str(field.get("type", "")).lower() == "boolean"
            values[name] = False if is_flag else "test"
    return values


def plan(wire, body):
    """Returns the text, the time that it takes, and the tool call of the answer."""
    rows = list(messages(wire, body))
    marked = [at for at, (role, text) in enumerate(rows) if role == "user" and MARK.search(text)]
    if not marked:
        return "hello", 0, None
    step, command = MARK.findall(rows[marked[-1]][1])[-1]
    has_result = any(role == "tool" for role, _ in rows[marked[-1]:])
    name, schema = shell_tool(body)
    if step == "run" and name and not has_result:
        return "", 0, (name, arguments(schema, command))
    if step == "slow" and name:
        return "slow " * 120, 60, None
    return "finished", 0, None


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
            blocks.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": call[0], "input": call[1]})
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

        def add(kind, **fields):
            events.append({"type": kind, "sequence_number": len(events), **fields})

        add("response.created", response=base)
        if call:
            given = json.dumps(call[1])
            item = {
                "type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "call_id": f"call_{uuid.uuid4().hex[:20]}",
                "name": call[0], "arguments": "", "status": "in_progress",
            }
            add("response.output_item.added", output_index=0, item=item)
            add("response.function_call_arguments.delta", item_id=item["id"], output_index=0, delta=given)
            add("response.function_call_arguments.done", item_id=item["id"], output_index=0, arguments=given, name=call[0])
            item = {**item, "arguments": given, "status": "completed"}
        else:
            item = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "status": "in_progress", "role": "assistant", "content": []}
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            part = {"type": "output_text", "text": text, "annotations": []}
            add("response.output_item.added", output_index=0, item=item)
            add("response.content_part.added", **place, part={**part, "text": ""})
            for word in re.findall(r"\S+\s*", text):
                add("response.output_text.delta", **place, delta=word, logprobs=[])
            add("response.output_text.done", **place, text=text, logprobs=[])
            add("response.content_part.done", **place, part=part)
            item = {**item, "status": "completed", "content": [part]}
        add("response.output_item.done", output_index=0, item=item)
        whole = {**base, "status": "completed", "output": [item], "usage": usage}
        add("response.completed", response=whole)
        return whole, events

    def answer_chat(self, body, text, call):
        usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body.get("model")}
        reason = "tool_calls" if call else "stop"
        message = {"role": "assistant", "content": text}
        deltas = [{"role": "assistant", "content": word} for word in re.findall(r"\S+\s*", text)]
        if call:
            given = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": given}]
            deltas = [{"role": "assistant", "content": "", "tool_calls": [{"index": 0, **message["tool_calls"][0]}]}]
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
            given = {"id": f"call_{uuid.uuid4().hex[:12]}", "name": call[0], "args": call[1]}
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
