"""Reports of what a fit found: a page, figures, text and numbers for machines."""

from ._errors import ReportError as ReportError
from ._figures import figures as figures
from ._html import to_html as to_html
from ._json import from_json as from_json, to_json as to_json
from ._text import to_text as to_text
from ._write import write_report as write_report
