from .agreement import bland_altman as bland_altman
from .agreement import methods as methods
from .checks import confidence as confidence
from .checks import influence as influence
from .checks import residuals as residuals
from .drawing import save as save
from .results import biases as biases
from .results import rankogram as rankogram
from .results import top as top
from .results import values as values
from .structure import assessor_graph as assessor_graph
from .structure import design as design
from .structure import graph as graph

__all__: list[str]
