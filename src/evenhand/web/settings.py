"""Settings of Django: one process, one SQLite file, nothing that leaves the machine.

``evenhand serve`` says by two variables of the environment where the data are (``EVENHAND_DATA``) and whether pages are
served over an encrypted line (``EVENHAND_SECURE``, for a server behind one).
"""

from __future__ import annotations

import os
from pathlib import Path

from evenhand.web.store import DATABASE, LOG, open_store

_HERE = Path(__file__).parent

DATA = Path(os.environ["EVENHAND_DATA"]).absolute()
SECRET_KEY = open_store(DATA)
DEBUG = False
IS_SECURE = os.environ.get("EVENHAND_SECURE") == "1"
ALLOWED_HOSTS = os.environ.get("EVENHAND_HOSTS", "127.0.0.1,localhost,[::1]").split(",")

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "evenhand.web",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "evenhand.web.guard.headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "evenhand.web.pages.in_language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "evenhand.web.guard.locked",
    "evenhand.web.guard.Faults",
]
ROOT_URLCONF = "evenhand.web.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "DIRS": [_HERE / "templates", _HERE.parent / "reports" / "templates"],
        "OPTIONS": {
            "environment": "evenhand.web.pages.environment",
            "context_processors": ["django.contrib.messages.context_processors.messages"],
        },
    }
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA / DATABASE,
        "OPTIONS": {
            # what a page called saved is on the disk, and readers do not wait for writers
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [_HERE / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

MAX_UPLOAD = int(os.environ.get("EVENHAND_MAX_UPLOAD", "20971520"))
"""Most bytes of a file that is dropped in."""
MAX_UNPACKED = 10 * MAX_UPLOAD
"""Most bytes that it may unpack to."""
MAX_SCORES = 200_000
"""Most scores of a panel; larger ones are for the command line."""
MAX_COLUMNS, MAX_CELLS = 1000, 2_000_000
"""Most columns and cells of a table."""
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_UPLOAD
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000
FILE_UPLOAD_HANDLERS = ["evenhand.web.guard.Limited"]

SESSION_COOKIE_NAME = "evenhand"
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_HTTPONLY = True
SESSION_EXPIRE_AT_BROWSER_CLOSE = False
CSRF_COOKIE_NAME = "evenhand-form"
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "evenhand.web.guard.forged"
LANGUAGE_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = IS_SECURE
SECURE_SSL_REDIRECT = IS_SECURE
SECURE_HSTS_SECONDS = 31_536_000 if IS_SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = IS_SECURE
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_SECURE else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"  # with none at all, browsers hide where a form comes from, and it is refused
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": True,
    "formatters": {"plain": {"format": "{asctime} {levelname} {message}", "style": "{"}},
    "handlers": {
        "file": {
            "class": "logging.handlers.RotatingFileHandler",
            "filename": DATA / LOG,
            "maxBytes": 1_000_000,
            "backupCount": 3,
            "encoding": "utf-8",
            "delay": True,
            "formatter": "plain",
        },
        "nowhere": {"class": "logging.NullHandler"},
    },
    "loggers": {
        # what the server itself says may hold addresses and words of errors
        "waitress": {"handlers": ["nowhere"], "propagate": False},
        "evenhand.web": {"handlers": ["file"], "level": "WARNING", "propagate": False},
    },
}
