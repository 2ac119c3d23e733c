"""The projector and its training as one would write them in Python, to be timed beside ours."""
