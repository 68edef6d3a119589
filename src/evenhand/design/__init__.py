"""Who should assess what: a design before the scores come in (end of App. C and App. F)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "change": ["Alternates", "Changes", "alternates", "changes"],
        "result": ["DesignStep", "ExpertDesign", "LostAssessor", "Outlook", "RandomDesigns", "Record"],
        "lottery": ["Lottery", "commitment"],
        "signals": ["Conflict", "Effect"],
    },
)
