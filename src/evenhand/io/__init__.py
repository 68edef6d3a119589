"""Files in and out: panels from any kind of table that people have, and result tables that are safe to open."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
