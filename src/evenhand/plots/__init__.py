"""Pictures of panels and fits: each function returns an Altair chart, which ``save`` writes to a file."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
