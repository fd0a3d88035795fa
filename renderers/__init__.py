"""A session as something people read: Markdown, HTML, plain text, terminal lines."""
