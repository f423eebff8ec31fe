"""A server that answers as MLflow's REST interface does, with the faults that a test asks for.

    python3 mlflow_stand_in.py PORT STATE.json [--delay SECONDS] [--token TOKEN] [--redirect PORT]
        [--answer TEXT] [--store URI] [--lose N] [--certificate FILE]

What it was told is in STATE.json after every request, and read from there at the start, so that it
may be killed at any moment. PORT 0: any that is free; the first line on stdout says which. `--lose
N`: the answers to the first N log-batch requests never arrive, though they were obeyed.
`--certificate`: TLS, with a file of key and certificate.
"""
import argparse
import http.server
import json
import os
import ssl
import time
import urllib.parse


class State:
    def __init__(self, path):
        self.path = path
        self.data = {"experiments": {"0": "Default"}, "runs": {}, "artifacts": {}, "calls": []}
        if os.path.exists(path):
            with open(path) as file:
                self.data = json.load(file)

    def save(self):
        with open(self.path + ".new", "w") as file:
            json.dump(self.data, file)
        os.rename(self.path + ".new", self.path)


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


def missing(what):
    return Refused(404, "RESOURCE_DOES_NOT_EXIST", f"no {what}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        body = body.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        flags, state = self.server.flags, self.server.state
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(flags.delay)
        if flags.redirect:
            place = f"http://127.0.0.1:{flags.redirect}{self.path}"
            return self.answer(302, "", [("Location", place)])
        if flags.answer is not None:
            return self.answer(200, flags.answer)
        if flags.token and self.headers.get("Authorization") != f"Bearer {flags.token}":
            return self.answer(401, "who are you?")
        path, _, query = self.path.partition("?")
        if path.startswith("/api/2.0/mlflow-artifacts/artifacts/") and self.command == "PUT":
            name = urllib.parse.unquote(path.split("/artifacts/", 1)[1])
            state.data["artifacts"][name] = len(body)
            state.save()
            return self.answer(200, "{}")
        what = path.removeprefix("/api/2.0/mlflow/")
        given = dict(urllib.parse.parse_qsl(query)) if query else json.loads(body or b"{}")
        state.data["calls"].append(what)
        try:
            result = getattr(self, what.replace("/", "_").replace("-", "_"))(state.data, given)
        except Refused as refused:
            text = json.dumps({"error_code": refused.code, "message": str(refused)})
            return self.answer(refused.status, text)
        state.save()
        if what == "runs/log-batch" and flags.lose > 0:
            flags.lose -= 1
            self.close_connection = True
            return None
        return self.answer(200, json.dumps(result))

    do_GET = do_POST = do_PUT = handle_any

    def run_of(self, data, given):
        if given["run_id"] not in data["runs"]:
            raise missing(f"run {given['run_id']}")
        return data["runs"][given["run_id"]]

    def shown(self, run):
        params = [{"key": key, "value": value} for key, value in run["params"].items()]
        return {"run": {"info": run["info"], "data": {"params": params}}}

    def experiments_get_by_name(self, data, given):
        for number, name in data["experiments"].items():
            if name == given["experiment_name"]:
                return {"experiment": {"experiment_id": number}}
        raise missing("experiment")

    def experiments_create(self, data, given):
        number = str(len(data["experiments"]))
        data["experiments"][number] = given["name"]
        return {"experiment_id": number}

    def runs_create(self, data, given):
        run_id = f"{len(data['runs']) + 1:032x}"
        store = self.server.flags.store or f"mlflow-artifacts:/{given['experiment_id']}"
        info = {
            "run_id": run_id,
            "experiment_id": given["experiment_id"],
            "run_name": given.get("run_name", ""),
            "status": "RUNNING",
            "artifact_uri": f"{store}/{run_id}/artifacts",
        }
        tags = {tag["key"]: tag["value"] for tag in given.get("tags", [])}
        data["runs"][run_id] = {"info": info, "params": {}, "tags": tags, "metrics": []}
        return self.shown(data["runs"][run_id])

    def runs_search(self, data, given):
        mark = given["filter"].split("'")[1]
        runs = [run for run in data["runs"].values() if run["tags"].get("shardc.run") == mark]
        return {"runs": [self.shown(run)["run"] for run in runs]}

    def runs_get(self, data, given):
        return self.shown(self.run_of(data, given))

    def runs_update(self, data, given):
        self.run_of(data, given)["info"]["status"] = given["status"]
        return {}

    def runs_log_batch(self, data, given):
        run = self.run_of(data, given)
        metrics = given.get("metrics", [])
        if len(metrics) > 1000 or len(given.get("params", [])) > 100:
            raise Refused(400, "INVALID_PARAMETER_VALUE", "too many")
        for param in given.get("params", []):
            if run["params"].setdefault(param["key"], param["value"]) != param["value"]:
                raise Refused(400, "INVALID_PARAMETER_VALUE", "changed")
        run["tags"].update({tag["key"]: tag["value"] for tag in given.get("tags", [])})
        # As MLflow's own store: what is told twice is there once.
        for metric in metrics:
            row = [metric[key] for key in ("key", "step", "timestamp", "value")]
            if row not in run["metrics"]:
                run["metrics"].append(row)
        return {}

    def metrics_get_history(self, data, given):
        rows = [row for row in self.run_of(data, given)["metrics"] if row[0] == given["metric_key"]]
        at = int(given.get("page_token", 0))
        answer = {
            "metrics": [{"key": k, "step": s, "value": v} for k, s, _, v in rows[at : at + 3]]
        }
        if at + 3 < len(rows):
            answer["next_page_token"] = str(at + 3)
        return answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("state")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--token")
    parser.add_argument("--redirect", type=int)
    parser.add_argument("--answer")
    parser.add_argument("--store")
    parser.add_argument("--lose", type=int, default=0)
    parser.add_argument("--certificate")
    flags = parser.parse_args()
    server = http.server.HTTPServer(("127.0.0.1", flags.port), Handler)
    if flags.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(flags.certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.flags, server.state = flags, State(flags.state)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
