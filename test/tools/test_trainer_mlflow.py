"""What a trainer tells an MLflow server, whatever becomes of that."""
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

from tool_test import MODELS, SHARDC, ToolTest, run

# What takes how long is part of it.
WAITS = True
MODEL = os.path.join(MODELS, "gpt2-tiny")
STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlflow_stand_in.py")
# Seconds that a run waits for a server at its end, where a test has no use for the usual ones.
SHORT = "1"


class MLflowTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.trainer = self.path("m.trainer")
        result = run(
            *(SHARDC, os.path.join(MODEL, "model.onnx"), "--mesh", 2, "-o", self.trainer),
            *("--dim", "batch=2", "--dim", "sequence=64"),
            *("--loss", "cross-entropy:logits=logits,labels=labels,shift=1"),
        )
        self.assertEqual(result.code, 0, result.err)
        self.state_path = self.path("server.json")

    def serve(self, *flags, port=0, state=None):
        """A server, and its port; it ends with the test."""
        server = subprocess.Popen(
            [sys.executable, STAND_IN, str(port), state or self.state_path, *map(str, flags)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stdout.close)
        return server, int(server.stdout.readline())

    def words(self, *flags, steps=4):
        data = [
            word
            for flag in ("--data", "--eval-data")
            for name in ("input_ids", "labels")
            for word in (flag, f"{name}={MODEL}/data/{name}.npy")
        ]
        return [str(word) for word in (self.trainer, *data, "--steps", steps, *flags)]

    def environment(self, port, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
        environment |= {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}", "NO_PROXY": "*"}
        environment |= {f"MLFLOW_{name}": value for name, value in variables.items()}
        return environment

    def train(self, port, *flags, steps=4, code=0, **variables):
        process = subprocess.run(
            self.words(*flags, steps=steps),
            env=self.environment(port, **variables),
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(process.returncode, code, process.stderr)
        return process

    def state(self):
        with open(self.state_path) as file:
            return json.load(file)

    def only_run(self):
        (only,) = self.state()["runs"].values()
        return only

    def lines(self, name="m.jsonl"):
        with open(self.path(name)) as file:
            return [json.loads(line) for line in file]

    def expected(self, lines):
        """The metrics that lines of --metrics come to."""
        rows = []
        for line in lines:
            if line.get("event") not in (None, "eval"):
                continue
            prefix = "eval_" if "event" in line else ""
            step = line["step"] + (not prefix)
            for key, value in line.items():
                if key not in ("event", "step", "time", "skipped") and value is not None:
                    rows.append([prefix + key, step, round(1000 * line["time"]), value])
        return sorted(rows)

    def assert_complete(self, lines=None, status="FINISHED"):
        """The server has every metric once, and none besides."""
        only = self.only_run()
        self.assertEqual(sorted(only["metrics"]), self.expected(lines or self.lines()))
        steps = [step for key, step, _, _ in only["metrics"] if key == "loss"]
        self.assertEqual(len(steps), len(set(steps)))
        self.assertEqual(only["info"]["status"], status)

    def start(self, port, *flags, steps, **variables):
        process = subprocess.Popen(
            self.words(*flags, steps=steps),
            env=self.environment(port, **variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stderr.close)
        return process

    def wait_for(self, condition):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError, ValueError, KeyError):
                if condition():
                    return
            time.sleep(0.02)
        self.fail("it takes too long")

    def unused_port(self):
        with contextlib.closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]


class TrainerMLflow(MLflowTest):
    # -- a server that is there --------------------------------------------------------------------

    def test_parameters_metrics_tags_and_exports(self):
        _, port = self.serve()
        result = self.train(
            port,
            *("--metrics", self.path("m.jsonl"), "--eval-every", 2, "--lr", "3e-4"),
            *("--export-onnx", self.path("t 1.onnx"), "--export-safetensors", self.path("t.st")),
            EXPERIMENT_NAME="a name & more",
            RUN_NAME="first",
        )
        self.assertEqual(result.stderr, "")
        self.assert_complete()
        state, only = self.state(), self.only_run()
        self.assertEqual(state["experiments"]["1"], "a name & more")
        self.assertEqual((only["info"]["experiment_id"], only["info"]["run_name"]), ("1", "first"))
        self.assertIn(f"MLflow: run {only['info']['run_id']}\n", result.stdout)
        for key, value in {
            "model": "gpt2-tiny/model.onnx",
            "mesh": "2 (shard, 2 ranks)",
            "strategy": "full",
            "precision": "float32",
            "optimizer": "adamw",
            "lr": "0.0003",
            "steps": "4",
            "global_batch": "4",
            "eval-every": "2",
        }.items():
            self.assertEqual(only["params"][key], value)
        self.assertLessEqual(
            {"mlflow.user", "mlflow.source.name", "mlflow.source.type", "shardc.command"},
            set(only["tags"]),
        )
        folder = f"1/{only['info']['run_id']}/artifacts"
        sizes = {f"{folder}/{n}": os.path.getsize(self.path(n)) for n in ("t 1.onnx", "t.st")}
        self.assertEqual(state["artifacts"], sizes)

    def test_batches_of_at_most_a_thousand(self):
        _, port = self.serve()
        steps = 250
        self.train(port, "--metrics", self.path("m.jsonl"), "--print-every", 100, steps=steps)
        self.assert_complete()
        self.assertGreater(len(self.only_run()["metrics"]), 1000)

    def test_credentials(self):
        _, port = self.serve("--token", "secret")
        result = self.train(port, TRACKING_TOKEN="wrong")
        self.assertEqual(result.stderr.count("answers 401"), 2, result.stderr)
        self.assertIn("MLFLOW_TRACKING_TOKEN", result.stderr)
        self.assertNotIn("wrong", result.stderr + result.stdout)
        self.train(port, "--metrics", self.path("m.jsonl"), TRACKING_TOKEN="secret")
        self.assert_complete()

    def test_certificates(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl makes the certificate")
        own = self.path("own.pem")
        words = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2".split()
        words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", own, "-out", self.path("c")]
        subprocess.run(words, check=True, capture_output=True)
        with open(own, "a") as key, open(self.path("c")) as certificate:
            key.write(certificate.read())
        _, port = self.serve("--certificate", own)
        uri = f"https://127.0.0.1:{port}"
        result = self.train(port, TRACKING_URI=uri, HTTP_REQUEST_TIMEOUT=SHORT)
        self.assertIn("certificate", result.stderr)
        self.assertFalse(os.path.exists(self.state_path))
        flags = ("--metrics", self.path("m.jsonl"))
        result = self.train(port, *flags, TRACKING_URI=uri, TRACKING_SERVER_CERT_PATH=own)
        self.assertEqual(result.stderr, "")
        self.assert_complete()
        result = self.train(port, TRACKING_URI=uri, TRACKING_INSECURE_TLS="true")
        self.assertEqual(result.stderr, "")

    def test_redirects_are_followed(self):
        _, port = self.serve()
        _, other = self.serve("--redirect", port, state=self.path("other"))
        self.train(
            *(other, "--metrics", self.path("m.jsonl"), "--export-onnx", self.path("t.onnx")),
        )
        self.assert_complete()
        self.assertEqual(
            list(self.state()["artifacts"].values()), [os.path.getsize(self.path("t.onnx"))]
        )

    def test_a_store_that_is_not_behind_the_server(self):
        _, port = self.serve("--store", "s3://bucket/1")
        result = self.train(port, "--export-onnx", self.path("t.onnx"))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("artifacts of this MLflow run lie at s3://bucket/1", result.stderr)
        self.assertIn("--serve-artifacts", result.stderr)
        self.assertEqual(self.only_run()["info"]["status"], "FINISHED")

    def test_a_run_that_fails_or_is_stopped_says_so(self):
        _, port = self.serve()
        result = self.train(port, "--lr", "1e30", steps=50, code=1)
        self.assertIn("is nan", result.stderr)
        self.assertEqual(self.only_run()["info"]["status"], "FAILED")
        flags = ("--time-limit", "0.3", "--metrics", self.path("m.jsonl"))
        flags += ("--checkpoint-dir", self.path("c"))
        self.train(port, *flags, steps=10**6, RUN_ID=self.only_run()["info"]["run_id"])
        self.assertEqual(self.only_run()["info"]["status"], "KILLED")

    # -- one that is not, or not as it should be ---------------------------------------------------

    def test_a_server_that_is_down_ends_no_run(self):
        port = self.unused_port()
        result = self.train(port, HTTP_REQUEST_TIMEOUT=SHORT)
        first, last = result.stderr.splitlines()
        self.assertIn(f"MLflow at http://127.0.0.1:{port} cannot be reached: ", first)
        self.assertIn("lacks 5 steps and evaluations", last)
        self.assertIn("they are lost; --metrics keeps them", last)

    def test_what_a_server_lacks_follows(self):
        port = self.unused_port()
        saved = ("--metrics", self.path("m.jsonl"), "--checkpoint-dir", self.path("saved"))
        saved += ("--resume", "auto")
        result = self.train(port, *saved, HTTP_REQUEST_TIMEOUT=SHORT)
        self.assertIn("m.jsonl, and follow when the run is gone on with", result.stderr)
        self.serve(port=port)
        self.train(port, *saved, steps=6)
        self.assert_complete()
        # Nothing is said twice: the last evaluation is made again, and comes to the same.
        before = self.only_run()["metrics"]
        self.train(port, *saved, steps=6)
        self.assertEqual(self.only_run()["metrics"], before)

    def test_a_server_that_is_killed_and_started_again(self):
        server, port = self.serve("--lose", 1)
        # However long a server takes to start on a machine that does other things.
        patient = {"HTTP_REQUEST_TIMEOUT": "300"}
        process = self.start(port, "--metrics", self.path("m.jsonl"), steps=600, **patient)
        self.wait_for(lambda: len(self.only_run()["metrics"]) > 500)
        server.kill()
        server.wait()
        # The run may be at its end by then, and waits.
        time.sleep(1.5)
        self.serve(port=port)
        error = process.communicate()[1]
        self.assertEqual(process.returncode, 0, error)
        self.assertIn("cannot be reached", error)
        self.assert_complete()

    def test_a_run_that_is_killed_goes_on(self):
        _, port = self.serve()
        flags = ("--metrics", self.path("m.jsonl"), "--checkpoint-dir", self.path("saved"))
        flags += ("--resume", "auto", "--checkpoint-every", 100)
        process = self.start(port, *flags, steps=10**6)
        self.wait_for(
            lambda: max(m[1] for m in self.only_run()["metrics"]) > 150
            and os.path.exists(self.path("saved/step-00000100"))
        )
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # The last batch of the killed run may be on its way still.
        seen = []
        while len(seen) < 2 or seen[-1] != seen[-2]:
            time.sleep(0.5)
            seen.append(max(m[1] for m in self.only_run()["metrics"]))
        saved = max(int(name[5:]) for name in os.listdir(self.path("saved")) if name[5:].isdigit())
        steps = max(seen[-1], saved) + 200
        # Steps that the server has, and that were lost with the run, are not said again.
        self.train(port, *flags, "--print-every", 1000, steps=steps)
        losses = sorted(m[1] for m in self.only_run()["metrics"] if m[0] == "loss")
        self.assertEqual(losses, list(range(1, steps + 1)))
        self.assertEqual(self.only_run()["info"]["status"], "FINISHED")

    def test_steps_do_not_wait_for_a_slow_server(self):
        _, port = self.serve("--delay", 30)
        begin = time.monotonic()
        flags = ("--metrics", self.path("m.jsonl"))
        result = self.train(port, *flags, steps=50, HTTP_REQUEST_TIMEOUT=SHORT)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("lacks 51 steps and evaluations", result.stderr)
        steps = [line for line in self.lines() if "event" not in line]
        self.assertLess(max(line["step_seconds"] for line in steps), 0.9)
        self.assertLess(steps[-1]["time"] - steps[0]["time"], 5)

    def test_answers_that_are_none(self):
        for text in ("<html>", "[]", "{}", '{"run": 7}', "\0", '{"run": {"info": {}}}'):
            with self.subTest(text=text):
                server, port = self.serve("--answer", text.replace("\0", "\\0"))
                result = self.train(port, HTTP_REQUEST_TIMEOUT=SHORT)
                self.assertIn("does not answer as MLflow does", result.stderr)
                self.assertEqual(result.stderr.count("\n"), 2, result.stderr)

    def test_a_run_that_the_server_does_not_have(self):
        _, port = self.serve()
        result = self.train(port, RUN_ID="12ab", HTTP_REQUEST_TIMEOUT=SHORT)
        self.assertIn("RESOURCE_DOES_NOT_EXIST", result.stderr)
        self.assertFalse(os.path.exists(self.state_path))

    # -- no server at all --------------------------------------------------------------------------

    def test_without_libcurl_one_line_says_so(self):
        os.mkdir(self.path("none"))
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            with open(self.path(f"none/{name}"), "w") as file:
                file.write("no library")
        environment = self.environment(1) | {"LD_LIBRARY_PATH": self.path("none")}
        process = subprocess.run(self.words(), env=environment, capture_output=True, text=True)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        self.assertTrue(process.stderr.startswith("trainer: warning: libcurl cannot be opened: "))
        self.assertIn("nothing goes to MLflow at http://127.0.0.1:1", process.stderr)

    def test_variables_that_cannot_be(self):
        http = "http://127.0.0.1:1"
        for variables, words in (
            (
                {"TRACKING_URI": "file:///tmp/mlruns"},
                ["mlflow server --backend-store-uri file:///"],
            ),
            ({"TRACKING_URI": "./mlruns"}, ["./mlruns", "http://"]),
            ({"TRACKING_URI": "sqlite:///a.db"}, ["sqlite:///a.db", "mlflow server"]),
            ({"TRACKING_URI": "databricks"}, ["Databricks"]),
            ({"TRACKING_URI": "http://"}, ["no address"]),
            ({"TRACKING_URI": http, "TRACKING_USERNAME": "u"}, ["needs MLFLOW_TRACKING_PASSWORD"]),
            ({"TRACKING_URI": http, "TRACKING_INSECURE_TLS": "maybe"}, ["true or false", "maybe"]),
            ({"TRACKING_URI": http, "HTTP_REQUEST_TIMEOUT": "-1"}, ["got '-1'"]),
            (
                {"TRACKING_URI": http, "EXPERIMENT_ID": "1", "EXPERIMENT_NAME": "n"},
                ["exclude each other"],
            ),
        ):
            with self.subTest(variables=variables):
                result = self.train(1, "--metrics", self.path("m.jsonl"), code=1, **variables)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertTrue(result.stderr.startswith("trainer: error: "))
                for word in words:
                    self.assertIn(word, result.stderr)
                self.assertFalse(os.path.exists(self.path("m.jsonl")))
        result = self.train(1, TRACKING_URI="", RUN_ID="12ab")
        self.assertIn("MLFLOW_RUN_ID is set, and MLFLOW_TRACKING_URI is not", result.stderr)


needs_mlflow = unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH") and importlib.util.find_spec("mlflow"),
    "reports to MLflow's own server: ./dev test --torch, with PYTHON that has mlflow",
)


class LiveServerTest(MLflowTest):
    """MLflow's own server."""

    def start_server(self, port):
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
            + ["--backend-store-uri", f"sqlite:///{self.path('mlflow.db')}", "--serve-artifacts"]
            + ["--artifacts-destination", self.path("artifacts")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

        def kill():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()

        self.addCleanup(kill)
        self.port = port
        self.wait_for(lambda: self.ask("experiments/get", experiment_id="0"))
        return kill

    def ask(self, what, **query):
        address = f"http://127.0.0.1:{self.port}/api/2.0/mlflow/{what}"
        with urllib.request.urlopen(f"{address}?{urllib.parse.urlencode(query)}") as answer:
            return json.load(answer)

    def assert_server_has(self, run_id, lines):
        for key in sorted({row[0] for row in self.expected(lines)}):
            found = self.ask(
                "metrics/get-history", run_id=run_id, metric_key=key, max_results=25000
            )["metrics"]
            self.assertEqual(
                sorted([m["key"], m.get("step", 0), m["timestamp"], m["value"]] for m in found),
                [row for row in self.expected(lines) if row[0] == key],
            )


@needs_mlflow
class LiveMLflow(LiveServerTest):
    def test_a_server_that_is_killed_and_a_run_that_goes_on(self):
        port = self.unused_port()
        kill = self.start_server(port)
        flags = ["--metrics", self.path("m.jsonl"), "--checkpoint-dir", self.path("saved")]
        flags += ["--resume", "auto", "--eval-every", 500, "--time-limit", "12s"]
        process = self.start(port, *flags, steps=10**6, EXPERIMENT_NAME="live", RUN_NAME="r")
        time.sleep(4)
        kill()
        time.sleep(1)
        self.start_server(port)
        error = process.communicate()[1]
        self.assertEqual(process.returncode, 0, error)
        self.assertIn("cannot be reached", error)
        run_id = next(line["run_id"] for line in self.lines() if line.get("event") == "mlflow")
        if "lacks" not in error:
            self.assert_server_has(run_id, self.lines())
            self.assertEqual(self.ask("runs/get", run_id=run_id)["run"]["info"]["status"], "KILLED")
        steps = max(line["step"] for line in self.lines() if "event" not in line) + 200
        flags = flags[:-2] + ["--export-onnx", self.path("trained.onnx")]
        self.train(port, *flags, "--print-every", 1000, steps=steps)
        self.assert_server_has(run_id, self.lines())
        found = self.ask("runs/get", run_id=run_id)["run"]
        self.assertEqual((found["info"]["status"], found["info"]["run_name"]), ("FINISHED", "r"))
        params = {param["key"]: param["value"] for param in found["data"]["params"]}
        self.assertEqual(params["optimizer"], "adamw")
        (listed,) = self.ask("artifacts/list", run_id=run_id)["files"]
        self.assertEqual(listed["path"], "trained.onnx")
        self.assertEqual(listed["file_size"], os.path.getsize(self.path("trained.onnx")))


if __name__ == "__main__":
    unittest.main()
