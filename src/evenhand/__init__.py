"""evenhand: fair values from a panel of assessors who do not all see the same objects.

    import evenhand as eh
    panel = eh.demo()                        # or eh.read_panel("scores.xlsx"), eh.Panel.from_frame(frame)
    print(eh.connectivity(panel))            # can all assessors be compared?
    fit = eh.calibrate(panel)                # or eh.calibrate(panel, shrink=True), eh.simple_average(panel), ...
    print(fit)                               # fit.values.to_frame(), fit.biases.to_frame()
    print(eh.explain(fit, "P24"))            # why a value differs from the average; fit.contrast("P28", "P23")
    ranking = eh.rank(fit, top=10)           # chances of a place; eh.decide(ranking, 10)
    print(eh.compare(panel))                 # which method do these scores support?
    eh.plots.save(eh.plots.values(fit), "values.svg")
    eh.report(fit, "report.html", top=10)    # eh.workbook(fit, "results.xlsx"); eh.assign(...) designs a panel

The names below are imported when first used, so that ``import evenhand`` costs next to nothing.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
