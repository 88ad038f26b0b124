"""A backend of matplotlib without a window: each time that an example redraws its figure, it is
written to the file that NETIO_PICTURE names.

    NETIO_PICTURE=histogram.svg MPLBACKEND=module://picture_backend PYTHONPATH=python/tests \\
        python examples/python/histogram.py tcp://127.0.0.1:5555
"""

import os

from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureCanvas(FigureCanvasAgg):
    to_be_drawn = False

    def draw_idle(self, *args, **kwargs):
        self.to_be_drawn = True

    def flush_events(self):
        if not self.to_be_drawn:
            return
        self.to_be_drawn = False
        path = os.environ["NETIO_PICTURE"]
        written = path + ".part"
        self.figure.savefig(written, format=path.rpartition(".")[2], dpi=80)
        os.replace(written, path)  # whoever looks at it sees a whole one
