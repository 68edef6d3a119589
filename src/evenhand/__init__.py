"""evenhand: fair values from a panel of assessors who do not all see the same objects.

The public names are listed in ``__init__.pyi`` and imported when first used, so that ``import evenhand`` costs next to
nothing.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
