"""What can go wrong with a report."""


class ReportError(ValueError):
    """A report that cannot be read or written; the message says where and why."""
