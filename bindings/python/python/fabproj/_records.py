"""What a model says about itself."""


class _Record(dict):
    """A dict whose fields are attributes too, and which prints itself as the command ``fabproj`` does."""

    def __init__(self, fields, text):
        super().__init__(fields)
        self._text = text

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None

    def __repr__(self):
        return self._text

    def __reduce__(self):
        return type(self), (dict(self), self._text)


class Certificate(_Record):
    """How often a projector is right, and with which confidence."""


class Inspection(_Record):
    """What a model file holds."""


class Figure:
    """An SVG that notebooks show by themselves."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        """Writes the figure into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self):
        return f"<fabproj.Figure, {len(self.svg)} characters of SVG>"
