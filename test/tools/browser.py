"""What a browser makes of a page: headless Chromium, where it is installed."""
import shutil
import subprocess
import unittest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = unittest.skipUnless(
    CHROMIUM, "draws the page with Chromium, where that is installed"
)


def document(page, profile):
    """The document of the file `page` after its scripts ran, and what the browser said beside it;
    `profile` is a folder for the browser's own files."""
    process = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        + ["--virtual-time-budget=2000", f"--user-data-dir={profile}", f"file://{page}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return process.stdout, process.stderr
