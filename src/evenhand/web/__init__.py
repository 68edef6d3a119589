"""The web application: a chair's journey from a spreadsheet to a decision, in a page on the own machine.

No statistics and no reading rules live here: files are read by ``io``, numbers come from ``answers``, pages are made of
the templates and blocks of the report. What is entered is kept in one SQLite file (``models``); what follows from it is
computed again when it is needed (``work``).
"""
