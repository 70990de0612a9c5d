"""The comparison with all peers that are installed, as one page."""

from ._html import to_html as to_html
from ._json import from_json as from_json, to_json as to_json
from ._record import begun as begun, Part as Part, Record as Record
from ._run import page as page, write as write
from ._sections import chosen as chosen, SECTIONS as SECTIONS
