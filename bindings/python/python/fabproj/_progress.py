"""One line that says how far a training is, on terminals and in notebooks."""

import sys
import time

# Seconds between two lines.
INTERVAL = 0.2


class Progress:
    def __init__(self):
        # In a notebook standard error is no terminal, but shows lines all the same.
        self.shown = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self.stage = "training"
        self.done = 0.0
        self.width = 0
        self.next = 0.0

    def __call__(self, event):
        if event["event"] == "warning":
            self.write("warning: " + event["message"])
            print(file=sys.stderr)
        elif event["event"] == "stage":
            self.stage = event["name"]
        elif event["event"] == "progress":
            self.done = max(self.done, event["done"])
        if self.shown and time.monotonic() >= self.next:
            self.next = time.monotonic() + INTERVAL
            self.write(f"{100 * self.done:3.0f} % {self.stage}")

    def write(self, text):
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self):
        if self.width:
            self.write("")
            sys.stderr.write("\r")
            sys.stderr.flush()
